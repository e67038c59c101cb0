import { HoldfastError, type Operation } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import { authorize } from "../authority/authorize.ts";
import type { Authority, Standing } from "../authority/identify.ts";
import type { Principal } from "../domain/principal.ts";

/** How often the credentials of calls under way are looked at again, should the notification of an end be lost. */
const recheckMs = 500;

export interface Follow {
  readonly principal: Principal;
  readonly operation: Operation;
  /** The call is aborted with the reason of the first that aborts. */
  readonly signals: readonly AbortSignal[];
  /** Called when the credential ends, or allows the operation no more, while the call is under way. The call is aborted as well. */
  readonly ended: (error: HoldfastError) => void;
}

export interface Following {
  /** `end` lets go of everything. */
  follow(call: Follow): { readonly signal: AbortSignal; end(): void };
  stop(): void;
}

interface Call extends Follow {
  readonly controller: AbortController;
}

/** Whoever waits for an answer may be refused it by then: every call under way is ended soon after its key or session is. */
export const createFollowing = (parts: {
  readonly authority: Authority;
  readonly clock: Clock;
  readonly logger: Logger;
}): Following => {
  const open = new Map<string, Set<Call>>();
  let looking = false;
  let again = false;
  let failing = false;
  let cancel: (() => void) | undefined;

  const compare = async (): Promise<void> => {
    const asked = [...open.keys()];
    const standing = await parts.authority.standing(asked);
    for (const credentialId of asked)
      for (const call of open.get(credentialId) ?? []) {
        const refusal = refusalOf(call, standing.get(credentialId));
        if (!refusal) continue;
        call.ended(refusal);
        call.controller.abort(refusal);
      }
  };
  const look = async (): Promise<void> => {
    if (looking) {
      again = true;
      return;
    }
    looking = true;
    do {
      again = false;
      await compare().then(
        () => {
          failing = false;
        },
        (error: unknown) => {
          // Once: twice a second it would push all else out of the log while the database is away.
          if (!failing) parts.logger.warn("credentials of calls under way were not looked at", { error });
          failing = true;
        },
      );
    } while (again && open.size > 0);
    looking = false;
    schedule();
  };
  const schedule = (): void => {
    if (open.size === 0 || looking) return;
    cancel ??= parts.clock.after(recheckMs, () => {
      cancel = undefined;
      if (open.size > 0) void look();
    });
  };
  parts.authority.onChange(() => {
    if (open.size > 0) void look();
  });

  return {
    follow: (given) => {
      const controller = new AbortController();
      const call: Call = { ...given, controller };
      const listeners = given.signals.map((signal) => {
        const abort = () => controller.abort(signal.reason);
        if (signal.aborted) abort();
        else signal.addEventListener("abort", abort, { once: true });
        return () => signal.removeEventListener("abort", abort);
      });
      const { credentialId, kind } = given.principal;
      if (kind !== "anonymous") {
        const same = open.get(credentialId) ?? new Set();
        open.set(credentialId, same.add(call));
        schedule();
      }
      return {
        signal: controller.signal,
        end: () => {
          for (const remove of listeners) remove();
          const same = open.get(credentialId);
          same?.delete(call);
          if (same?.size === 0) open.delete(credentialId);
        },
      };
    },
    stop: () => cancel?.(),
  };
};

const refusalOf = (call: Call, standing: Standing | undefined): HoldfastError | undefined => {
  if (!standing) return new HoldfastError("unauthenticated", "the key or session ended meanwhile");
  try {
    // An owner's word that grows old during a call was fresh when it was asked for: only ceilings are compared.
    const principal = { ...call.principal, ...standing };
    authorize(principal, { ...call.operation, confirm: false }, 0);
    return undefined;
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
};
