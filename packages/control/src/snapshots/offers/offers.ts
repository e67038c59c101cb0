import {
  HoldfastError,
  idPattern,
  limits,
  type OperationOutput,
  type OperationParams,
} from "@holdfast/contract";
import type { Clock, CrashPoint, NewId } from "@holdfast/kit";
import { findComputer } from "../../computers/index.ts";
import type { Computer, Computers } from "../../domain/computer.ts";
import type { EventLog } from "../../domain/events.ts";
import type { OperationContext } from "../../domain/handler.ts";
import type { Principal } from "../../domain/principal.ts";
import type { Trees } from "../../domain/trees.ts";
import { decodeCursor, pageOf } from "../../lib/cursor.ts";
import { getComputer } from "../../store/computers.ts";
import {
  changeOffer,
  countOpenOffers,
  findVisibleOffer,
  forgetOffer,
  getOffer,
  insertOffer,
  listOffers,
  lockOffer,
  type OfferRow,
} from "../../store/offers.ts";
import type { SnapshotRow } from "../../store/snapshots.ts";
import type { Database, Store, Transaction } from "../../store/transaction.ts";
import { refuseWithoutVolume, type Snapshots } from "../snapshots.ts";
import { digestOf, plainPaths } from "./paths.ts";
import { noOffer, offerEvent, type OfferView, offerView, refuseDecided } from "./view.ts";

export interface OffersParts {
  readonly store: Store;
  readonly snapshots: Snapshots;
  readonly computers: Computers;
  readonly trees: Pick<Trees, "look">;
  readonly events: EventLog;
  readonly ids: NewId;
  readonly clock: Clock;
  readonly crashPoint: CrashPoint;
}

export interface AdmittedOffer {
  readonly target: string;
  readonly offerId: string;
  readonly child: Computer;
  readonly snapshot: SnapshotRow;
  readonly paths: readonly string[];
}

/**
 * What children hand back. An offer is a snapshot of the child and a manifest of the chosen paths in it, with a digest of all of that: what the child does
 * afterwards changes nothing of it, and what is accepted is what that digest says.
 */
export class Offers {
  readonly #parts: OffersParts;

  constructor(parts: OffersParts) {
    this.#parts = parts;
  }

  async admit(
    transaction: Transaction,
    { principal, operationId }: OperationContext,
    params: OperationParams<"offer.create">,
  ): Promise<AdmittedOffer> {
    const { snapshots, ids, clock } = this.#parts;
    const paths = plainPaths(params.paths);
    const child = refuseWithoutVolume(
      await findComputer(transaction, principal, params.computer, { lock: true }),
    );
    if (child.parentId === null)
      throw new HoldfastError("wrong_state", `${child.name} is no child: it has nobody to offer to`, {
        state: "no_child",
      });
    const open = await countOpenOffers(transaction, child.id);
    if (open >= limits.offersPerComputer)
      throw new HoldfastError("limit_reached", `${child.name} has ${open} offers that are not decided`, {
        limit: limits.offersPerComputer,
        counts: "offers",
      });
    const by = { principalId: principal.id, operationId };
    const snapshot = await snapshots.write(transaction, child, { kind: "passing", ...by });
    const offerId = ids("offer");
    await insertOffer(transaction, {
      id: offerId,
      accountId: child.accountId,
      childId: child.id,
      parentId: child.parentId,
      snapshotId: snapshot.id,
      note: params.note,
      paths,
      operationId,
      madeBy: principal.id,
      nowMs: clock.now(),
    });
    return { target: offerId, offerId, child, snapshot, paths };
  }

  /** Has the snapshot taken and listed. What fails leaves nothing. */
  async make(
    { offerId, child, snapshot, paths }: AdmittedOffer,
    signal: AbortSignal,
  ): Promise<{ readonly output: OfferView; readonly settle: (transaction: Transaction) => Promise<void> }> {
    const { store, snapshots, trees, events, crashPoint } = this.#parts;
    try {
      const { keep } = await snapshots.take({ computer: child, row: snapshot }, signal);
      await store.transaction(keep);
      crashPoint("offer-taken");
      const { entries, bytes } = await trees.look(
        { a: { snapshotId: snapshot.id } },
        (view) => view.manifest("a", paths),
        signal,
      );
      const listed = { manifest: entries, entries: entries.length, bytes, digest: digestOf(entries) };
      const row = await this.get(store.db, offerId);
      const parent = await getComputer(store.db, row.parent_id);
      return {
        output: offerView({ ...row, ...listed, state: "open" }),
        settle: async (transaction) => {
          const made = await changeOffer(transaction, offerId, ["making"], { state: "open", ...listed });
          if (!made || !parent) throw noOffer(offerId);
          const data = { entries: listed.entries, bytes, digest: listed.digest, by: row.made_by };
          await events.append(transaction, offerEvent(parent, made, "made", data));
        },
      };
    } catch (error) {
      await forgetOffer(store.db, offerId);
      await snapshots.discard(snapshot.id);
      throw error;
    }
  }

  async list(
    { principal }: OperationContext,
    params: OperationParams<"offer.list">,
  ): Promise<{ readonly target: string; readonly output: OperationOutput<"offer.list"> }> {
    const { computers, store } = this.#parts;
    const computer = await computers.find(principal, params.computer, { destroyed: true });
    const before = decodeCursor(params.cursor, idPattern("offer"));
    const page = pageOf(
      await listOffers(store.db, computer.id, before, params.limit + 1),
      params.limit,
      ({ id }) => id,
    );
    return {
      target: computer.id,
      output: { offers: page.rows.map(offerView), next_cursor: page.nextCursor },
    };
  }

  /** By who decides about the parent it is rejected; by who only has the child it is withdrawn. */
  async reject(
    transaction: Transaction,
    { principal }: OperationContext,
    { offer: id, note }: OperationParams<"offer.reject">,
  ): Promise<{ readonly target: string; readonly offer: OfferRow; readonly was: OfferRow }> {
    const { clock, events } = this.#parts;
    const was = await this.lock(transaction, principal, id);
    const mayDecide = (await this.parentOf(transaction, principal, was)) !== undefined;
    const state = mayDecide ? ("rejected" as const) : ("withdrawn" as const);
    if (was.state === state) return { target: id, offer: was, was };
    refuseDecided(was);
    const offer = await changeOffer(transaction, id, ["open"], {
      state,
      manifest: null,
      decidedBy: principal.id,
      decidedAtMs: clock.now(),
      decidedNote: note,
    });
    const parent = await getComputer(transaction, was.parent_id);
    if (!offer || !parent) throw noOffer(id);
    const told = { by: principal.id, ...(note === "" ? {} : { why: note }) };
    await events.append(transaction, offerEvent(parent, offer, state, told));
    return { target: id, offer, was };
  }

  /** After `reject`: nobody needs what was frozen. */
  async finishReject({ offer }: { readonly offer: OfferRow }): Promise<OfferView> {
    await this.#parts.snapshots.discard(offer.snapshot_id);
    return offerView(offer);
  }

  /** Throws `not_found`, also for what the principal may not see. */
  async find(db: Database | Transaction, principal: Principal, id: string): Promise<OfferRow> {
    const row = await findVisibleOffer(db, principal, id);
    if (!row) throw noOffer(id);
    return row;
  }

  async lock(transaction: Transaction, principal: Principal, id: string): Promise<OfferRow> {
    await this.find(transaction, principal, id);
    const row = await lockOffer(transaction, id);
    if (!row) throw noOffer(id);
    return row;
  }

  async get(db: Database | Transaction, id: string): Promise<OfferRow> {
    const row = await getOffer(db, id);
    if (!row) throw noOffer(id);
    return row;
  }

  /** The parent, where it is the principal's to decide about. The helper of the child has the child alone. */
  parentOf(db: Database | Transaction, principal: Principal, row: OfferRow): Promise<Computer | undefined> {
    return findComputer(db, principal, row.parent_id).catch((error: unknown) => {
      if (error instanceof HoldfastError && error.code === "not_found") return undefined;
      throw error;
    });
  }
}
