import {
  computerSizeNames,
  environmentSchema,
  HoldfastError,
  limits,
  nameSchema,
  operations,
  projectDefinition,
  slugSchema,
  templateNames,
} from "@holdfast/contract";
import { z } from "zod";
import { serviceName } from "../domain/project.ts";
import { checkProject } from "../projects/index.ts";
import { getDefinitions } from "../store/snapshots.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import { checkDefinition } from "../work/index.ts";

/** Declared as `service.create` takes it, but what is about the request. */
const serviceFields = operations["service.create"].input.omit({ computer: true, name: true, wait_ms: true });
const wanted = z.enum(["running", "stopped"]);

const service = z.object({
  /** Of the computer's alone as it is called; of a project's without the project's name before it. */
  name: nameSchema,
  definition: serviceFields,
  desired_state: wanted,
});

const project = z.object({
  name: nameSchema.max(19),
  slug: slugSchema,
  description: z.string().max(limits.descriptionLength),
  template: z.enum(templateNames),
  definition: projectDefinition,
  /** What runs of it, with the commit that was deployed. Null: nothing was ever deployed. */
  deployed: z
    .object({
      definition: projectDefinition,
      web_port: z.number().int().min(1).max(65_535).nullable(),
      commit: z.string().regex(/^[0-9a-f]{40}$/),
      message: z.string().max(limits.commitMessageLength),
      /** Those of its services that somebody stopped, by their names in the definition. */
      stopped: z.array(nameSchema).max(limits.servicesPerProject),
    })
    .nullable(),
});

const schedule = z.object({
  name: nameSchema,
  project: nameSchema.nullable(),
  definition: z.record(z.string(), z.unknown()),
});

/** What a computer is beside its files, as it is written down with a snapshot and in an exported file. No credential is in it. */
const definitions = z.object({
  version: z.literal(1),
  size: z.enum(computerSizeNames),
  description: z.string().max(limits.descriptionLength),
  environment: environmentSchema,
  services: z.array(service).max(limits.servicesPerComputer),
  projects: z.array(project).max(limits.projectsPerComputer),
  schedules: z.array(schedule).max(limits.schedulesPerComputer),
});

export type Definitions = z.output<typeof definitions>;
export type DefinedService = Definitions["services"][number];
export type DefinedProject = Definitions["projects"][number];

/** What stands in an exported file may be anyone's. Throws `archive_refused` where it is not what a computer can be. */
export const parseDefinitions = (found: unknown): Definitions => {
  const parsed = definitions.safeParse(found);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw refused(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`);
  }
  try {
    check(parsed.data);
  } catch (error) {
    throw asRefusal(error);
  }
  return parsed.data;
};

/** What would be a caller's fault is the file's here. */
export const asRefusal = (error: unknown): unknown =>
  error instanceof HoldfastError && error.code === "invalid_input" ? refused(error.message) : error;

const refused = (reason: string): HoldfastError =>
  new HoldfastError("archive_refused", `the definitions in the file are not those of a computer: ${reason}`, {
    entry: "definitions.json",
    reason,
  });

/** Throws `invalid_input` for what no single field shows, as where it is declared by hand. */
const check = (all: Definitions): void => {
  refuseTwice(all.projects.map(({ name }) => name));
  refuseTwice(all.schedules.map(({ name }) => name));
  refuseTwice([
    ...all.services.map(({ name }) => name),
    ...all.projects.flatMap((one) =>
      (one.deployed?.definition.services ?? []).map(({ name }) => serviceName(one, name)),
    ),
  ]);
  const rows = all.services.map(({ name, definition }) => ({ name, definition }));
  for (const { name, definition } of rows)
    checkDefinition(
      name,
      definition,
      rows.filter((other) => other.name !== name),
    );
  for (const { definition, deployed } of all.projects) {
    checkProject(definition);
    if (deployed) checkProject(deployed.definition);
  }
};

const refuseTwice = (names: readonly string[]): void => {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new HoldfastError("invalid_input", `there are two called ${twice}`);
};

/** Of a snapshot that was taken here, also by an earlier version. Throws `not_found` where it is gone. */
export const storedDefinitions = async (db: Database | Transaction, id: string): Promise<Definitions> => {
  const stored = await getDefinitions(db, id);
  if (!stored) throw new HoldfastError("not_found", `there is no snapshot ${id}`, { snapshot: id });
  return stored as unknown as Definitions;
};

/** All values of one snapshot together: a hundred of each computer are kept in the database. */
const mostBytes = 4 * 1024 * 1024;

/** Throws `limit_reached` where they are more than is kept with a snapshot. */
export const refuseLarge = (captured: Definitions): Definitions => {
  if (Buffer.byteLength(JSON.stringify(captured)) <= mostBytes) return captured;
  throw new HoldfastError(
    "limit_reached",
    `services, projects, schedules and environment are over ${mostBytes} bytes together: put large values into files`,
    { limit: mostBytes, counts: "bytes of definitions" },
  );
};
