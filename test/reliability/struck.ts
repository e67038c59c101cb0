import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { call, type Reply } from "../support/control.ts";
import type { Assistant, Instance } from "../support/instance.ts";
import { hangMs, until, untilValue } from "../support/until.ts";

/** An assistant's requests to a control that is killed at named points. */
export interface Struck {
  ask(method: string, path: string, body?: unknown, key?: string): Promise<Reply>;
  /** Does `work` on a control that dies at `point`, then waits for the next one. Fails when the point was not reached. */
  killedAt(point: string, work: () => Promise<Reply>): Promise<void>;
  /** The same request with the same key, until the first one's fate is known. */
  repeat(path: string, body: unknown, key: string): Promise<Reply>;
}

/** After so many ends one after another a launcher makes each next one wait for 5 s. */
const endsAtOnce = 10;

/** `file`: where control looks for the point at which it is to die. */
export const struck = (instance: Instance, assistant: Assistant, file: string): Struck => {
  const ask: Struck["ask"] = (method, path, body, key) =>
    call(
      instance.url,
      assistant.secret,
      method,
      path,
      body,
      key === undefined ? {} : { "idempotency-key": `"${key}"` },
    );
  const serves = (): Promise<boolean> =>
    fetch(`${instance.url}/healthz`).then(
      async (answer) => ((await answer.json()) as { ready: boolean }).ready,
      () => false,
    );
  let kills = 0;
  /** Another launcher, which has seen none of these ends; no program goes with the one before it. */
  const freshLauncher = async (): Promise<void> => {
    const pid = (await instance.programs())["launcher"]?.pid;
    if (typeof pid === "number") process.kill(pid, "SIGKILL");
    await instance.up();
  };
  return {
    ask,
    killedAt: async (point, work) => {
      if (kills > 0 && kills % endsAtOnce === 0) await freshLauncher();
      kills += 1;
      await writeFile(file, point);
      const reply = await work().catch(() => undefined);
      // The point is taken out by the program that dies there.
      await until(`control died at ${point}`, async () => (await readFile(file, "utf8")) === "", {
        detail: () => JSON.stringify(reply?.body),
      });
      await until("the next control serves", serves, { withinMs: hangMs });
    },
    repeat: (path, body, key) =>
      untilValue(
        "the repeated request is answered",
        async () => {
          const reply = await ask("POST", path, body, key);
          return reply.body["code"] === "operation_running" || reply.status === 503 ? undefined : reply;
        },
        hangMs,
      ),
  };
};
