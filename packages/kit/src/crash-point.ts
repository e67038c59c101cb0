import { appendFileSync } from "node:fs";

/**
 * Named places around durable statements and outside effects. When `HOLDFAST_CRASH_POINT` names one (`name` or `name@n` for its n-th
 * visit), the process ends there at once, as if by `kill -9`. `HOLDFAST_CRASH_LIST` names a file that collects the names seen. Neither
 * is set outside tests.
 */
export type CrashPoint = (name: string) => void;

export const createCrashPoint = (environment: Readonly<Record<string, string | undefined>>): CrashPoint => {
  const wanted = environment["HOLDFAST_CRASH_POINT"];
  const list = environment["HOLDFAST_CRASH_LIST"];
  if (!wanted && !list) return () => {};
  const [wantedName, visit = "1"] = (wanted ?? "").split("@");
  let visits = 0;
  return (name) => {
    if (list) appendFileSync(list, `${name}\n`);
    if (name !== wantedName) return;
    visits += 1;
    if (visits === Number(visit)) process.kill(process.pid, "SIGKILL");
  };
};
