import { join } from "node:path";
import { cellDirectory } from "@holdfast/contract";
import type { Config } from "./config.ts";

/** Every path and host-wide name of one instance. Nothing else composes paths. */
export interface Places {
  readonly images: string;
  /** Volumes, one subvolume for each computer. */
  readonly computers: string;
  /** Durable facts about computers, one file each. */
  readonly facts: string;
  /** Read-only copies of volumes, one subvolume each; facts about them, one file each. */
  readonly snapshots: string;
  readonly snapshotFacts: string;
  /** Archives of computers, one subvolume each. */
  readonly archives: string;
  /** What is to take a volume's place, and what has just lost it. */
  readonly swaps: string;
  /** Subvolumes of probes. */
  readonly trials: string;
  /** Facts that a reboot makes void. */
  readonly state: string;
  readonly bootFile: string;
  readonly runtimeState: string;
  readonly namespace: string;
  readonly namespaceFile: string;
  /** The instance's directory in each cgroup hierarchy, relative to its root. */
  readonly cgroup: string;
  image(digest: string): string;
  volume(computerId: string): string;
  factsOf(computerId: string): string;
  snapshot(snapshotId: string): string;
  snapshotFactsOf(snapshotId: string): string;
  archive(computerId: string): string;
  bundle(computerId: string): string;
  cellRecord(computerId: string): string;
  sockets(computerId: string): string;
  cell(computerId: string): string;
}

export const placesOf = (config: Pick<Config, "instance" | "shortId" | "pool" | "run">): Places => {
  const state = join(config.run, "supervisor-state");
  const namespace = `hf${config.shortId}-cellnet`;
  const cgroup = `holdfast-${config.shortId}`;
  const own = join(config.pool, "supervisor");
  return {
    images: join(config.pool, "images"),
    computers: join(own, "computers"),
    facts: join(own, "facts"),
    snapshots: join(own, "snapshots"),
    snapshotFacts: join(own, "snapshot-facts"),
    archives: join(own, "archives"),
    swaps: join(own, "swaps"),
    trials: join(own, "trials"),
    state,
    bootFile: join(state, "boot"),
    runtimeState: join(state, "runtime"),
    namespace,
    namespaceFile: `/run/netns/${namespace}`,
    cgroup,
    image: (digest) => join(config.pool, "images", digest),
    volume: (computerId) => join(own, "computers", computerId),
    factsOf: (computerId) => join(own, "facts", `${computerId}.json`),
    snapshot: (snapshotId) => join(own, "snapshots", snapshotId),
    snapshotFactsOf: (snapshotId) => join(own, "snapshot-facts", `${snapshotId}.json`),
    archive: (computerId) => join(own, "archives", computerId),
    bundle: (computerId) => join(state, "bundles", computerId),
    cellRecord: (computerId) => join(state, "cells", `${computerId}.json`),
    sockets: (computerId) => cellDirectory(config.instance, computerId),
    cell: (computerId) => `${cgroup}/${computerId}`,
  };
};
