import { systemClock } from "@holdfast/kit";
import { call } from "./control.ts";
import { query } from "./query.ts";

export interface KeyLoad {
  /** Names of keys whose creation was acknowledged. */
  readonly acknowledged: ReadonlySet<string>;
  stop(): Promise<void>;
}

/** Clients that create keys without pause, each repeating its request with the same idempotency key until it is acknowledged. */
export const startKeyLoad = (url: string, owner: string, clients: number): KeyLoad => {
  const acknowledged = new Set<string>();
  let number = 0;
  let over = false;
  const createOne = async (name: string): Promise<void> => {
    while (!over) {
      const reply = await call(url, owner, "POST", "/v1/keys", { name }, { "idempotency-key": name }).catch(
        () => undefined,
      );
      if (reply?.status === 201) return void acknowledged.add(name);
      if (reply && ![409, 429, 503].includes(reply.status)) throw new Error(JSON.stringify(reply.body));
      await systemClock.sleep(20);
    }
  };
  const client = async (): Promise<void> => {
    while (!over) {
      number += 1;
      await createOne(`load-${number}`);
    }
  };
  const running = Promise.all(Array.from({ length: clients }, client));
  // Looked at in `stop`; until then a failure must not end the test's process.
  running.catch(() => {});
  return {
    acknowledged,
    stop: async () => {
      over = true;
      await running;
    },
  };
};

/** What is wrong with what the load left behind: nothing lost, nothing twice. */
export const faultsOf = async (databaseUrl: string, load: KeyLoad): Promise<readonly string[]> => {
  const rows = await query(
    databaseUrl,
    "select a.name, count(*)::int as n from keys k join assistants a on a.id = k.assistant_id group by a.name",
  );
  const made = new Map(rows.map((row) => [String(row["name"]), Number(row["n"])]));
  return [
    ...[...load.acknowledged]
      .filter((name) => !made.has(name))
      .map((name) => `${name} was acknowledged and is lost`),
    ...[...made].filter(([, count]) => count !== 1).map(([name, count]) => `${name} was made ${count} times`),
  ];
};
