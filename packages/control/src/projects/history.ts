import { HoldfastError, limits, type OperationOutput, type OperationParams } from "@holdfast/contract";
import type { OperationContext } from "../domain/handler.ts";
import { decodeCursor, encodeCursor } from "../lib/cursor.ts";
import { timestamp } from "../lib/timestamp.ts";
import { deploymentsOf } from "../store/deployments.ts";
import type { Database } from "../store/transaction.ts";
import type { CellParts } from "../work/index.ts";
import { deleteTemporary, temporaryPath } from "./cell-files.ts";
import type { FoundProject, Projects } from "./projects.ts";
import { deploymentView } from "./view.ts";

export interface HistoryParts extends Pick<CellParts, "agents"> {
  readonly db: Database;
  readonly projects: Projects;
}

/** What git in the computer tells of a project, beside what was written down outside. */
export class History {
  readonly #parts: HistoryParts;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
  }

  async list(
    { signal }: OperationContext,
    { project, computer }: FoundProject,
    params: OperationParams<"project.history">,
  ): Promise<OperationOutput<"project.history">> {
    const repository = this.#parts.projects.repository(project, computer, signal);
    // Counted from the commit that was the last one for the first page: later ones move nothing.
    const position = decodeCursor(params.cursor, /^[0-9a-f]{40}:\d{1,9}$/);
    const [head = "", skipped = "0"] = position?.split(":") ?? [];
    const from = position === undefined ? await repository.head() : head;
    const skip = Number(skipped);
    const commits = await repository.log(from, skip, params.limit + 1);
    const shown = commits.slice(0, params.limit);
    const deployments = await deploymentsOf(
      this.#parts.db,
      project.id,
      shown.map(({ id }) => id),
    );
    return {
      commits: shown.map(({ id, message, author, atMs }) => {
        const deployment = deployments.get(id);
        return {
          commit: id,
          message,
          author,
          at: timestamp(atMs),
          deployment: deployment ? deploymentView(deployment) : null,
        };
      }),
      next_cursor: commits.length > params.limit ? encodeCursor(`${from}:${skip + params.limit}`) : null,
    };
  }

  async diff(
    { operationId, signal }: OperationContext,
    { project, computer }: FoundProject,
    params: OperationParams<"project.diff">,
  ): Promise<OperationOutput<"project.diff">> {
    if (params.to !== undefined && params.from === undefined)
      throw new HoldfastError("invalid_input", "to: needs `from` beside it", {
        issues: [{ path: ["from"], message: "which commit to compare with" }],
      });
    const repository = this.#parts.projects.repository(project, computer, signal);
    const from = params.from === undefined ? await repository.head() : await repository.commit(params.from);
    const index = temporaryPath(operationId);
    try {
      const to =
        params.to === undefined ? await repository.treeToCommit(index) : await repository.commit(params.to);
      const { text, cut } = await repository.diff(from, to, limits.replyTextBytes);
      return { diff: text, truncated: cut };
    } finally {
      if (params.to === undefined) await deleteTemporary(this.#parts.agents, computer, index);
    }
  }
}
