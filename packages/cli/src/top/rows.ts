import { isEverything, nameInProject } from "../present/projects.ts";
import { ofLimit, percent } from "./amounts.ts";
import { formatAge } from "../lib/units.ts";
import { lastRunOf } from "../present/holding.ts";
import type { Project, Schedule, Seen, Service } from "./collect.ts";

export type Tone = "good" | "busy" | "bad" | "quiet";

interface Common {
  /** With its indentation. */
  readonly name: string;
  readonly state: string;
  readonly tone: Tone;
}

/** One line of the table. */
export type Row =
  | (Common & {
      readonly kind: "computer";
      readonly usage: readonly [cpu: string, memory: string, disk: string];
    })
  | (Common & {
      readonly kind: "service";
      readonly restarts: string;
      readonly visibility: string;
      readonly address: string;
    })
  | (Common & { readonly kind: "schedule"; readonly when: string })
  /** Why what stands above is as it is. */
  | { readonly kind: "reason"; readonly text: string }
  /** What there is more, and not shown. */
  | { readonly kind: "more"; readonly text: string };

/**
 * The table: under each computer its projects with their other services and schedules, then the services and schedules that belong to
 * none.
 */
export const rowsOf = (seen: readonly Seen[], now: number): readonly Row[] =>
  seen.flatMap((one) => computerRows(one, now));

const computerRows = (
  { computer, usage, cpuShare, projects, services, schedules }: Seen,
  now: number,
): readonly Row[] => {
  const known = new Set(projects.map(({ id }) => id));
  const ownSchedules = schedules.filter(({ project }) => project === null || !known.has(project));
  const ofProjects = new Set(projects.flatMap((project) => project.services.map(({ id }) => id)));
  const others = services.filter(({ id }) => !ofProjects.has(id));
  return [
    {
      kind: "computer",
      name: computer.name,
      state: computer.state,
      tone: toneOf(computer.state),
      usage: [
        percent(computer.state === "awake" ? cpuShare : null),
        ofLimit(usage?.memory_bytes, usage?.memory_limit_bytes),
        ofLimit(usage?.disk_bytes, usage?.disk_limit_bytes),
      ],
    },
    ...reasonRow(computer.state === "failed" ? computer.reason : null, 2),
    ...projects.flatMap((project) =>
      projectRows(
        project,
        schedules.filter((schedule) => schedule.project === project.id),
        now,
      ),
    ),
    ...others.flatMap((service) => serviceRows(service, service.name, 2)),
    ...scheduleRows(ownSchedules, 2, now),
  ];
};

/** A project is told by its slug and does as its web service does. */
const projectRows = (project: Project, schedules: readonly Schedule[], now: number): readonly Row[] => {
  const web = project.services.find((service) => nameInProject(project, service) === project.definition.web);
  const others = project.services.filter((service) => service !== web);
  return [
    {
      kind: "service",
      name: `  ${project.slug}`,
      state: project.state.replaceAll("_", " "),
      tone: toneOf(project.state),
      restarts: web ? String(web.restarts) : "-",
      visibility: visibilityOf(project),
      address: project.address,
    },
    ...reasonRow(web && troubled.has(web.state) ? web.reason : null, 4),
    ...others.flatMap((service) => serviceRows(service, nameInProject(project, service), 4)),
    ...scheduleRows(schedules, 4, now),
  ];
};

/** Those that failed, then the ones that run soonest. */
const scheduleRows = (schedules: readonly Schedule[], indent: number, now: number): readonly Row[] => {
  const shown = schedules
    .toSorted(
      (one, other) => Number(hasFailed(other)) - Number(hasFailed(one)) || nextOf(one) - nextOf(other),
    )
    .slice(0, mostSchedules);
  const rows = shown.map((schedule): Row => {
    const { last_run: last, next_slot: next } = schedule;
    const going = last !== null && last.ended_at === null;
    const state = going ? last.state.replaceAll("_", " ") : schedule.state;
    const when = [
      ...(next === null ? [] : [`next ${formatAge(next, now)}`]),
      ...(last === null || going ? [] : [lastRunOf(last, now)]),
    ];
    return {
      kind: "schedule",
      name: " ".repeat(indent) + schedule.name,
      state,
      tone: hasFailed(schedule) ? "bad" : going ? "good" : "quiet",
      when: when.join(", ") || "-",
    };
  });
  const rest = schedules.length - shown.length;
  if (rest === 0) return rows;
  return [...rows, { kind: "more", text: `${" ".repeat(indent)}and ${rest} more: holdfast schedules list` }];
};

/** Of one computer, or of one project. */
const mostSchedules = 3;

const hasFailed = ({ last_run: last }: Schedule): boolean => last?.state === "failed";

/** When it runs next, for the order. */
export const nextOf = ({ next_slot: next }: Schedule): number =>
  next === null ? Number.POSITIVE_INFINITY : Date.parse(next);

const serviceRows = (service: Service, name: string, indent: number): readonly Row[] => [
  {
    kind: "service",
    name: " ".repeat(indent) + name,
    state: service.state,
    tone: toneOf(service.state),
    restarts: String(service.restarts),
    visibility: "-",
    address: service.port === null ? "-" : `port ${service.port}`,
  },
  ...reasonRow(troubled.has(service.state) ? service.reason : null, indent + 2),
];

const reasonRow = (reason: string | null, indent: number): readonly Row[] =>
  reason === null || reason === "" ? [] : [{ kind: "reason", text: " ".repeat(indent) + reason }];

/** `in part`: published, but only what its rules name. */
const visibilityOf = ({ published, visibility }: Project): string =>
  published === null || isEverything(published) ? visibility : "in part";

const toneOf = (state: string): Tone => tones[state] ?? "busy";

const tones: Readonly<Record<string, Tone>> = {
  awake: "good",
  running: "good",
  ready: "good",
  asleep: "quiet",
  archived: "quiet",
  stopped: "quiet",
  unknown: "quiet",
  not_deployed: "quiet",
  no_service: "quiet",
  failed: "bad",
  unhealthy: "bad",
  backoff: "bad",
};

const troubled: ReadonlySet<string> = new Set(["failed", "backoff", "unhealthy", "waiting"]);
