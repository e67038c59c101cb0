import {
  type Consequence,
  computerSizeNames,
  computerSizes,
  consequences,
  HoldfastError,
  limits,
  type OperationParams,
} from "@holdfast/contract";
import type { NewToken } from "../authority/tokens.ts";
import { admitComputer } from "../computers/admission.ts";
import { findComputer, refuseSmaller } from "../computers/index.ts";
import type { Computer } from "../domain/computer.ts";
import type { OperationContext } from "../domain/handler.ts";
import type { Ceilings, Principal } from "../domain/principal.ts";
import { countChildren, isNameSeen } from "../store/children.ts";
import { countActiveKeys, insertHelper, insertKey, lockAccount } from "../store/principals.ts";
import type { Transaction } from "../store/transaction.ts";
import type { Forking, ForkingParts } from "./forks.ts";

export interface ChildrenParts extends ForkingParts {
  readonly forking: Forking;
  readonly newToken: NewToken;
}

export interface AdmittedChild {
  readonly target: string;
  readonly computer: Computer;
  readonly assistantId: string;
  /** The helper's key: here and in the reply, and nowhere else. */
  readonly secret: string;
}

/** A child's own key may take this many snapshots of it. */
const snapshots = 20;

/**
 * Forks that are bound to a parent, each with an assistant of its own: it owns the child and nothing else, and its key ends with the child,
 * with the key it was given out under, and when that one would. All is written at admission.
 */
export class Children {
  readonly #parts: ChildrenParts;

  constructor(parts: ChildrenParts) {
    this.#parts = parts;
  }

  async admit(
    transaction: Transaction,
    context: OperationContext,
    params: OperationParams<"child.create">,
  ): Promise<AdmittedChild> {
    const { principal, operationId } = context;
    const { forking, ids, clock, newToken } = this.#parts;
    const parent = await findComputer(transaction, principal, params.computer, { lock: true });
    const size = params.size ?? parent.size;
    await this.#refuse(transaction, parent, params.name, size);
    await refuseSmaller(this.#parts.supervisor, parent, size);
    const consequence = consequenceOf(principal, params.consequence);
    const nowMs = clock.now();
    // The account's row before the assistant's, as where owners make keys.
    await this.#refuseKeys(transaction, parent.accountId, nowMs);
    const id = ids("computer");
    const assistantId = ids("assistant");
    const origin = await forking.origin(transaction, context, parent, params.snapshot);
    const computer = await forking.write(transaction, operationId, parent, origin, (copied) =>
      admitComputer(this.#parts, transaction, {
        ...copied,
        principal,
        principalId: assistantId,
        id,
        name: params.name,
        description: "",
        size,
        lifetimeMs: params.lifetime_ms,
        parentId: parent.id,
        delegatorId: parent.principalId,
      }),
    );
    await insertHelper(transaction, {
      id: assistantId,
      accountId: parent.accountId,
      // Unique by its end.
      name: `${params.name.slice(0, limits.nameLength - 21)}-${id.slice(-20)}`,
      childId: id,
      nowMs,
    });
    const { token, hash } = newToken("hf_");
    await insertKey(
      transaction,
      {
        id: ids("key"),
        accountId: parent.accountId,
        tokenHash: hash,
        ceilings: narrowed(principal.ceilings, size, consequence),
        createdBy: principal.id,
        createdAtMs: nowMs,
        expiresAtMs: earlier(
          computer.expiresAtMs,
          principal.kind === "assistant" ? principal.expiresAtMs : null,
        ),
        delegatedBy: principal.kind === "assistant" ? principal.credentialId : null,
      },
      assistantId,
    );
    return { target: id, computer, assistantId, secret: token };
  }

  async #refuse(
    transaction: Transaction,
    parent: Computer,
    name: string,
    size: Computer["size"],
  ): Promise<void> {
    if (parent.parentId !== null)
      throw new HoldfastError("wrong_state", `${parent.name} is a child itself, and children have none`, {
        state: "child",
      });
    const there = await countChildren(transaction, parent.id);
    if (there >= limits.childrenPerComputer)
      throw new HoldfastError("limit_reached", `${parent.name} has ${there} children`, {
        limit: limits.childrenPerComputer,
        counts: "children",
      });
    if (computerSizeNames.indexOf(size) > computerSizeNames.indexOf(parent.size))
      throw new HoldfastError(
        "ceiling_reached",
        `a child is at most as large as its parent: ${parent.size}`,
        {
          ceiling: "largest_size",
          limit: parent.size,
          value: size,
        },
      );
    // Whose the parent is finds both by name.
    if (await isNameSeen(transaction, parent.principalId, name))
      throw new HoldfastError("name_taken", `there is a computer called ${name} already`, { name });
  }

  async #refuseKeys(transaction: Transaction, accountId: string, nowMs: number): Promise<void> {
    await lockAccount(transaction, accountId);
    if ((await countActiveKeys(transaction, accountId, nowMs)) < limits.keysPerAccount) return;
    throw new HoldfastError("limit_reached", "the account has as many keys as it may", {
      limit: limits.keysPerAccount,
      counts: "keys",
    });
  }
}

/** At most the caller's own; `modify` unless asked for otherwise. Throws `ceiling_reached`. */
const consequenceOf = ({ ceilings }: Principal, asked: Consequence | undefined): Consequence => {
  const rank = (one: Consequence): number => consequences.indexOf(one);
  const most = ceilings?.consequence ?? "administer";
  const wanted = asked ?? (rank(most) < rank("modify") ? most : "modify");
  if (rank(wanted) <= rank(most)) return wanted;
  throw new HoldfastError("ceiling_reached", `your key goes up to ${most}, a helper's not further`, {
    ceiling: "consequence",
    limit: most,
    value: wanted,
  });
};

/** Nothing but its child, at the child's size. */
const narrowed = (own: Ceilings | null, size: Computer["size"], consequence: Consequence): Ceilings => ({
  computers: 0,
  name_prefix: own?.name_prefix ?? "",
  disk_bytes: computerSizes[size].disk_bytes,
  snapshots: Math.min(own?.snapshots ?? snapshots, snapshots),
  largest_size: size,
  consequence,
});

const earlier = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);
