import { plainText } from "../host/plain-text.ts";
import { readRecord, runningProgram } from "./record.ts";
import { recordPath } from "./keeper.ts";
import type { ProgramPlan } from "./plan.ts";

export interface ProgramStatus {
  readonly name: string;
  readonly pid: number | null;
  readonly keeper_pid: number | null;
  readonly running: boolean;
  readonly ready: boolean;
  readonly detail: string;
}

/** Asks one program how it is. Never throws: what goes wrong is the detail. */
export const readProgramStatus = async (
  plan: Pick<ProgramPlan, "name" | "health">,
  places: { readonly records: string },
): Promise<ProgramStatus> => {
  const record = await readRecord(recordPath(places, plan.name));
  const running = runningProgram(record);
  if (!running || !record) {
    const ended = record?.ended;
    const how = ended
      ? `ended (${ended.signal === null ? `exit status ${ended.code}` : `signal ${ended.signal}`})`
      : "not running";
    return { name: plan.name, pid: null, keeper_pid: null, running: false, ready: false, detail: how };
  }
  const base = { name: plan.name, pid: running.pid, keeper_pid: record.keeper.pid, running: true };
  try {
    const problem = await plan.health();
    return { ...base, ready: problem === undefined, detail: plainText(problem ?? "") };
  } catch (error) {
    return {
      ...base,
      ready: false,
      detail: plainText(error instanceof Error ? error.message : String(error)),
    };
  }
};
