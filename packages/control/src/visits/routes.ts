import { limits, type Route } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import { FewAtOnce } from "../lib/few-at-once.ts";
import { routesChannel } from "../store/projects.ts";
import type { Listener } from "../store/listener.ts";
import { lastRevision, listRoutes, type RouteRow } from "../store/routes.ts";
import type { Database } from "../store/transaction.ts";

/** Looked at this often even if nobody was told of a change: a notification is a hint. */
const lookEveryMs = 5_000;
/** What is answered at once is read as one message of at most 1 MiB. */
const replyBytes = 512 * 1024;

/** Those who wait are all told of a change at once; a page may be large. */
const readAtOnce = { atOnce: 2, waiting: 512 };

/** Tells what changed among the routes, in an order in which nothing is missed. */
export class Routes {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #reading = new FewAtOnce(readAtOnce);
  #change = Promise.withResolvers<void>();

  constructor(parts: { readonly db: Database; readonly clock: Clock; readonly listener: Listener }) {
    this.#db = parts.db;
    this.#clock = parts.clock;
    parts.listener.on(routesChannel, () => {
      this.#change.resolve();
      this.#change = Promise.withResolvers();
    });
  }

  /** Changes after `after`, at once when there are some; else the first that come within `waitMs`. */
  async watch(
    after: number,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<{ readonly next: number; readonly routes: Route[] }> {
    const deadline = this.#clock.monotonic() + waitMs;
    const from = await this.#known(after);
    for (;;) {
      // Taken before looking: what comes in between is not slept over.
      const change = this.#change.promise;
      const page = await this.#reading.run(async () =>
        pageOf(await listRoutes(this.#db, from, limits.routesPerReply)),
      );
      const leftMs = deadline - this.#clock.monotonic();
      if (page.length > 0 || leftMs <= 0 || signal.aborted)
        return { next: page.at(-1)?.route_revision ?? from, routes: page.map(routeOf) };
      await this.#pause(change, Math.min(leftMs, lookEveryMs), signal);
    }
  }

  /** From the beginning for whoever knows more than there is: the database was put back to an earlier state. */
  async #known(after: number): Promise<number> {
    return after > 0 && after > (await lastRevision(this.#db)) ? 0 : after;
  }

  async #pause(change: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const slept = this.#clock.sleep(ms, AbortSignal.any([signal, over.signal])).catch(() => {});
    await Promise.race([change, slept]);
    over.abort();
  }
}

const pageOf = (rows: readonly RouteRow[]): readonly RouteRow[] => {
  let bytes = 0;
  const end = rows.findIndex((row, index) => {
    bytes += Buffer.byteLength(JSON.stringify(row));
    return index > 0 && bytes > replyBytes;
  });
  return end === -1 ? rows : rows.slice(0, end);
};

const routeOf = (row: RouteRow): Route => ({
  project_id: row.id,
  slug: row.slug,
  computer_id: row.computer_id,
  port: row.web_port,
  published: row.published === null ? null : [...row.published],
  removed: row.state !== "living",
});
