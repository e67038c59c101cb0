import { limits } from "@holdfast/contract";
import type { App } from "../app.ts";

/** People know computers by name: id to name, of those there are; nothing is asked where there is nothing to name. */
export const computerNames = async (
  app: App,
  rows: readonly unknown[],
): Promise<ReadonlyMap<string, string>> => {
  if (rows.length === 0) return new Map();
  const { computers } = await (await app.client()).computers.list({ limit: limits.pageSizeMax });
  return new Map(computers.map(({ id, name }) => [id, name]));
};

/** The same for schedules. */
export const scheduleNames = async (
  app: App,
  rows: readonly unknown[],
): Promise<ReadonlyMap<string, string>> => {
  if (rows.length === 0) return new Map();
  const { schedules } = await (await app.client()).schedules.list({ limit: limits.pageSizeMax });
  return new Map(schedules.map(({ id, name }) => [id, name]));
};

/** The rows with a name in the place of the id, where one is known. */
export const named = <R extends Readonly<Record<string, unknown>>>(
  rows: readonly R[],
  field: string,
  names: ReadonlyMap<string, string>,
): readonly R[] => rows.map((row) => ({ ...row, [field]: names.get(String(row[field])) ?? row[field] }));

/** The same for projects: their slugs. */
export const projectSlugs = async (
  app: App,
  rows: readonly { readonly project: string | null }[],
): Promise<ReadonlyMap<string, string>> => {
  if (rows.every(({ project }) => project === null)) return new Map();
  const { projects } = await (await app.client()).projects.list({ limit: limits.pageSizeMax });
  return new Map(projects.map(({ id, slug }) => [id, slug]));
};
