import { connect, type Socket } from "node:net";
import { HoldfastError } from "@holdfast/contract";
import type { Clock } from "../clock.ts";
import { encodeMessage, readMessages } from "./frames.ts";
import { replyMessage, type RpcMethods, type RpcParams, type RpcResult } from "./schema.ts";

const callLimit = 512;

export interface RpcClient<M extends RpcMethods> {
  /** Rejects with the callee's `HoldfastError`, or `unavailable` (not reachable, broke off) or `timed_out` (its outcome is unknown). */
  call<K extends keyof M & string>(
    method: K,
    params: RpcParams<M, K>,
    options?: { readonly timeoutMs?: number },
  ): Promise<RpcResult<M, K>>;
  close(): void;
}

/** One connection, made on first use and again after it broke; calls are multiplexed on it. */
export const createRpcClient = <M extends RpcMethods>(options: {
  readonly path: string;
  readonly methods: M;
  readonly clock: Clock;
  /** For each call that does not give its own. */
  readonly timeoutMs?: number;
}): RpcClient<M> => {
  type Pending = { readonly resolve: (result: unknown) => void; readonly reject: (error: Error) => void };
  let connection: { readonly socket: Socket; readonly pending: Map<number, Pending> } | undefined;
  let lastId = 0;

  const open = (): { readonly socket: Socket; readonly pending: Map<number, Pending> } => {
    const socket = connect({ path: options.path });
    const opened = { socket, pending: new Map<number, Pending>() };
    const broke = (cause?: Error): void => {
      if (connection === opened) connection = undefined;
      const message = `the program behind ${options.path} is not answering`;
      for (const { reject } of opened.pending.values())
        reject(new HoldfastError("unavailable", message, {}, { cause }));
      opened.pending.clear();
    };
    socket.on("error", broke);
    socket.on("close", () => broke());
    readMessages(socket, (message) => {
      const reply = replyMessage.safeParse(message);
      if (!reply.success) return void socket.destroy(new Error("a message that is not a reply"));
      const waiting = opened.pending.get(reply.data.id);
      opened.pending.delete(reply.data.id);
      if (!waiting) return;
      const { error, result } = reply.data;
      if (error) waiting.reject(new HoldfastError(error.code, error.message, error.details ?? {}));
      else waiting.resolve(result);
    });
    return opened;
  };

  return {
    call: async (method, params, callOptions) => {
      const declared = options.methods[method];
      if (!declared) throw new TypeError(`no method ${method}`);
      connection ??= open();
      const { socket, pending } = connection;
      if (pending.size >= callLimit)
        throw new HoldfastError("limit_reached", `more than ${callLimit} calls are waiting`, {
          limit: callLimit,
        });
      lastId += 1;
      const id = lastId;
      const timeoutMs = callOptions?.timeoutMs ?? options.timeoutMs ?? 30_000;
      const result = await new Promise((resolve, reject) => {
        const cancel = options.clock.after(timeoutMs, () => {
          pending.delete(id);
          reject(
            new HoldfastError("timed_out", `${method} did not answer within ${timeoutMs} ms`, {
              timeout_ms: timeoutMs,
            }),
          );
        });
        const settle =
          <T>(next: (value: T) => void) =>
          (value: T) => {
            cancel();
            next(value);
          };
        pending.set(id, { resolve: settle(resolve), reject: settle(reject) });
        socket.write(encodeMessage({ id, method, params }));
      });
      return declared.result.parse(result) as RpcResult<M, typeof method>;
    },
    close: () => {
      connection?.socket.destroy();
      connection = undefined;
    },
  };
};
