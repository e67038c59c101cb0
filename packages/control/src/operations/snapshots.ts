import { HoldfastError, type OperationName } from "@holdfast/contract";
import { computerView, type Lifecycle } from "../computers/index.ts";
import type { BytesResult, Handler, Handlers } from "../domain/handler.ts";
import type { OperationReconciler } from "../domain/ports.ts";
import type { Trees } from "../domain/trees.ts";
import { firstWaited } from "../lib/first-waited.ts";
import {
  type AdmittedFork,
  type AdmittedRestore,
  type AdmittedSnapshot,
  type Comparing,
  type Imports,
  type Restores,
  type Snapshots,
  snapshotView,
  storedDefinitions,
} from "../snapshots/index.ts";
import { getComputer } from "../store/computers.ts";
import { snapshotOfOperation } from "../store/snapshots.ts";
import type { Database } from "../store/transaction.ts";
import { bodyOf } from "./body.ts";

type Names = Extract<OperationName, `snapshot.${string}`>;

export interface SnapshotHandlerParts {
  readonly db: Database;
  readonly snapshots: Snapshots;
  readonly restores: Restores;
  readonly comparing: Comparing;
  readonly imports: Imports;
  readonly lifecycle: Lifecycle;
  readonly trees: Pick<Trees, "export">;
  /** Control ends: what was begun goes on until then, also when its caller has gone away. */
  readonly stopping: AbortSignal;
}

export const snapshotHandlers = (parts: SnapshotHandlerParts): Handlers<Names> => {
  const { db, snapshots, restores, comparing, imports, lifecycle, trees, stopping } = parts;
  const create: Handler<"snapshot.create", AdmittedSnapshot> = {
    goesOn: true,
    admit: (transaction, context, params) => snapshots.admit(transaction, context, params),
    run: async (_context, _params, admitted) => {
      const { row, keep } = await snapshots.take(admitted, stopping);
      return { output: snapshotView(row), settle: keep };
    },
    takeBack: (transaction, admitted) => snapshots.giveUp(transaction, admitted),
  };
  const remove: Handler<"snapshot.delete", AdmittedSnapshot> = {
    admit: (transaction, context, params) => snapshots.delete(transaction, context, params),
    run: async (_context, _params, admitted) => ({ output: await snapshots.finishDelete(admitted) }),
  };
  const restore: Handler<"snapshot.restore", AdmittedRestore> = {
    goesOn: true,
    admit: (transaction, context, params) => restores.admit(transaction, context, params),
    run: async (_context, params, admitted) => ({
      output: await restores.await(admitted, params.wait_ms, stopping),
    }),
  };
  // Not one that goes on: an answer before its body's end would break that off.
  const bring: Handler<"snapshot.import", AdmittedFork> = {
    admit: (transaction, context, params) => imports.admit(transaction, context, params),
    run: async (context, _params, admitted) => {
      const filled = await imports.fill(context, admitted, bodyOf(context));
      return { output: computerView(await lifecycle.awaitCreated(filled, startMs, stopping)) };
    },
  };
  return {
    "snapshot.create": create,
    "snapshot.delete": remove,
    "snapshot.restore": restore,
    "snapshot.import": bring,
    "snapshot.list": { run: (context, params) => snapshots.list(context, params) },
    "snapshot.get": {
      run: async (context, params) => {
        const output = await snapshots.get(context, params);
        return { target: output.id, output };
      },
    },
    "snapshot.diff": { run: (context, params) => comparing.snapshots(context, params) },
    "snapshot.export": {
      run: async ({ principal, signal }, params): Promise<BytesResult> => {
        const { computer, row } = await snapshots.find(principal, params.computer, params.snapshot);
        const definitions = await storedDefinitions(db, row.id);
        const file = trees.export({ snapshotId: row.id }, definitions, signal);
        return {
          target: row.id,
          bytes: await firstWaited(file),
          contentType: "application/zstd",
          fileName: `${computer.name}-${row.name}.tar.zst`,
        };
      },
    },
  };
};

/** How long the start of an imported computer is waited for. */
const startMs = 20_000;

/** A row that is kept was taken; one that is gone never was. Asked again while nobody knows yet. */
export const snapshotReconcilers: readonly OperationReconciler[] = [
  {
    operations: ["snapshot.create"],
    reconcile: async (transaction, { operationId }) => {
      const row = await snapshotOfOperation(transaction, operationId);
      if (row?.state === "kept") return { outcome: "succeeded", output: snapshotView(row) };
      if (row?.state === "taking") throw unknownYet("the snapshot is being looked for");
      return { outcome: "failed", error: "unavailable" };
    },
  },
  {
    operations: ["snapshot.restore"],
    reconcile: async (transaction, { operationId, target }) => {
      const before = await snapshotOfOperation(transaction, operationId);
      const computer = target === null ? undefined : await getComputer(transaction, target);
      if (!before || !computer) return { outcome: "failed", error: "computer_failed" };
      if (computer.restoring?.id === before.id) throw unknownYet("the snapshot is being restored");
      if (before.state !== "kept") return { outcome: "failed", error: "computer_failed" };
      return {
        outcome: "succeeded",
        output: { computer: computerView(computer), before: before.id },
      };
    },
  },
];

const unknownYet = (what: string): HoldfastError => new HoldfastError("unavailable", what);
