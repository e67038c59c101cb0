import {
  type ComputerSize,
  computerSizeNames,
  computerSizes,
  HoldfastError,
  limits,
} from "@holdfast/contract";
import type { CeilingCheck } from "../domain/ceilings.ts";
import type { Computer } from "../domain/computer.ts";
import type { Ceilings, Principal } from "../domain/principal.ts";
import {
  countComputers,
  heldCeilings,
  lockAccount,
  lockAndCountComputers,
  lockAssistant,
} from "../store/principals.ts";
import { diskOf } from "../store/lifecycle.ts";
import { countSnapshotsOf } from "../store/snapshots.ts";
import type { Transaction } from "../store/transaction.ts";

export const ceilingCheck: CeilingCheck = {
  createComputer: async (transaction, principal, wanted) => {
    ceilingCheck.changeComputer(principal, wanted);
    await refuseComputer(transaction, principal, wanted.size);
  },
  copyComputer: async (transaction, of, nowMs) => {
    const id = of.principalId;
    const ceilings = await heldCeilings(transaction, id, nowMs);
    await refuseComputer(transaction, { id, accountId: of.accountId, ceilings }, of.size);
  },
  growComputer: async (transaction, principal, computer, size) => {
    if (principal.ceilings === null) return;
    const [, disk] = await Promise.all([
      lockAssistant(transaction, principal.id),
      diskOf(transaction, principal.id, computer.id),
    ]);
    refuseDisk(principal.ceilings.disk_bytes, disk, size);
  },
  changeComputer: (principal, wanted) => {
    const ceilings = principal.ceilings;
    if (ceilings === null) return;
    if (wanted.name !== undefined && !wanted.name.startsWith(ceilings.name_prefix))
      throw reached(principal, "name_prefix", ceilings.name_prefix, wanted.name);
    if (wanted.size !== undefined && rank(wanted.size) > rank(ceilings.largest_size))
      throw reached(principal, "largest_size", ceilings.largest_size, wanted.size);
  },
  takeSnapshot: async (transaction, principal, computer, nowMs) => {
    await refuseSnapshot(transaction, principal);
    // An owner is above those whose computer it is.
    if (principal.ceilings !== null) await refuseSnapshotOf(transaction, computer, nowMs, principal.id);
  },
  keepSnapshot: async (transaction, computer, nowMs) =>
    refuseSnapshotOf(transaction, computer, nowMs, undefined),
};

type Counted = Pick<Principal, "id" | "accountId" | "ceilings">;

const refuseComputer = async (
  transaction: Transaction,
  { id, accountId, ceilings }: Counted,
  size: ComputerSize,
): Promise<void> => {
  if (ceilings === null) {
    // Owners have no ceiling of their own; the account's limit holds for each.
    await lockAccount(transaction, accountId);
    return refuseOver(limits.computersPerAccount, await countComputers(transaction, id));
  }
  // Counted after the lock is held: statements of one transaction go in order.
  const [count, disk] = await Promise.all([
    lockAndCountComputers(transaction, id),
    diskOf(transaction, id, null),
  ]);
  refuseOver(ceilings.computers, count);
  refuseDisk(ceilings.disk_bytes, disk, size);
};

const refuseSnapshot = async (
  transaction: Transaction,
  { id, accountId, ceilings }: Counted,
): Promise<void> => {
  if (ceilings === null) await lockAccount(transaction, accountId);
  else await lockAssistant(transaction, id);
  const most = ceilings?.snapshots ?? limits.snapshotsPerAccount;
  const now = await countSnapshotsOf(transaction, ceilings === null ? { accountId } : { principalId: id });
  if (now < most) return;
  throw new HoldfastError("ceiling_reached", `there are ${now} snapshots and the ceiling is ${most}`, {
    ceiling: "snapshots",
    limit: most,
    value: now,
  });
};

/** For whose the computer is, then for whose its parent is; but for `checked`, whose own word it is. */
const refuseSnapshotOf = async (
  transaction: Transaction,
  { principalId, delegatorId, accountId }: Computer,
  nowMs: number,
  checked: string | undefined,
): Promise<void> => {
  for (const id of [principalId, delegatorId]) {
    // Whose the parent is has its own ceiling for all of it; the helper's is for what the helper asks for.
    if (id === null || checked === id || (id === principalId && checked === delegatorId)) continue;
    const ceilings: Ceilings | null = await heldCeilings(transaction, id, nowMs);
    await refuseSnapshot(transaction, { id, accountId, ceilings });
  }
};

const rank = (size: (typeof computerSizeNames)[number]): number => computerSizeNames.indexOf(size);

const refuseOver = (most: number, now: number): void => {
  if (now < most) return;
  throw new HoldfastError("ceiling_reached", `there are ${now} computers and the ceiling is ${most}`, {
    ceiling: "computers",
    limit: most,
    value: now,
  });
};

const refuseDisk = (mostBytes: number, nowBytes: number, size: ComputerSize): void => {
  const bytes = computerSizes[size].disk_bytes;
  if (nowBytes + bytes <= mostBytes) return;
  throw new HoldfastError(
    "ceiling_reached",
    `its computers may have ${mostBytes} bytes of disk together; there are ${nowBytes}, and this one has ${bytes}`,
    { ceiling: "disk_bytes", limit: mostBytes, value: nowBytes + bytes },
  );
};

const reached = (principal: Principal, ceiling: string, limit: string, value: string): HoldfastError =>
  new HoldfastError(
    "ceiling_reached",
    `the key of ${principal.name} allows ${ceiling} ${JSON.stringify(limit)}, not ${JSON.stringify(value)}`,
    { ceiling, limit, value },
  );
