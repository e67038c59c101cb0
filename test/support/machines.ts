import type { TestContext } from "node:test";
import { coreModules } from "../../packages/control/src/modules.ts";
import { createMachinesModule } from "../../packages/control/src/operations/machines.ts";
import { call, createKey, enrolOwner, type Reply, startControl, type TestControl } from "./control.ts";
import { startLocalCells } from "./local-cells.ts";
import type { TestPostgres } from "./postgres.ts";

export interface TestMachines {
  readonly control: TestControl;
  readonly cells: Awaited<ReturnType<typeof startLocalCells>>;
  readonly owner: string;
  readonly key: string;
  /** As the assistant. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Reply>;
  exec(computer: string, body: Readonly<Record<string, unknown>>): Promise<Reply>;
}

/** Control with real Postgres and real agents. */
export const startMachines = async (
  context: Pick<TestContext, "after">,
  postgres: TestPostgres,
): Promise<TestMachines> => {
  const cells = await startLocalCells();
  const control = await startControl(context, postgres, {
    supervisorSocket: cells.path,
    modules: (shared) => [
      ...coreModules(shared),
      createMachinesModule({ ...shared, agentSocket: cells.socketOf }),
    ],
  });
  context.after(() => cells.stop());
  const owner = await enrolOwner(control);
  const { secret: key } = await createKey(control, owner, "claude");
  const ask: TestMachines["ask"] = (method, path, body, headers) =>
    call(control.url, key, method, path, body, headers);
  return {
    control,
    cells,
    owner,
    key,
    ask,
    exec: (computer, body) => ask("POST", `/v1/computers/${computer}/exec`, body),
  };
};
