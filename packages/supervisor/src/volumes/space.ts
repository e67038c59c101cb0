import { statfs } from "node:fs/promises";

export interface PoolSpace {
  readonly totalBytes: number;
  readonly usedBytes: number;
  readonly growthRefused: boolean;
}

/** New volumes and larger sizes are refused above this part of the pool; deleting needs room for itself. */
const growthShare = 0.9;

export const readSpace = async (pool: string): Promise<PoolSpace> => {
  const facts = await statfs(pool);
  const totalBytes = facts.blocks * facts.bsize;
  const usedBytes = totalBytes - facts.bavail * facts.bsize;
  return { totalBytes, usedBytes, growthRefused: usedBytes >= totalBytes * growthShare };
};

/**
 * What all volumes together may hold. Quotas of single volumes may sum up to more than the pool; this one, on the group above them,
 * stops their growth before the pool is full, so that deleting always works. `outsideBytes` is what images hold.
 */
export const growthLimitBytes = (space: Pick<PoolSpace, "totalBytes">, outsideBytes: number): number =>
  Math.max(64 * 1024 * 1024, Math.floor(space.totalBytes * growthShare) - outsideBytes);
