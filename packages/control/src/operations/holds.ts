import { HoldfastError, limits, type OperationName, type OperationOutput } from "@holdfast/contract";
import type { Clock, NewId } from "@holdfast/kit";
import { findComputer } from "../computers/index.ts";
import type { Computer, Computers } from "../domain/computer.ts";
import type { Admitted, Handler, Handlers } from "../domain/handler.ts";
import type { OperationReconciler } from "../domain/ports.ts";
import { timestamp } from "../lib/timestamp.ts";
import { deleteHold, getHold, type HoldRow, insertHold, listHolds, renewHold } from "../store/holds.ts";
import { getProcess } from "../store/processes.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import { refuseFailed } from "../work/index.ts";

export interface HoldHandlerParts {
  readonly db: Database;
  readonly computers: Pick<Computers, "find" | "activity">;
  readonly ids: NewId;
  readonly clock: Clock;
}

interface AdmittedHold extends Admitted {
  readonly row: HoldRow;
}

/** What keeps computers awake for a while. All of it is written at admission; taking, renewing or ending one is a use of the computer itself. */
export const holdHandlers = ({
  db,
  computers,
  ids,
  clock,
}: HoldHandlerParts): Handlers<Extract<OperationName, `hold.${string}`>> => {
  const create: Handler<"hold.create", AdmittedHold> = {
    admit: async (transaction, { principal }, params) => {
      const computer = refuseFailed(
        await findComputer(transaction, principal, params.computer, { lock: true }),
      );
      const nowMs = clock.now();
      if (params.process !== undefined) await refuseEnded(transaction, computer, params.process);
      if ((await listHolds(transaction, computer.id, nowMs)).length >= limits.holdsPerComputer)
        throw new HoldfastError(
          "limit_reached",
          `${computer.name} has ${limits.holdsPerComputer} holds already: renew one of them, or release some`,
          { limit: limits.holdsPerComputer, counts: "holds" },
        );
      const row: HoldRow = {
        id: ids("hold"),
        computer_id: computer.id,
        principal_id: principal.id,
        reason: params.reason,
        process_id: params.process ?? null,
        taken_at_ms: nowMs,
        expires_at_ms: nowMs + params.for_ms,
      };
      await insertHold(transaction, row);
      computers.activity.touch(computer.id);
      return { target: row.id, row };
    },
    run: async (_context, _params, { row }) => ({ output: holdView(row) }),
  };
  const renew: Handler<"hold.renew", AdmittedHold> = {
    admit: async (transaction, { principal }, params) => {
      const computer = await findComputer(transaction, principal, params.computer, { lock: true });
      const nowMs = clock.now();
      const which = { id: params.hold, computerId: computer.id };
      const row = await renewHold(transaction, which, nowMs + params.for_ms, nowMs);
      if (!row)
        throw new HoldfastError("not_found", `there is no hold ${params.hold} any more: take another`, {
          hold: params.hold,
        });
      computers.activity.touch(computer.id);
      return { target: row.id, row };
    },
    run: async (_context, _params, { row }) => ({ output: holdView(row) }),
  };
  return {
    "hold.create": create,
    "hold.renew": renew,
    "hold.list": {
      run: async ({ principal }, params) => {
        const computer = await computers.find(principal, params.computer);
        const rows = await listHolds(db, computer.id, clock.now());
        return { target: computer.id, output: { holds: rows.map(holdView) } };
      },
    },
    "hold.release": {
      admit: async (transaction, { principal }, params) => {
        const computer = await findComputer(transaction, principal, params.computer, { lock: true });
        await deleteHold(transaction, { id: params.hold, computerId: computer.id });
        // Idle time begins here.
        computers.activity.touch(computer.id);
        return { target: params.hold };
      },
      run: async () => ({ output: { released: true } }),
    },
  };
};

/** Of an operation that was cut off after its admission: what it says now. */
export const holdReconciler: OperationReconciler = {
  operations: ["hold.create", "hold.renew", "hold.release"],
  reconcile: async (transaction, { operation, target }) => {
    if (target === null) return undefined;
    if (operation === "hold.release") return { outcome: "succeeded", output: { released: true } };
    const row = await getHold(transaction, target);
    return row ? { outcome: "succeeded", output: holdView(row) } : { outcome: "succeeded" };
  },
};

const refuseEnded = async (transaction: Transaction, computer: Computer, id: string): Promise<void> => {
  const process = await getProcess(transaction, computer.id, id);
  if (!process)
    throw new HoldfastError("not_found", `there is no process ${id} on ${computer.name}`, { process: id });
  if (process.state === "ended")
    throw new HoldfastError("wrong_state", `process ${id} has ended: nothing needs to be kept awake for it`, {
      process: id,
      state: "ended",
    });
};

const holdView = (row: HoldRow): OperationOutput<"hold.list">["holds"][number] => ({
  id: row.id,
  computer: row.computer_id,
  reason: row.reason,
  process: row.process_id,
  taken_by: row.principal_id,
  taken_at: timestamp(row.taken_at_ms),
  expires_at: timestamp(row.expires_at_ms),
});
