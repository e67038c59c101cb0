import { appendFileSync, readFileSync, truncateSync } from "node:fs";

/**
 * Named places around durable statements and outside effects. When `HOLDFAST_CRASH_POINT` names one (`name` or `name@n` for its n-th
 * visit), the process ends there at once, as if by `kill -9`. `HOLDFAST_CRASH_FILE` names a file into which a test writes the same while the
 * process runs; it is emptied first, so that the process which comes next does not end as well. `HOLDFAST_CRASH_LIST` names a file that
 * collects the names seen. None is set outside tests.
 */
export type CrashPoint = (name: string) => void;

export const createCrashPoint = (environment: Readonly<Record<string, string | undefined>>): CrashPoint => {
  const given = environment["HOLDFAST_CRASH_POINT"];
  const file = environment["HOLDFAST_CRASH_FILE"];
  const list = environment["HOLDFAST_CRASH_LIST"];
  if (!given && !file && !list) return () => {};
  let wanted = "";
  let visits = 0;
  return (name) => {
    if (list) appendFileSync(list, `${name}\n`);
    const now = (file && written(file)) || given || "";
    if (now !== wanted) visits = 0;
    wanted = now;
    const [wantedName, visit = "1"] = wanted.split("@");
    if (name !== wantedName) return;
    visits += 1;
    if (visits !== Number(visit)) return;
    if (file && wanted !== given) truncateSync(file);
    process.kill(process.pid, "SIGKILL");
  };
};

const written = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
};
