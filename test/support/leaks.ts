import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** An instance by what its traces on the host are named after: nothing of others is counted. */
export interface TracedInstance {
  readonly instance: string;
  readonly shortId: string;
  readonly pool: string;
  /** `/run/holdfast/<instance>` */
  readonly run: string;
  readonly uidBase: number;
  readonly uidCount: number;
}

interface Trace {
  readonly kind: string;
  readonly what: string;
  /** Whose it is; what has none belongs to the instance as a whole and may be there while that runs. */
  readonly computer: string | undefined;
}

/**
 * Everything on the host that belongs to none of the given computers, one line each; empty is clean. While the supervisor runs, its own
 * namespace, cgroups and directories are expected; when it does not, they are left over as well.
 */
export const leftovers = async (
  of: TracedInstance,
  except: { readonly computers: readonly string[] },
): Promise<string[]> => {
  const all = await traces(of);
  const runs = await supervisorRuns(of);
  const expected = new Set(except.computers);
  return all
    .filter(({ computer }) => (computer === undefined ? !runs : !expected.has(computer)))
    .map(({ kind, what }) => `${kind} ${what}`);
};

const traces = async (of: TracedInstance): Promise<Trace[]> => {
  const [slots, snapshots] = await Promise.all([slotsOf(of), snapshotsOf(of)]);
  const found = await Promise.all([
    cgroups(of),
    mounts(of),
    namespaces(of),
    links(of, slots),
    subvolumes(of, snapshots),
    files(of, snapshots),
    processes(of),
  ]);
  return found.flat();
};

const computerIn = (text: string): string | undefined => /cmp_[0-9a-z]{20}/.exec(text)?.[0];

/** Trials of layers have no computer but may not stay either. */
const ownerOf = (path: string): string | undefined =>
  computerIn(path) ?? (/\btrials?[-/]/.test(path) ? "a trial" : undefined);

const names = (directory: string): Promise<string[]> => readdir(directory).catch(() => []);

const cgroups = async ({ shortId }: TracedInstance): Promise<Trace[]> => {
  const found: Trace[] = [];
  const walk = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
    if (!entries) return;
    found.push({ kind: "cgroup", what: path, computer: ownerOf(path) });
    for (const entry of entries) if (entry.isDirectory()) await walk(join(path, entry.name));
  };
  const root = "/sys/fs/cgroup";
  await walk(`${root}/holdfast-${shortId}`);
  for (const hierarchy of await names(root)) await walk(`${root}/${hierarchy}/holdfast-${shortId}`);
  return found;
};

/** Mounts of cells are in namespaces of their own; one that is seen here has escaped. */
const mounts = async (of: TracedInstance): Promise<Trace[]> =>
  (await readFile("/proc/self/mountinfo", "utf8"))
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((path) => path.startsWith(`${of.run}/`))
    .map((path) => ({ kind: "mount", what: path, computer: ownerOf(path) }));

const namespaces = async ({ shortId }: TracedInstance): Promise<Trace[]> =>
  (await names("/run/netns"))
    .filter((name) => name.startsWith(`hf${shortId}-`))
    .map((name) => ({
      kind: "network namespace",
      what: name,
      computer: name.endsWith("-trial") ? "a trial" : undefined,
    }));

const links = async ({ shortId }: TracedInstance, slots: ReadonlyMap<number, string>): Promise<Trace[]> => {
  const listing = ["-n", `hf${shortId}-cellnet`, "-o", "link", "show", "type", "veth"];
  const { stdout } = await run("ip", listing).catch(() => ({ stdout: "" }));
  return stdout.split("\n").flatMap((line) => {
    const name = /^\d+: ([^@:]+)/.exec(line)?.[1];
    const computer = slots.get(Number(name?.slice(1))) ?? "no computer";
    return name ? [{ kind: "link", what: name, computer }] : [];
  });
};

const subvolumes = async (
  { pool }: TracedInstance,
  snapshots: ReadonlyMap<string, string>,
): Promise<Trace[]> => {
  const { stdout } = await run("btrfs", ["subvolume", "list", pool]).catch(() => ({ stdout: "" }));
  return stdout.split("\n").flatMap((line) => {
    const path = / path (.*)$/.exec(line)?.[1];
    if (!path || /(^|\/)images\//.test(path)) return [];
    const computer = ownerOf(path) ?? snapshots.get(snapshotIn(path)) ?? "no computer";
    return [{ kind: "subvolume", what: path, computer }];
  });
};

/** The path and all below it. */
const readAll = async (path: string): Promise<readonly string[]> => [
  path,
  ...(await readdir(path, { recursive: true }).catch(() => [])).map((name) => join(path, name)),
];

/** Not what the program tree holds, which is some forty thousand files of ours. */
const files = async (of: TracedInstance, snapshots: ReadonlyMap<string, string>): Promise<Trace[]> => {
  const facts = (await names(join(of.pool, "supervisor/facts"))).map((name) =>
    join(of.pool, "supervisor/facts", name),
  );
  const inRun = (await names(of.run)).filter((name) => name !== "tree");
  const below = await Promise.all(inRun.map((name) => readAll(join(of.run, name))));
  const ofSnapshots = [...snapshots].map(([snapshot, computer]) => ({
    kind: "file",
    what: `facts of ${snapshot}`,
    computer,
  }));
  return [
    ...[...facts, ...below.flat()].map((path) => ({ kind: "file", what: path, computer: ownerOf(path) })),
    ...ofSnapshots,
  ];
};

const processes = async (of: TracedInstance): Promise<Trace[]> => {
  const found: Trace[] = [];
  for (const pid of (await names("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [status, cgroup] = await Promise.all(
      ["status", "cgroup"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "")),
    );
    // A zombie is its parent's to collect; it holds nothing.
    if (!status || /^State:\s+Z/m.test(status)) continue;
    const uid = Number(/^Uid:\s+(\d+)/m.exec(status)?.[1] ?? -1);
    const inBlock = uid >= of.uidBase && uid < of.uidBase + of.uidCount;
    const inCgroup = (cgroup ?? "").includes(`/holdfast-${of.shortId}/`);
    const name = /^Name:\s+(.*)$/m.exec(status)?.[1] ?? "";
    if (inBlock || inCgroup)
      found.push({
        kind: "process",
        what: `${pid} ${name}`,
        computer: computerIn(cgroup ?? "") ?? "no computer",
      });
  }
  return found;
};

/** Which computer has which slot: links are named by it. */
const slotsOf = async ({ pool }: TracedInstance): Promise<ReadonlyMap<number, string>> => {
  const directory = join(pool, "supervisor/facts");
  const slots = new Map<number, string>();
  for (const name of await names(directory)) {
    const facts = JSON.parse(await readFile(join(directory, name), "utf8").catch(() => "{}")) as {
      readonly slot?: number;
      readonly computerId?: string;
    };
    if (facts.slot !== undefined && facts.computerId) slots.set(facts.slot, facts.computerId);
  }
  return slots;
};

const snapshotIn = (text: string): string => /snp_[0-9a-z]{20}/.exec(text)?.[0] ?? "";

/** Of which computer each snapshot is. */
const snapshotsOf = async ({ pool }: TracedInstance): Promise<ReadonlyMap<string, string>> => {
  const directory = join(pool, "supervisor/snapshot-facts");
  const found = await Promise.all(
    (await names(directory)).map(async (name): Promise<readonly [string, string]> => {
      const text = await readFile(join(directory, name), "utf8").catch(() => "{}");
      const { computerId } = JSON.parse(text) as { readonly computerId?: string };
      return [snapshotIn(name), computerId ?? "no computer"];
    }),
  );
  return new Map(found);
};

const supervisorRuns = async (of: TracedInstance): Promise<boolean> => {
  for (const pid of (await names("/proc")).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (command.includes("supervisor/src/main.ts") && command.includes(`\0--instance\0${of.instance}\0`))
      return true;
  }
  return false;
};
