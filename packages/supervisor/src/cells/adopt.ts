import { limits } from "@holdfast/contract";
import { namesIn, readIfThere, writeWhole } from "../lib/files.ts";
import { remainingLease, type Cell } from "./cell.ts";
import type { CellParts } from "./parts.ts";
import type { CellRecord } from "./records.ts";
import { mendSockets } from "./sockets.ts";

/**
 * What the last supervisor left: running cells are adopted, everything else is taken down. After a reboot nothing runs and nothing of
 * the state directory is true any more, wherever it is kept. What cannot be taken down is left to `takeDown`, which remembers it: one such
 * computer keeps no other from being served.
 */
export const adoptCells = async (
  parts: CellParts,
  takeDown: (computerId: string, slot: number | undefined) => Promise<void>,
): Promise<Cell[]> => {
  const { places, cgroups, clock, logger } = parts;
  const rebooted = (await readIfThere(places.bootFile))?.trim() !== parts.bootId;
  const records = new Map((await parts.records.all()).map((record) => [record.computerId, record]));
  const adopted: Cell[] = [];

  const adopt = async (name: string, record: CellRecord | undefined): Promise<void> => {
    const now = await cgroups.state(name);
    const known = record !== undefined && !rebooted && record.phase !== "starting";
    if (known && record.phase === "running" && now?.populated) {
      const left = remainingLease(record.leaseEndsAtMs, clock.now(), limits.leaseMs);
      const state = now.freezing ? "frozen" : "running";
      const cell: Cell = { record, state, leaseEndsAt: clock.monotonic() + left, oomKills: 0, release: [] };
      adopted.push(cell);
      await mendSockets(parts, name);
      cell.oomKills = await cgroups.oomKills(name);
      return;
    }
    const outOfMemory = (await cgroups.oomKills(name)) > 0;
    logger.info("taking down what is left of a cell", {
      computer_id: name,
      phase: record?.phase ?? "unknown",
      rebooted,
    });
    await takeDown(name, record?.slot);
    parts.crashPoint("cell.adopt:down");
    if (!known) {
      await parts.records.remove(name);
      return;
    }
    const reason = outOfMemory ? ("out_of_memory" as const) : ("agent_ended" as const);
    const ended = {
      ...record,
      phase: "exited" as const,
      exit: record.exit ?? { reason, at_ms: clock.now() },
    };
    await parts.records.write(ended);
    adopted.push({ record: ended, state: "exited", leaseEndsAt: 0, oomKills: 0, release: [] });
  };
  for (const name of await namesOnHost(parts, records.keys()))
    await adopt(name, records.get(name)).catch((error: unknown) =>
      logger.error("a cell of an earlier supervisor could not be dealt with", { computer_id: name, error }),
    );
  await parts.network.removeLinksExcept(
    adopted.filter((cell) => cell.state !== "exited").map((cell) => cell.record.slot),
  );
  await writeWhole(places.bootFile, parts.bootId);
  return adopted;
};

/** Computers of which anything of a cell is on the host, whole or not, besides those in `recorded`. */
export const namesOnHost = async (
  parts: Pick<CellParts, "places" | "cgroups">,
  recorded: Iterable<string>,
): Promise<Set<string>> => {
  const { places } = parts;
  const directories = [`${places.state}/bundles`, places.runtimeState, places.sockets("")];
  const names = await Promise.all(directories.map(namesIn));
  return new Set(
    [...recorded, ...(await parts.cgroups.list()), ...names.flat()].filter((name) => name.startsWith("cmp_")),
  );
};
