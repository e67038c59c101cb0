import { limits, type OperationName } from "@holdfast/contract";
import type { HoldfastClient } from "@holdfast/sdk";
import type { App } from "../app.ts";
import { print } from "./index.ts";

/** What people know by another word than its id. */
type Kind = "computer" | "schedule" | "project";
type Row = Readonly<Record<string, unknown>>;

/**
 * The rows with names in the place of ids, where one is known; `fields` says what the id in a field is of. Asks only for what there is to name.
 */
export const withNames = async <R extends Row>(
  app: App,
  rows: readonly R[],
  fields: { readonly [field in keyof R & string]?: Kind },
): Promise<readonly R[]> => {
  const names = new Map<Kind, ReadonlyMap<string, string>>();
  let shown = rows;
  for (const [field, kind] of Object.entries<Kind | undefined>(fields)) {
    if (kind === undefined || rows.every((row) => typeof row[field] !== "string")) continue;
    const known = names.get(kind) ?? (await namesOf[kind](await app.client()));
    names.set(kind, known);
    shown = shown.map((row) => ({ ...row, [field]: known.get(String(row[field])) ?? row[field] }));
  }
  return shown;
};

/** Shows one thing with the names of its computer, its schedule and its project, as lists do. */
export const showNamed =
  (name: OperationName) =>
  async (app: App, output: unknown): Promise<void> => {
    const fields = { computer: "computer", schedule: "schedule", project: "project" } as const;
    const [shown] = await withNames(app, [output as Row], fields);
    await print(app, name, shown);
  };

const most = { limit: limits.pageSizeMax };

/** Id to name, of the newest that one page of a list holds. Projects are known by their slugs. */
const namesOf: Readonly<Record<Kind, (client: HoldfastClient) => Promise<ReadonlyMap<string, string>>>> = {
  computer: async (client) =>
    new Map((await client.computers.list(most)).computers.map(({ id, name }) => [id, name])),
  schedule: async (client) =>
    new Map((await client.schedules.list(most)).schedules.map(({ id, name }) => [id, name])),
  project: async (client) =>
    new Map((await client.projects.list(most)).projects.map(({ id, slug }) => [id, slug])),
};
