/**
 * Every limit of Holdfast, with its reason. Over a limit is a typed error that says what to do next. Sizes in bytes, times in
 * milliseconds unless the name says otherwise. The agent's own limits stand in `native/agent/src/cell/limits.rs`.
 */
export const limits = {
  /** A REST or MCP body that is JSON; the MCP SDK caps at 4 MiB, so we do everywhere. */
  jsonBodyBytes: 4 * 1024 * 1024,
  /** The body of an operation that anybody may call: names, codes and a sealed key. */
  publicBodyBytes: 16 * 1024,
  /** Bodies held as a whole until their request is answered: of one principal (or, unidentified, one address), and over all. */
  heldBodyBytesPerPrincipal: 32 * 1024 * 1024,
  heldBodyBytes: 128 * 1024 * 1024,
  /** A streamed upload (file or archive). */
  uploadBytes: 10 * 1024 * 1024 * 1024,
  /** One download of a file, or of a part of one: a file's size is what its computer says, and a hole of 1 TB costs it nothing. */
  downloadBytes: 10 * 1024 * 1024 * 1024,
  headerBytes: 32 * 1024,
  urlBytes: 16 * 1024,

  nameLength: 40,
  descriptionLength: 1000,
  pathBytes: 4096,
  /** One argument of `argv`: Linux takes no longer one (MAX_ARG_STRLEN). A longer shell line is run by the agent from a file. */
  argumentBytes: 128 * 1024 - 1,
  argumentsCount: 4096,
  argumentsTotalBytes: 1024 * 1024,
  shellLineBytes: 1024 * 1024,
  environmentVariables: 256,
  environmentValueBytes: 32 * 1024,
  /** All names and values of one environment: it is stored with the computer and with each service, and sent with each command. */
  environmentBytes: 256 * 1024,
  stdinInlineBytes: 1024 * 1024,

  /** Longest a request that waits may wait, and longest until one whose work goes on by itself is answered; clients lose patience at 60 s. */
  waitMs: 50_000,
  answerMs: 55_000,
  execDefaultWaitMs: 30_000,
  processTimeoutMs: 7 * 24 * 3600 * 1000,
  /** Processes that are remembered for each computer, running ones not counted; the agent keeps as many. */
  processesKept: 1000,
  outputLimitBytes: 16 * 1024 * 1024,
  outputLimitMaxBytes: 256 * 1024 * 1024,
  /** Output in one JSON reply; about 20,000 tokens. */
  replyTextBytes: 64 * 1024,
  terminalColumns: 500,
  terminalRows: 500,

  /** Calls that control holds open to one computer's agent (each is a socket). */
  agentCalls: 128,

  servicesPerComputer: 32,
  probesIntervalMinMs: 500,
  computersPerAccount: 1000,
  keysPerAccount: 1000,
  ownersPerAccount: 50,

  pageSize: 50,
  pageSizeMax: 200,
  directoryPage: 500,
  directoryPageMax: 1000,
  fileReadJsonBytes: 1024 * 1024,
  fileWriteJsonBytes: 3 * 1024 * 1024,
  editsPerCall: 100,
  archiveEntries: 1_000_000,

  idempotencyKeyLength: 200,
  idempotencyKeptMs: 24 * 3600 * 1000,

  /** Requests of one principal: bucket size, refilled evenly over the window. */
  requestsPerWindow: 1200,
  requestWindowMs: 60_000,
  /** Credentials that turned out unknown, from one network: bucket size, refilled evenly over the window. */
  unknownCredentialsPerWindow: 300,
  unknownCredentialsWindowMs: 60_000,
  /** Requests whose sender is being looked up at the same time; each holds what of its body has arrived. */
  lookupsAtOnce: 256,
  /** Sign-in attempts: of one network, or to confirm one session; and for one owner over all networks. */
  loginAttemptsPerWindow: 10,
  loginAttemptsPerOwner: 300,
  loginWindowMs: 15 * 60_000,
  concurrentRequestsPerPrincipal: 64,
  concurrentStreamsPerPrincipal: 64,
  /** Open subscriptions of the MCP door over all principals; each is a stream of its principal and a connection. */
  subscriptions: 512,

  sessionMs: 12 * 3600 * 1000,
  sessionConfirmedMs: 5 * 60_000,
  loginCodeMs: 15 * 60_000,
  /** How long an accepted key may be served from control's memory; a revocation drops it at once by NOTIFY. */
  keyCacheMs: 1000,

  leaseMs: 10 * 60_000,
  leaseRenewMs: 30_000,
  stopGraceMs: 10_000,
  cellStartMs: 15_000,

  projectsPerComputer: 20,
  servicesPerProject: 8,
  /** What a project runs, as JSON; a list of projects shows it of each. */
  projectDefinitionBytes: 256 * 1024,
  publicRulesPerProject: 32,
  slugLength: 40,
  /** Ports that projects' services are given when their definition names none. */
  projectPortFirst: 20_000,
  projectPortLast: 20_999,
  deploymentsKept: 1000,
  /** Files of a project that are written, moved or deleted together; a disk may be slow. */
  projectFilesMs: 60_000,
  /** git inside the cell: one command, and what of its answer is read. */
  gitMs: 45_000,
  gitOutputBytes: 4 * 1024 * 1024,
  commitMessageLength: 2000,
  sharesPerProject: 100,
  shareMs: 30 * 24 * 3600 * 1000,
  shareMaxMs: 366 * 24 * 3600 * 1000,
  /** A one-time ticket to a project's address, and the session of that origin it is traded for. */
  ticketMs: 60_000,
  visitSessionMs: 12 * 3600 * 1000,
  visitSessionsPerProject: 1000,
  /** How often, in a day of UTC, visitors without a right may start a published project that is not running. */
  visitorWakesPerDay: 200,
  accessRecordsKept: 10_000,
  accessRecordsPerBatch: 500,
  routesPerReply: 500,
  /** A right that is in use is looked at again this often; one that cannot be looked at for `rightGraceMs` holds no more. */
  rightCheckMs: 300,
  rightGraceMs: 800,
  rightsPerCheck: 1000,
  crashPageLogBytes: 8 * 1024,

  /** What a visitor shows as a ticket, link, cookie or key; ours have some fifty characters. */
  visitTokenLength: 200,
  /** A head of a visitor, or of an app's answer: as `headerBytes`, and its lines. */
  visitHeadBytes: 32 * 1024,
  visitHeaders: 100,
  /** From a head's first byte (or the connection's begin) to its end; then a kept connection without a request. */
  visitHeadMs: 10_000,
  visitIdleMs: 60_000,
  /** A body that does not come on; a reader who takes nothing; an app that does not begin, or does not go on with, a measured answer. */
  visitBodyStallMs: 30_000,
  visitReadStallMs: 60_000,
  visitAnswerMs: 300_000,
  /** Visitors' connections over all, of which one address (a household, an office) has no more than a sixth. */
  visitSockets: 12_000,
  visitSocketsPerAddress: 2_000,
  /** Connections into a computer for one port of a project: no flood at one takes all descriptors. Of these so many idle ones, so long. */
  visitUpstreamSockets: 256,
  visitUpstreamIdle: 64,
  visitUpstreamIdleMs: 10_000,
  /** How long a visit waits for its project to come up, or for a connection; then a page says that it starts. How many wait for one. */
  visitWakeMs: 10_000,
  visitsWaiting: 200,

  /** The longest time a hold keeps a computer awake without being renewed; how many there are of one computer. */
  holdMs: 3600 * 1000,
  holdsPerComputer: 20,
  /** Idle time until sleep, sleeping until stop, stopped until archive: what may be asked for. */
  lifecycleMinMs: 10_000,
  lifecycleMaxMs: 366 * 24 * 3600 * 1000,
  /** An ephemeral computer ends by itself. */
  lifetimeMinMs: 60_000,
  lifetimeMaxMs: 30 * 24 * 3600 * 1000,
  /** How many operations wait for one computer to wake; the next is told to come again. */
  wakesWaiting: 256,

  schedulesPerComputer: 100,
  schedulesPerAccount: 20_000,
  scheduleTextLength: 200,
  /** Command and environment of one, as JSON: each of its runs has a copy until it has ended. */
  scheduleCommandBytes: 64 * 1024,
  previewSlots: 50,
  /** Runs of one schedule that are remembered, and that wait for their turn. */
  runsKept: 200,
  runsQueued: 100,
  /** Most missed slots that are made up for. */
  missedRuns: 24,
  runMs: 3600 * 1000,
  runMaxMs: 24 * 3600 * 1000,
  runRetries: 10,
  runRetriesPerDay: 100,
  /** Two slots of one schedule are at least this far apart. */
  scheduleEveryMinMs: 1000,
  /** What a caller may send along when it starts a run by an event. */
  eventBodyBytes: 64 * 1024,

  snapshotsPerComputer: 100,
  snapshotsPerAccount: 10_000,
  /** Of each kind of the automatic ones. */
  snapshotsRetained: 100,
  /** Entries of a difference of two snapshots in one reply, and those that are looked for. */
  differencePage: 500,
  differenceEntries: 100_000,
  childrenPerComputer: 10,
  offersPerComputer: 20,
  /** Paths that one offer names, and files that it comes to. */
  offerPaths: 100,
  offerEntries: 5000,
  offerBytes: 1024 * 1024 * 1024,
  offerNoteLength: 4000,
  /** What is done in a throwaway cell ends within this. */
  throwawayMs: 30 * 60_000,
  throwaways: 4,

  /** Blank cells of the smallest size that are kept started, at most. */
  warmCells: 32,

  eventsKept: 100_000,
  recordsBatchMs: 100,
  /** How long it stays known who did what. */
  recordsKeptMs: 90 * 24 * 3600 * 1000,
} as const;

/** Sizes of computers. Swap is always 0. `disk_bytes` is a quota on the volume with its snapshots. */
export const computerSizes = {
  small: { cpus: 1, memory_bytes: 1024 ** 3, disk_bytes: 5 * 1024 ** 3, pids: 512 },
  medium: { cpus: 2, memory_bytes: 4 * 1024 ** 3, disk_bytes: 20 * 1024 ** 3, pids: 2048 },
  large: { cpus: 4, memory_bytes: 16 * 1024 ** 3, disk_bytes: 80 * 1024 ** 3, pids: 4096 },
} as const;

/** What a computer does by itself when nothing happens on it; milliseconds, 0: never. A larger one holds more memory and goes sooner. */
export const lifecycleDefaults = {
  small: { sleep_after_ms: 15 * 60_000, stop_after_ms: 24 * 3600_000 },
  medium: { sleep_after_ms: 15 * 60_000, stop_after_ms: 12 * 3600_000 },
  large: { sleep_after_ms: 10 * 60_000, stop_after_ms: 4 * 3600_000 },
} as const;

export type ComputerSize = keyof typeof computerSizes;
export const computerSizeNames = ["small", "medium", "large"] as const satisfies readonly ComputerSize[];
