import { HoldfastError, idPattern, type SupervisorMethods } from "@holdfast/contract";
import type { RpcClient } from "@holdfast/kit";
import { computerView, type Lifecycle } from "../computers/index.ts";
import type { AdmittedComputer } from "../computers/lifecycle.ts";
import type { Computers, DesiredState } from "../domain/computer.ts";
import type { Handler, Handlers } from "../domain/handler.ts";
import type { OperationReconciler } from "../domain/ports.ts";
import { decodeCursor, pageOf } from "../lib/cursor.ts";
import { getComputer, listComputers } from "../store/computers.ts";
import type { Database } from "../store/transaction.ts";
import { agentIfAwake, type CellParts } from "../work/index.ts";

type Names =
  | "computer.create"
  | "computer.list"
  | "computer.get"
  | "computer.update"
  | "computer.wake"
  | "computer.sleep"
  | "computer.stop"
  | "computer.archive"
  | "computer.promote"
  | "computer.destroy"
  | "computer.usage"
  | "port.list";

export interface ComputerHandlerParts extends CellParts {
  readonly db: Database;
  readonly lifecycle: Lifecycle;
  readonly computers: Computers;
  readonly supervisor: RpcClient<SupervisorMethods>;
}

export const computerHandlers = (parts: ComputerHandlerParts): Handlers<Names> => {
  const { db, lifecycle, computers, supervisor } = parts;
  const create: Handler<"computer.create", AdmittedComputer> = {
    admit: async (transaction, context, params) => {
      const { taken, ...admitted } = await lifecycle.create(transaction, context, params);
      if (!taken) return admitted;
      return { ...admitted, done: { output: computerView(taken.computer), last: taken.record } };
    },
    run: async (context, params, { computer }) => ({
      output: computerView(await lifecycle.finishCreation(computer, params.wait_ms, context.signal)),
    }),
    replay: async (context, params, target) => {
      const computer = await lifecycle.get(target);
      const made =
        computer.state === "creating" || computer.desiredState === "destroyed"
          ? await lifecycle.awaitCreated(computer, params.wait_ms, context.signal)
          : computer;
      return { output: computerView(made) };
    },
  };
  const update: Handler<"computer.update", AdmittedComputer> = {
    admit: (transaction, context, params) => lifecycle.update(transaction, context, params),
    run: async (context, _params, { computer }) => ({
      output: computerView(await lifecycle.awaitResized(computer, context.signal)),
    }),
  };
  const destroy: Handler<"computer.destroy", AdmittedComputer> = {
    admit: (transaction, context, params) => lifecycle.destroy(transaction, context, params.computer),
    run: async (context, _params, admitted) => ({
      output: computerView(await lifecycle.awaitDestroyed(admitted, destroyWaitMs, context.signal)),
    }),
  };
  const promote: Handler<"computer.promote", AdmittedComputer> = {
    admit: (transaction, context, params) => lifecycle.promote(transaction, context, params.computer),
    run: async (_context, _params, { computer }) => ({ output: computerView(computer) }),
  };
  return {
    "computer.create": create,
    "computer.update": update,
    "computer.destroy": destroy,
    "computer.wake": transition(lifecycle, "awake"),
    "computer.sleep": transition(lifecycle, "asleep"),
    "computer.stop": transition(lifecycle, "stopped"),
    "computer.archive": transition(lifecycle, "archived"),
    "computer.promote": promote,
    "computer.list": {
      run: async ({ principal }, params) => {
        const found = await listComputers(db, {
          principal,
          state: params.state,
          before: decodeCursor(params.cursor, idPattern("computer")),
          limit: params.limit + 1,
        });
        const page = pageOf(found, params.limit, (computer) => computer.id);
        return { output: { computers: page.rows.map(computerView), next_cursor: page.nextCursor } };
      },
    },
    "computer.get": {
      run: async ({ principal }, params) => {
        const computer = await computers.find(principal, params.computer, { destroyed: true });
        return { output: computerView(computer), target: computer.id };
      },
    },
    "computer.usage": {
      run: async ({ principal }, params) => {
        const { id } = await computers.find(principal, params.computer);
        const { usage: used } = await supervisor.call("usage.read", { computer_id: id });
        if (!used)
          throw new HoldfastError("not_found", "nothing of this computer is on the host yet", {
            computer: id,
          });
        return {
          target: id,
          output: {
            cpu_ms: used.cpu_ms,
            memory_bytes: used.memory_bytes,
            memory_limit_bytes: used.memory_limit_bytes,
            processes: used.pids,
            processes_limit: used.pids_limit,
            disk_bytes: used.disk_bytes,
            disk_limit_bytes: used.disk_limit_bytes,
            out_of_memory_kills: used.oom_kills,
          },
        };
      },
    },
    "port.list": {
      run: async ({ principal, signal }, params) => {
        const computer = await computers.find(principal, params.computer);
        const agent = agentIfAwake(parts, computer);
        if (!agent)
          throw new HoldfastError("wrong_state", `${computer.name} is ${computer.state}: nothing listens`, {
            state: computer.state,
          });
        computers.activity.touch(computer.id);
        return { target: computer.id, output: await agent.plain("ports.list", {}, { signal }) };
      },
    },
  };
};

/** How long a destruction is waited for; it goes on without the caller. */
const destroyWaitMs = 20_000;

const transition = (
  lifecycle: Lifecycle,
  desired: Exclude<DesiredState, "destroyed">,
): Handler<"computer.wake" | "computer.sleep" | "computer.stop" | "computer.archive", AdmittedComputer> => ({
  admit: (transaction, context, params) => lifecycle.want(transaction, context, params.computer, desired),
  run: async (context, params, { computer }) => ({
    output: computerView(await lifecycle.awaitState(computer, desired, params.wait_ms, context.signal)),
  }),
});

/** What was wanted is written down at admission, and the reconciler goes on with it: the request itself did what it could. */
export const computerReconciler = (db: Database): OperationReconciler => ({
  operations: [
    "computer.create",
    "computer.update",
    "computer.wake",
    "computer.sleep",
    "computer.stop",
    "computer.archive",
    "computer.promote",
    "computer.destroy",
  ],
  reconcile: async (transaction, unsettled) => {
    if (unsettled.target === null) return undefined;
    const computer = await getComputer(transaction ?? db, unsettled.target);
    return computer && { outcome: "succeeded", output: computerView(computer) };
  },
});
