import { HoldfastError, type OperationParams } from "@holdfast/contract";
import { networkOf } from "@holdfast/kit";
import type { OperationContext } from "../domain/handler.ts";
import type { Strangers } from "../domain/strangers.ts";
import { sha256 } from "../lib/digest.ts";
import { getSchedule, lockSchedule, type ScheduleRow } from "../store/schedules.ts";
import type { Transaction } from "../store/transaction.ts";
import type { AdmittedRun, Runs } from "./runs.ts";

export interface FireParts {
  readonly runs: Runs;
  /** Knows those who come with keys that are none. */
  readonly strangers: Strangers;
}

/** `hfe_` and 256 random bits; nothing else is looked up. */
const keyForm = /^hfe_[A-Za-z0-9_-]{43}$/;

/**
 * Starts a run for whoever has the schedule's key. A wrong key and a schedule that is not there are answered alike, and counted as unknown
 * credentials are: by the network they came from.
 */
export const fire = async (
  { runs, strangers }: FireParts,
  transaction: Transaction,
  { source }: OperationContext,
  params: OperationParams<"schedule.fire">,
): Promise<AdmittedRun> => {
  const key = params.key ?? "";
  if (!keyForm.test(key)) throw refused();
  const hash = sha256(key);
  const name = `${params.schedule} ${hash.toString("base64")}`;
  // On the connection that the admission has already: a crowd of strangers takes no second one each.
  const schedule = await strangers.meet(name, networkOf(source.address), () =>
    find(transaction, params.schedule, hash),
  );
  if (!schedule) throw refused();
  return runs.byEvent(transaction, schedule, params.payload);
};

/** Locked only for who has the key: others hold nothing up. */
const find = async (transaction: Transaction, id: string, hash: Buffer): Promise<ScheduleRow | undefined> => {
  const isKey = (row: ScheduleRow | undefined): boolean =>
    row !== undefined && row.state !== "deleted" && row.event_key_hash?.equals(hash) === true;
  if (!isKey(await getSchedule(transaction, id))) return undefined;
  const row = await lockSchedule(transaction, id);
  return isKey(row) ? row : undefined;
};

const refused = (): HoldfastError =>
  new HoldfastError(
    "unauthenticated",
    "there is no such schedule that is started by events, or this is not its key",
  );
