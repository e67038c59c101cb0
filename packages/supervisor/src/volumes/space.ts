import { statfs } from "node:fs/promises";

export interface PoolSpace {
  readonly totalBytes: number;
  readonly usedBytes: number;
  readonly growthRefused: boolean;
}

/** New volumes and larger sizes are refused above this part of the pool; deleting needs room for itself. */
const growthShare = 0.9;

/** Volumes that are there may grow up to that part together, so a new one is refused a little before: it could hold nothing. */
const newVolumeShare = 0.01;

export const readSpace = async (pool: string): Promise<PoolSpace> => {
  const facts = await statfs(pool);
  const totalBytes = facts.blocks * facts.bsize;
  const usedBytes = totalBytes - facts.bavail * facts.bsize;
  return { totalBytes, usedBytes, growthRefused: usedBytes >= totalBytes * (growthShare - newVolumeShare) };
};

/**
 * What all volumes together may hold, when they hold `heldBytes` now. Quotas of single volumes may sum up to more than the pool; this
 * one, on the group above them, stops their growth before the pool is full, so that deleting always works.
 *
 * It moves: btrfs gives whole chunks to metadata, twice, as many small files need them, and what they take is no longer there for data.
 */
export const growthLimitBytes = (space: PoolSpace, heldBytes: number): number => {
  const left = Math.floor(space.totalBytes * growthShare) - space.usedBytes;
  return Math.max(smallestLimitBytes, heldBytes + Math.max(0, left));
};

/** btrfs takes a limit of 0 for none. */
const smallestLimitBytes = 1024 * 1024;
