import type { Clock } from "@holdfast/kit";
import type { ProjectSchedules, ScheduleDefinition, ScheduleDefinitions } from "../domain/schedules.ts";
import { findNamed } from "../store/projects.ts";
import { changeSchedule, deleteSchedules, type ScheduleRow, schedulesOf } from "../store/schedules.ts";
import type { Transaction } from "../store/transaction.ts";
import { getProject } from "../store/projects.ts";
import { declaredOf, type Defined, definedAgain, definedOf, timingOf } from "./definition.ts";
import type { Schedules } from "./schedules.ts";
import type { Timings } from "./timing.ts";
import { sha256 } from "../lib/digest.ts";

export interface DefinitionsParts {
  readonly schedules: Schedules;
  readonly timings: Timings;
  readonly clock: Clock;
  /** A key that nobody knows: of a schedule that is started by events and whose key was never given out. */
  readonly unknownKey: () => string;
  /** Slots of a computer have changed; called before the transaction is committed. */
  readonly changed: () => void;
}

/** The schedules of a computer as a whole, and those a project comes with. */
export const createDefinitions = (parts: DefinitionsParts): ScheduleDefinitions & ProjectSchedules => {
  const { schedules, timings, clock } = parts;
  const keyHashOf = (defined: Defined): Buffer | null => (defined.event ? sha256(parts.unknownKey()) : null);

  /** Of one that stays: it keeps its key, or gets one where it had none. */
  const change = async (
    transaction: Transaction,
    row: ScheduleRow,
    defined: Defined,
    projectId: string | null,
    paused: boolean,
  ): Promise<void> => {
    const nowMs = clock.now();
    const nextMs = paused ? null : timings.nextAfter(timingOf(defined), nowMs);
    await changeSchedule(
      transaction,
      row.id,
      {
        ...defined,
        project_id: projectId,
        state: paused ? "paused" : defined.event || nextMs !== null ? "active" : "ended",
        next_slot_ms: nextMs,
        event_key_hash: defined.event ? (row.event_key_hash ?? keyHashOf(defined)) : null,
      },
      nowMs,
    );
  };

  return {
    read: async (db, computerId) => {
      const rows = await schedulesOf(db, computerId);
      const names = new Map<string, string>();
      for (const id of new Set(rows.flatMap((row) => row.project_id ?? []))) {
        const project = await getProject(db, id);
        if (project) names.set(id, project.name);
      }
      return rows.map(
        (row): ScheduleDefinition => ({
          name: row.name,
          project: row.project_id === null ? null : (names.get(row.project_id) ?? null),
          definition: { ...declaredOf(row), paused: row.state === "paused" },
        }),
      );
    },

    replace: async (transaction, computer, definitions, options) => {
      const rows = await schedulesOf(transaction, computer.id);
      const wanted = new Set(definitions.map(({ name }) => name));
      await deleteSchedules(
        transaction,
        { ids: rows.filter(({ name }) => !wanted.has(name)).map(({ id }) => id) },
        "the computer's schedules were replaced",
      );
      for (const one of definitions) {
        const { defined, paused: was } = definedAgain(timings, one, clock.now());
        const paused = options.paused || was;
        const project =
          one.project === null ? undefined : await findNamed(transaction, computer.id, one.project);
        const projectId = project?.id ?? null;
        const row = rows.find(({ name }) => name === one.name);
        if (row) await change(transaction, row, defined, projectId, paused);
        else
          await schedules.insert(transaction, computer, {
            ...defined,
            name: one.name,
            projectId,
            paused,
            createdBy: computer.principalId,
            keyHash: keyHashOf(defined),
          });
      }
      parts.changed();
    },

    add: async (transaction, computer, project, starters, principal) => {
      for (const { name, paused, ...declared } of starters) {
        const defined = definedOf(timings, declared, clock.now());
        await schedules.insert(transaction, computer, {
          ...defined,
          name,
          projectId: project.id,
          paused,
          createdBy: principal.id,
          keyHash: keyHashOf(defined),
        });
      }
      parts.changed();
    },
  };
};
