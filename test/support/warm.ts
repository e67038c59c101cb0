import { spawnSync } from "node:child_process";
import type { Instance } from "./instance.ts";
import { hangMs, until } from "./until.ts";

/** One statement as control's user of the host, on the instance's own database; values by `|`, a row a line. */
export const sqlOf =
  ({ name }: Pick<Instance, "name">) =>
  (text: string): string => {
    const connection = `host=/run/holdfast/${name}/postgres dbname=holdfast user=hf_control`;
    const user = ["--reuid=hf-control", "--regid=hf-control", "--clear-groups"];
    const ran = spawnSync("setpriv", [...user, "psql", "-XAt", "-c", text, connection], {
      encoding: "utf8",
      cwd: "/",
    });
    if (ran.status !== 0) throw new Error(`${text}: ${ran.stderr}`);
    return ran.stdout.trim();
  };

/** Waits until so many blank computers of the smallest size, and half as many of the next, are started and wait for somebody. */
export const untilWarm = async (instance: Pick<Instance, "name">, count: number): Promise<void> => {
  const sql = sqlOf(instance);
  const all = count + Math.floor(count / 2);
  await until(
    `${all} computers are warm`,
    () => Number(sql("select count(*) from warm_cells where state = 'ready'")) >= all,
    { withinMs: 4 * hangMs, detail: () => sql("select state, count(*) from warm_cells group by state") },
  );
};
