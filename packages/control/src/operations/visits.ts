import {
  gatewayPrefix,
  limits,
  type OperationName,
  type OperationOutput,
  type PublicRule,
} from "@holdfast/contract";
import type { NewToken } from "../authority/tokens.ts";
import type { EventLog, NewEvent } from "../domain/events.ts";
import type { Admitted, Handler, Handlers } from "../domain/handler.ts";
import { projectAddress } from "../lib/address.ts";
import { decodeCursor, pageOf } from "../lib/cursor.ts";
import { timestamp } from "../lib/timestamp.ts";
import { findProject, projectEvent } from "../projects/index.ts";
import { type ProjectRow, touchRoute } from "../store/projects.ts";
import { insertTicket } from "../store/rights.ts";
import { setPublished } from "../store/routes.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import { listAccessRecords } from "../store/visits.ts";
import { checkRules, type Rights } from "../visits/index.ts";

type Names = Extract<
  OperationName,
  "project.publish" | "project.unpublish" | "project.open" | "project.access"
>;

export interface VisitHandlerParts {
  readonly db: Database;
  readonly newToken: NewToken;
  readonly events: EventLog;
  readonly rights: Rights;
  /** Origin of projects without the slug. */
  readonly projectsAddress: URL;
  /** A project as operations answer it. */
  readonly viewOf: (projectId: string, signal: AbortSignal) => Promise<OperationOutput<"project.get">>;
}

interface AdmittedProject extends Admitted {
  readonly target: string;
}

/** Who reaches a project's address. What is open to everyone is written at admission, so that it holds whatever becomes of the reply. */
export const visitHandlers = (parts: VisitHandlerParts): Handlers<Names> => {
  const { db, newToken, events, rights, projectsAddress, viewOf } = parts;

  const write = async (
    transaction: Transaction,
    project: ProjectRow,
    rules: readonly PublicRule[] | null,
    nowMs: number,
  ): Promise<AdmittedProject> => {
    if (textOf(project.published) !== textOf(rules)) {
      await Promise.all([
        setPublished(transaction, project.id, rules, nowMs),
        events.append(transaction, publicationEvent(project, rules)),
      ]);
      await touchRoute(transaction, project.id);
    }
    return { target: project.id };
  };

  const publish: Handler<"project.publish", AdmittedProject> = {
    admit: async (transaction, { principal, startedAtMs }, { project, rules }) => {
      checkRules(rules);
      return write(
        transaction,
        await findProject(transaction, principal, project, { lock: true }),
        rules,
        startedAtMs,
      );
    },
    run: async ({ signal }, _params, { target }) => ({ output: await viewOf(target, signal) }),
  };
  const unpublish: Handler<"project.unpublish", AdmittedProject> = {
    admit: async (transaction, { principal, startedAtMs }, { project }) =>
      write(
        transaction,
        await findProject(transaction, principal, project, { lock: true }),
        null,
        startedAtMs,
      ),
    run: async ({ signal }, _params, { target }) => ({ output: await viewOf(target, signal) }),
  };
  return {
    "project.publish": publish,
    "project.unpublish": unpublish,
    "project.open": {
      run: async ({ principal, startedAtMs }, params) => {
        const { id, slug } = await findProject(db, principal, params.project);
        const { token, hash } = newToken("hft_");
        const expiresAtMs = startedAtMs + limits.ticketMs;
        const address = projectAddress(projectsAddress, slug, params.port);
        return {
          output: { url: `${address}${gatewayPrefix}ticket?t=${token}`, expires_at: timestamp(expiresAtMs) },
          target: id,
          settle: async (transaction) => {
            await insertTicket(transaction, {
              tokenHash: hash,
              projectId: id,
              sessionId: principal.credentialId,
              expiresAtMs,
            });
            rights.introduce("ticket", id, hash);
          },
        };
      },
    },
    "project.access": {
      run: async ({ principal }, params) => {
        const { id } = await findProject(db, principal, params.project);
        const before = decodeCursor(params.cursor, /^[0-9]{1,15}$/);
        const rows = await listAccessRecords(
          db,
          id,
          before === undefined ? undefined : Number(before),
          params.limit + 1,
        );
        const page = pageOf(rows, params.limit, (row) => String(row.id));
        return {
          target: id,
          output: {
            requests: page.rows.map(({ id: _id, project_id: _project, at_ms: atMs, ...shown }) => ({
              at: timestamp(atMs),
              ...shown,
            })),
            next_cursor: page.nextCursor,
          },
        };
      },
    },
  };
};

/** The same for the same rules: Postgres gives the fields of a rule in an order of its own. */
const textOf = (rules: readonly PublicRule[] | null): string =>
  JSON.stringify(rules?.map(({ methods, path }) => [methods, path]) ?? null);

const publicationEvent = (project: ProjectRow, rules: unknown): NewEvent =>
  rules === null
    ? projectEvent(project, "project.unpublished")
    : projectEvent(project, "project.published", { rules });
