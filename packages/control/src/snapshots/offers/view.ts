import { HoldfastError, type OperationOutput } from "@holdfast/contract";
import type { Computer } from "../../domain/computer.ts";
import type { NewEvent } from "../../domain/events.ts";
import { timestamp, timestampOrNull } from "../../lib/timestamp.ts";
import type { OfferRow } from "../../store/offers.ts";

export type OfferView = OperationOutput<"offer.create">;

export const offerView = (row: OfferRow): OfferView => ({
  id: row.id,
  child: row.child_id,
  parent: row.parent_id,
  note: row.note,
  paths: [...row.paths],
  state:
    row.state === "accepted" || row.state === "rejected" || row.state === "withdrawn" ? row.state : "open",
  entries: row.entries,
  bytes: row.bytes,
  digest: row.digest,
  made_by: row.made_by,
  made_at: timestamp(row.made_at_ms),
  decided_by: row.decided_at_ms === null ? null : row.decided_by,
  decided_at: timestampOrNull(row.decided_at_ms),
});

/** `kind` is the second word: `made` tells `offer.made`. Whose the parent is sees it. */
export const offerEvent = (
  parent: Pick<Computer, "accountId" | "principalId">,
  row: Pick<OfferRow, "id" | "parent_id" | "child_id" | "note">,
  kind: string,
  data: NewEvent["data"] = {},
): NewEvent => ({
  accountId: parent.accountId,
  kind: `offer.${kind}`,
  target: row.id,
  computerId: row.parent_id,
  visibleTo: parent.principalId,
  data: { child: row.child_id, note: row.note.slice(0, shownNote), ...data },
});

const shownNote = 200;

/** Also for what the principal may not see. */
export const noOffer = (id: string): HoldfastError =>
  new HoldfastError("not_found", `there is no offer ${id}`, { offer: id });

/** Throws `wrong_state` for one that is decided, or just being. */
export const refuseDecided = (row: OfferRow): OfferRow => {
  if (row.state === "open") return row;
  const state = row.state === "accepting" || row.state === "placing" ? "being accepted" : row.state;
  throw new HoldfastError("wrong_state", `the offer is ${state}`, { state: row.state });
};
