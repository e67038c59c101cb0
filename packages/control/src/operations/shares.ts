import {
  gatewayPrefix,
  HoldfastError,
  idPattern,
  limits,
  type OperationName,
  type OperationOutput,
} from "@holdfast/contract";
import type { NewId } from "@holdfast/kit";
import type { NewToken } from "../authority/tokens.ts";
import type { EventLog, NewEvent } from "../domain/events.ts";
import type { Handlers } from "../domain/handler.ts";
import { projectAddress } from "../lib/address.ts";
import { decodeCursor, pageOf } from "../lib/cursor.ts";
import { timestamp, timestampOrNull } from "../lib/timestamp.ts";
import { findProject, projectEvent } from "../projects/index.ts";
import type { ProjectRow } from "../store/projects.ts";
import {
  countShares,
  findShare,
  insertShare,
  listShares,
  revokeShare,
  type ShareRow,
} from "../store/shares.ts";
import type { Database } from "../store/transaction.ts";
import type { Rights } from "../visits/index.ts";

export interface ShareHandlerParts {
  readonly db: Database;
  readonly ids: NewId;
  readonly newToken: NewToken;
  readonly events: EventLog;
  readonly rights: Rights;
  readonly projectsAddress: URL;
}

/** Links to private projects. Everything is written while settling, so an operation without an outcome did nothing. */
export const shareHandlers = (
  parts: ShareHandlerParts,
): Handlers<Extract<OperationName, `share.${string}`>> => {
  const { db, ids, newToken, events, rights, projectsAddress } = parts;
  return {
    "share.create": {
      sealsOutput: true,
      run: async ({ principal, startedAtMs }, params) => {
        const { id: projectId, slug } = await findProject(db, principal, params.project);
        const { token, hash } = newToken("hfl_");
        const row: ShareRow = {
          id: ids("share"),
          project_id: projectId,
          label: params.label,
          created_by: principal.id,
          created_at_ms: startedAtMs,
          expires_at_ms: startedAtMs + params.expires_in_ms,
          revoked_at_ms: null,
        };
        const { revoked_at_ms: _never, ...fresh } = row;
        return {
          output: {
            share: shareViewOf(row),
            url: `${projectAddress(projectsAddress, slug)}${gatewayPrefix}share?t=${token}`,
          },
          target: row.id,
          settle: async (transaction) => {
            // Locked: creations take turns, and one that comes after the project's end finds nothing.
            const project = await findProject(transaction, principal, projectId, { lock: true });
            if ((await countShares(transaction, projectId, startedAtMs)) >= limits.sharesPerProject)
              throw new HoldfastError("limit_reached", `${slug} has as many shares as it may; revoke some`, {
                limit: limits.sharesPerProject,
                counts: "shares",
              });
            await Promise.all([
              insertShare(transaction, { ...fresh, token_hash: hash }),
              events.append(transaction, shareEvent(project, "share.created", row)),
            ]);
            rights.introduce("share", projectId, hash);
          },
        };
      },
    },
    "share.list": {
      run: async ({ principal }, params) => {
        const { id } = await findProject(db, principal, params.project);
        const before = decodeCursor(params.cursor, idPattern("share"));
        const page = pageOf(
          await listShares(db, id, before, params.limit + 1),
          params.limit,
          (row) => row.id,
        );
        return {
          target: id,
          output: { shares: page.rows.map(shareViewOf), next_cursor: page.nextCursor },
        };
      },
    },
    "share.revoke": {
      run: async ({ principal, startedAtMs }, params) => {
        const project = await findProject(db, principal, params.project);
        const row = await findShare(db, project.id, params.share);
        if (!row)
          throw new HoldfastError("not_found", `there is no share ${params.share} of ${project.slug}`);
        return {
          output: shareViewOf({ ...row, revoked_at_ms: row.revoked_at_ms ?? startedAtMs }),
          target: row.id,
          settle: async (transaction) => {
            if (row.revoked_at_ms !== null) return;
            await Promise.all([
              revokeShare(transaction, row.id, startedAtMs),
              events.append(transaction, shareEvent(project, "share.revoked", row)),
            ]);
          },
        };
      },
    },
  };
};

/** Of shares, as of all that is the owners' alone, assistants are not told. */
const shareEvent = (project: ProjectRow, kind: string, { id, label }: ShareRow): NewEvent => ({
  ...projectEvent(project, kind, { share: id, label }),
  visibleTo: null,
});

const shareViewOf = (row: ShareRow): OperationOutput<"share.revoke"> => ({
  id: row.id,
  project: row.project_id,
  label: row.label,
  created_by: row.created_by,
  created_at: timestamp(row.created_at_ms),
  expires_at: timestamp(row.expires_at_ms),
  revoked_at: timestampOrNull(row.revoked_at_ms),
});
