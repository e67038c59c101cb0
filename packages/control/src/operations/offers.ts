import { HoldfastError, type OperationName } from "@holdfast/contract";
import type { Handler, Handlers } from "../domain/handler.ts";
import type { OperationReconciler } from "../domain/ports.ts";
import {
  type Accepting,
  type AdmittedAcceptance,
  type AdmittedOffer,
  type Offers,
  offerView,
  type Reviewing,
} from "../snapshots/offers/index.ts";
import { getOffer, type OfferRow } from "../store/offers.ts";

type Names = Extract<OperationName, `offer.${string}`>;

export const offerHandlers = (parts: {
  readonly offers: Offers;
  readonly reviewing: Reviewing;
  readonly accepting: Accepting;
  /** Control ends: what was begun goes on until then, also when its caller has gone away. */
  readonly stopping: AbortSignal;
}): Handlers<Names> => {
  const { offers, reviewing, accepting, stopping } = parts;
  const create: Handler<"offer.create", AdmittedOffer> = {
    goesOn: true,
    admit: (transaction, context, params) => offers.admit(transaction, context, params),
    run: (_context, _params, admitted) => offers.make(admitted, stopping),
  };
  const accept: Handler<"offer.accept", AdmittedAcceptance> = {
    goesOn: true,
    admit: (transaction, context, params) => accepting.admit(transaction, context, params),
    run: async (context, _params, admitted) => ({
      output: await accepting.accept(context, admitted, stopping),
    }),
  };
  const reject: Handler<"offer.reject", { readonly target: string; readonly offer: OfferRow }> = {
    admit: (transaction, context, params) => offers.reject(transaction, context, params),
    run: async (_context, _params, admitted) => ({ output: await offers.finishReject(admitted) }),
  };
  return {
    "offer.create": create,
    "offer.accept": accept,
    "offer.reject": reject,
    "offer.list": { run: (context, params) => offers.list(context, params) },
    "offer.diff": { run: (context, params) => reviewing.diff(context, params) },
  };
};

/** What was not offered yet is gone; an acceptance is finished or taken back first. */
export const offerReconciler: OperationReconciler = {
  operations: ["offer.create", "offer.accept"],
  reconcile: async (transaction, { operation, operationId, target }) => {
    const offer = target === null ? undefined : await getOffer(transaction, target);
    const isMine = offer?.operation_id === operationId;
    if (isMine && (offer.state === "making" || offer.state === "accepting" || offer.state === "placing"))
      throw new HoldfastError("unavailable", "the offer is finished or taken back first");
    if (offer && operation === "offer.create") return { outcome: "succeeded", output: offerView(offer) };
    if (isMine && offer.state === "accepted")
      return { outcome: "succeeded", output: { offer: offerView(offer), commit: offer.commit } };
    return { outcome: "failed", error: "unavailable" };
  },
};
