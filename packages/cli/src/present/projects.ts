import { opensEverything, type OperationName, type OperationOutput } from "@holdfast/contract";
import { formatAge } from "../lib/units.ts";
import { card, type Column, table } from "./table.ts";

type Project = OperationOutput<"project.get">;
type Service = Project["services"][number];
type Schedule = Project["schedules"][number];
type Deployment = NonNullable<Project["deployment"]>;
type Rules = NonNullable<Project["published"]>;

interface Sheet {
  readonly now: number;
  readonly width: number | undefined;
}

/** Outputs that are or hold a project, as a person reads them: where it is and how it does first, then its services side by side. */
export const projectTexts: { readonly [N in OperationName]?: (output: unknown, sheet: Sheet) => string } = {
  ...Object.fromEntries(
    (
      [
        "project.create",
        "project.get",
        "project.update",
        "project.destroy",
        "project.publish",
        "project.unpublish",
      ] as const
    ).map((name) => [name, (output: unknown, sheet: Sheet) => projectText(output as Project, sheet)]),
  ),
  ...Object.fromEntries(
    (["project.deploy", "project.restore", "project.import"] as const).map((name) => [
      name,
      (output: unknown, sheet: Sheet) => projectText((output as { project: Project }).project, sheet),
    ]),
  ),
};

const projectText = (project: Project, { now, width }: Sheet): string => {
  const { definition, deployment, schedules, services } = project;
  const entries: readonly (readonly [string, string])[] = [
    ["address", project.address],
    ["visibility", visibilityOf(project)],
    ["state", project.state.replaceAll("_", " ")],
    ["slug", project.slug],
    ["id", project.id],
    ["computer", project.computer],
    ["folder", project.folder],
    ["template", project.template],
    ["description", project.description],
    [
      "runs",
      definition.services
        .map(({ name }) => (name === definition.web ? `${name} (behind the address)` : name))
        .join(", "),
    ],
    ["deployed", deployment === null ? "" : deploymentText(deployment, now)],
    ["owner", project.owner],
    ["created", `${project.created_at} (${formatAge(project.created_at, now)})`],
  ];
  const told = card(
    entries.filter(([, value]) => value !== ""),
    width,
  );
  return [
    told,
    ...(services.length === 0 ? [] : [table(services, serviceColumns, now, width)]),
    ...(schedules.length === 0 ? [] : [table(schedules, scheduleColumns, now, width)]),
  ].join("\n");
};

const serviceColumns: readonly Column<Service>[] = [
  { head: "SERVICE", cell: ({ name }) => name },
  { head: "STATE", cell: ({ state }) => state },
  { head: "PORT", cell: ({ port }) => String(port ?? "-") },
  { head: "RESTARTS", cell: ({ restarts }) => String(restarts) },
  { head: "REASON", cell: ({ reason }) => reason ?? "-" },
];

const scheduleColumns: readonly Column<Schedule>[] = [
  { head: "SCHEDULE", cell: ({ name }) => name },
  { head: "STATE", cell: ({ state }) => state },
  { head: "NEXT", cell: ({ next_slot: next }, now) => (next === null ? "-" : formatAge(next, now)) },
  {
    head: "LAST RUN",
    cell: ({ last_run: last }, now) =>
      last === null
        ? "-"
        : `${last.state.replaceAll("_", " ")} ${formatAge(last.ended_at ?? last.created_at, now)}`,
  },
  { head: "REASON", cell: ({ last_run: last }) => last?.reason ?? "-" },
];

/** `private`, `published`, or `published: POST /hooks/*` when only that is open. */
const visibilityOf = ({ visibility, published }: Project): string =>
  published === null || isEverything(published)
    ? visibility
    : `${visibility}: ${published.map(ruleText).join(", ")}`;

/** Whether everything is open: by one of the rules, to every method. */
export const isEverything = (rules: Rules): boolean => rules.some(opensEverything);

/** As `--rule` takes it. */
export const ruleText = ({ methods, path }: Rules[number]): string =>
  methods === null ? path : `${methods.join(",")} ${path}`;

const deploymentText = ({ commit, message, principal, deployed_at: at }: Deployment, now: number): string =>
  `${shortCommit(commit)} ${JSON.stringify(firstLine(message))}, ${formatAge(at, now)}, by ${principal}`;

/** What the definition calls a service of its project: on the computer the project's name stands before it. */
export const nameInProject = (project: Pick<Project, "name">, { name }: Pick<Service, "name">): string =>
  name.startsWith(`${project.name}-`) ? name.slice(project.name.length + 1) : name;

/** As many digits as tell the commits of one project apart. */
export const shortCommit = (commit: string): string => commit.slice(0, 10);

export const firstLine = (text: string): string => text.split("\n")[0] ?? "";
