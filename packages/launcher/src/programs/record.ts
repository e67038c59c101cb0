import { readFile } from "node:fs/promises";
import { z } from "zod";
import { isAlive, type ProcessIdentity } from "../host/process.ts";

const identity = z.object({ pid: z.number().int(), start_time: z.number().int() });

const programRecord = z.object({
  keeper: identity,
  program: identity,
  label: z.string(),
  ended: z.object({ code: z.number().nullable(), signal: z.number().nullable() }).nullable(),
});

/** What a keeper writes about its program; see `native/agent/src/host/program/record.rs`. */
export type ProgramRecord = z.output<typeof programRecord>;

/** Undefined when there is none, or when it is being written. */
export const readRecord = async (path: string): Promise<ProgramRecord | undefined> => {
  const text = await readFile(path, "utf8").catch(() => "");
  if (!text.endsWith("\n")) return undefined;
  try {
    return programRecord.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
};

/** The program of the record if it runs. A program without its keeper is about to end. */
export const runningProgram = (record: ProgramRecord | undefined): ProcessIdentity | undefined =>
  record && isAlive(record.keeper) && isAlive(record.program) ? record.program : undefined;
