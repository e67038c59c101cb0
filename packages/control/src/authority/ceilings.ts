import {
  type ComputerSize,
  computerSizeNames,
  computerSizes,
  HoldfastError,
  limits,
} from "@holdfast/contract";
import type { CeilingCheck } from "../domain/ceilings.ts";
import type { Principal } from "../domain/principal.ts";
import { countComputers, lockAccount, lockAndCountComputers, lockAssistant } from "../store/principals.ts";
import { diskOf } from "../store/lifecycle.ts";
import { countSnapshotsOf } from "../store/snapshots.ts";

export const ceilingCheck: CeilingCheck = {
  createComputer: async (transaction, principal, wanted) => {
    ceilingCheck.changeComputer(principal, wanted);
    if (principal.ceilings === null) {
      // Owners have no ceiling of their own; the account's limit holds for each.
      await lockAccount(transaction, principal.accountId);
      return refuseOver(limits.computersPerAccount, await countComputers(transaction, principal.id));
    }
    const { computers, disk_bytes: diskBytes } = principal.ceilings;
    // Counted after the lock is held: statements of one transaction go in order.
    const [count, disk] = await Promise.all([
      lockAndCountComputers(transaction, principal.id),
      diskOf(transaction, principal.id, null),
    ]);
    refuseOver(computers, count);
    refuseDisk(diskBytes, disk, wanted.size);
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
  takeSnapshot: async (transaction, principal) => {
    if (principal.ceilings === null) await lockAccount(transaction, principal.accountId);
    else await lockAssistant(transaction, principal.id);
    const most = principal.ceilings?.snapshots ?? limits.snapshotsPerAccount;
    const now = await countSnapshotsOf(
      transaction,
      principal.ceilings === null ? { accountId: principal.accountId } : { principalId: principal.id },
    );
    if (now >= most)
      throw new HoldfastError("ceiling_reached", `there are ${now} snapshots and the ceiling is ${most}`, {
        ceiling: "snapshots",
        limit: most,
        value: now,
      });
  },
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
