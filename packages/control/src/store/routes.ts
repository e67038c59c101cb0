import type { PublicRule } from "@holdfast/contract";
import { sql } from "kysely";
import type { Database, Transaction } from "./transaction.ts";

/** What gateway must know of a project. */
export interface RouteRow {
  readonly id: string;
  readonly slug: string;
  readonly computer_id: string;
  readonly web_port: number | null;
  readonly published: readonly PublicRule[] | null;
  readonly state: "creating" | "living" | "destroyed";
  readonly route_revision: number;
}

/**
 * Routes with a higher revision than `after`, in their order. From 0 only what lives; later also what is gone. Revisions become visible in
 * order (`touchRoute`), so what has this order misses nothing.
 */
export const listRoutes = (db: Database, after: number, limit: number): Promise<readonly RouteRow[]> => {
  const query = db
    .selectFrom("projects")
    .select(["id", "slug", "computer_id", "web_port", "published", "state", "route_revision"])
    .where("route_revision", ">", Math.max(0, after));
  return (after > 0 ? query : query.where("state", "=", "living"))
    .orderBy("route_revision")
    .limit(limit)
    .execute();
};

/** The highest revision there is; 0 without routes. */
export const lastRevision = async (db: Database): Promise<number> => {
  const { last } = await db
    .selectFrom("projects")
    .select(sql<number>`coalesce(max(route_revision), 0)`.as("last"))
    .where("route_revision", ">", 0)
    .executeTakeFirstOrThrow();
  return last;
};

/** Writes down what is open to everyone; null: nothing. The row must be locked; `touchRoute` follows. */
export const setPublished = async (
  transaction: Transaction,
  projectId: string,
  rules: readonly PublicRule[] | null,
  nowMs: number,
): Promise<void> => {
  await transaction
    .updateTable("projects")
    .set((all) => ({
      published: rules === null ? null : JSON.stringify(rules),
      version: all("version", "+", 1),
      updated_at_ms: nowMs,
    }))
    .where("id", "=", projectId)
    .execute();
};
