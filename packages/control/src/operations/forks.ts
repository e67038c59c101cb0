import type { OperationName } from "@holdfast/contract";
import { computerView, destroyWithChildren, type Lifecycle } from "../computers/index.ts";
import type { Handler, Handlers } from "../domain/handler.ts";
import type { OperationReconciler } from "../domain/ports.ts";
import type { AdmittedChild, AdmittedFork, Children, Forking } from "../snapshots/index.ts";
import { getComputer } from "../store/computers.ts";

type Names = Extract<OperationName, "computer.fork" | "child.create">;

export const forkHandlers = ({
  forking,
  children,
  lifecycle,
}: {
  readonly forking: Forking;
  readonly children: Children;
  readonly lifecycle: Lifecycle;
}): Handlers<Names> => {
  /** What was only taken for it goes as soon as it is made; later the caretaker does that. */
  const made = async (
    { computer }: AdmittedFork,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<ReturnType<typeof computerView>> => {
    try {
      return computerView(await lifecycle.awaitCreated(computer, waitMs, signal));
    } finally {
      void forking.letGo(computer).catch(() => {});
    }
  };
  const fork: Handler<"computer.fork", AdmittedFork> = {
    admit: (transaction, context, params) => forking.admit(transaction, context, params),
    run: async (context, params, admitted) => ({
      output: await made(admitted, params.wait_ms, context.signal),
    }),
    replay: async (context, params, target) => {
      const computer = await lifecycle.get(target);
      const isMade = computer.state !== "creating" && computer.desiredState !== "destroyed";
      return {
        output: isMade
          ? computerView(computer)
          : await made({ target, computer }, params.wait_ms, context.signal),
      };
    },
  };
  const child: Handler<"child.create", AdmittedChild> = {
    sealsOutput: true,
    admit: (transaction, context, params) => children.admit(transaction, context, params),
    run: async (context, params, admitted) => ({
      output: {
        computer: await made(admitted, params.wait_ms, context.signal),
        assistant: admitted.assistantId,
        secret: admitted.secret,
      },
    }),
  };
  return { "computer.fork": fork, "child.create": child };
};

export const forkReconcilers: readonly OperationReconciler[] = [
  {
    operations: ["computer.fork"],
    reconcile: async (transaction, { target }) => {
      const computer = target === null ? undefined : await getComputer(transaction, target);
      return computer && { outcome: "succeeded", output: computerView(computer) };
    },
  },
  {
    // Its key is known to nobody, and a file that broke off is no computer: both are taken back, and the same request makes them anew.
    operations: ["child.create", "snapshot.import"],
    reconcile: async (transaction, { operation, target, startedAtMs }) => {
      const computer = target === null ? undefined : await getComputer(transaction, target);
      if (!computer) return undefined;
      if (operation === "snapshot.import" && !computer.filling)
        return { outcome: "succeeded", output: computerView(computer) };
      await destroyWithChildren(
        transaction,
        computer.id,
        Math.max(startedAtMs, computer.updatedAtMs),
        "asked",
      );
      return { outcome: "failed", error: "unavailable" };
    },
  },
];
