import { computerSizes, limits, type OperationOutput } from "@holdfast/contract";
import { HoldfastApiError, type HoldfastClient } from "@holdfast/sdk";

export type Computer = OperationOutput<"computer.get">;
export type Usage = OperationOutput<"computer.usage">;
export type Service = OperationOutput<"service.get">;
export type Project = OperationOutput<"project.get">;
export type Schedule = OperationOutput<"schedule.get">;

/** One computer with what is on it, as far as it is known. */
export interface Seen {
  readonly computer: Computer;
  readonly usage: Usage | null;
  /** Of all its CPUs, 0 to 1; null until it has been measured twice. */
  readonly cpuShare: number | null;
  readonly services: readonly Service[];
  readonly projects: readonly Project[];
  readonly schedules: readonly Schedule[];
}

/** What of a computer is asked for by itself. */
interface Closer {
  readonly atMs: number;
  readonly usage: Usage | null;
  readonly cpuShare: number | null;
  readonly services: readonly Service[];
}

/**
 * Reads what there is. Lists are read every time; usage and services are asked computer by computer, so of many only some each time, those
 * longest not looked at first: an assistant works with the same key, and its requests per minute are limited.
 */
export class Collector {
  readonly #client: HoldfastClient;
  readonly #elapsedMs: () => number;
  #closer: ReadonlyMap<string, Closer> = new Map();

  constructor(client: HoldfastClient, elapsedMs: () => number) {
    this.#client = client;
    this.#elapsedMs = elapsedMs;
  }

  /** `closely`: of how many computers more than what the lists say. */
  async collect(closely: number, signal: AbortSignal): Promise<readonly Seen[]> {
    const [computers, projects] = [await this.#computers(signal), await this.#projects(signal)];
    const schedules = Map.groupBy(await this.#schedules(signal), ({ computer }) => computer);
    const known = this.#closer;
    const due = computers
      .filter(({ state }) => state !== "creating" && state !== "archived" && state !== "destroyed")
      .toSorted((one, other) => (known.get(one.id)?.atMs ?? -1) - (known.get(other.id)?.atMs ?? -1))
      .slice(0, closely);
    const looked = new Map<string, Closer | null>();
    for (let at = 0; at < due.length; at += atOnce) {
      const some = due.slice(at, at + atOnce);
      const closer = await Promise.all(some.map((computer) => this.#look(computer, signal)));
      some.forEach(({ id }, index) => looked.set(id, closer[index] ?? null));
    }
    const now = computers
      .map(({ id }) => [id, looked.get(id) ?? known.get(id)] as const)
      .filter((entry): entry is readonly [string, Closer] => entry[1] !== undefined);
    this.#closer = new Map(now);
    return computers.map((computer) => {
      const { usage = null, cpuShare = null, services = [] } = this.#closer.get(computer.id) ?? {};
      const own = projects.filter((project) => [computer.id, computer.name].includes(project.computer));
      return {
        computer,
        usage,
        cpuShare,
        services,
        projects: own,
        schedules: schedules.get(computer.id) ?? [],
      };
    });
  }

  /** Null when it is gone meanwhile. */
  async #look(computer: Computer, signal: AbortSignal): Promise<Closer | null> {
    const input = { computer: computer.id };
    const [usage, list] = await Promise.all([
      this.#client.computers.usage(input, { signal }),
      this.#client.services.list({ ...input, limit: limits.pageSizeMax }, { signal }),
    ]).catch((error: unknown) => {
      if (error instanceof HoldfastApiError && passing.has(error.code)) return [null, null] as const;
      throw error;
    });
    if (usage === null) return null;
    const atMs = this.#elapsedMs();
    const cpuShare = shareOf(computer, usage, atMs, this.#closer.get(computer.id));
    return { atMs, usage, cpuShare, services: list.services };
  }

  #computers(signal: AbortSignal): Promise<readonly Computer[]> {
    return allOf(async (page) => {
      const { computers, next_cursor } = await this.#client.computers.list(page, { signal });
      return { items: computers, next_cursor };
    });
  }

  #projects(signal: AbortSignal): Promise<readonly Project[]> {
    return allOf(async (page) => {
      const { projects, next_cursor } = await this.#client.projects.list(page, { signal });
      return { items: projects, next_cursor };
    });
  }

  #schedules(signal: AbortSignal): Promise<readonly Schedule[]> {
    return allOf(async (page) => {
      const { schedules, next_cursor } = await this.#client.schedules.list(page, { signal });
      return { items: schedules, next_cursor };
    });
  }
}

/** Page after page, to the end or to the page with which there are `mostListed`. */
const allOf = async <T>(
  list: (page: { readonly limit: number; readonly cursor?: string }) => Promise<{
    readonly items: readonly T[];
    readonly next_cursor: string | null;
  }>,
): Promise<readonly T[]> => {
  const found: T[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof list>> = await list({
      limit: limits.pageSizeMax,
      ...(cursor === null ? {} : { cursor }),
    });
    found.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null && found.length < mostListed);
  return found;
};

const shareOf = (
  computer: Computer,
  usage: Usage,
  atMs: number,
  before: Closer | undefined,
): number | null => {
  if (!before?.usage || atMs - before.atMs < 200) return before?.cpuShare ?? null;
  const usedMs = usage.cpu_ms - before.usage.cpu_ms;
  // Less than before: it was started anew.
  if (usedMs < 0) return null;
  return Math.min(1, usedMs / (atMs - before.atMs) / computerSizes[computer.size].cpus);
};

/** Why one computer cannot be looked at now, while the others can. */
const passing: ReadonlySet<string> = new Set([
  "not_found",
  "wrong_state",
  "cell_unreachable",
  "computer_failed",
]);

/** Of computers, of projects and of schedules: nobody reads further down. */
const mostListed = 1000;
/** Computers that are looked at side by side. */
const atOnce = 5;
