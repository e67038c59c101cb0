import { type AccessRecord, limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import { FewAtOnce } from "../lib/few-at-once.ts";
import { insertAccessRecords, listRecordedProjects, trimAccessRecords } from "../store/visits.ts";
import type { Database } from "../store/transaction.ts";

/** Batches that wait for the one that is being written. gateway sends one after the other. */
const batchesWaiting = 8;
/** Projects whose records are counted until they are next cut to size. */
const projectsCounted = 10_000;

/** What gateway says it served: written one batch after the other, the newest of each project kept. */
export class AccessLog {
  readonly #db: Database;
  readonly #clock: Clock;
  /** What was written of each project since it was last cut to size. */
  #written = new Map<string, number>();
  #cutAll = true;
  readonly #one = new FewAtOnce({ atOnce: 1, waiting: batchesWaiting });

  constructor(parts: { readonly db: Database; readonly clock: Clock }) {
    this.#db = parts.db;
    this.#clock = parts.clock;
  }

  /** Throws `unavailable` when more come than can be written, or the database is away. */
  async record(records: readonly AccessRecord[]): Promise<void> {
    if (records.length > 0) await this.#one.run(() => this.#write(records));
  }

  /** Cuts every project that was written of to what is kept. */
  async trim(): Promise<void> {
    const ids = this.#cutAll ? await listRecordedProjects(this.#db) : [...this.#written.keys()];
    await this.#cut(ids);
    this.#cutAll = false;
  }

  async #write(records: readonly AccessRecord[]): Promise<void> {
    const nowMs = this.#clock.now();
    await insertAccessRecords(
      this.#db,
      // Nothing was served later than now.
      records.map((record) => ({ ...record, at_ms: Math.min(record.at_ms, nowMs) })),
    );
    for (const { project_id: id } of records) this.#written.set(id, (this.#written.get(id) ?? 0) + 1);
    const much = [...this.#written].filter(([, count]) => count >= limits.accessRecordsKept / 2);
    if (much.length > 0) await this.#cut(much.map(([id]) => id));
    if (this.#written.size > projectsCounted) await this.#cut([...this.#written.keys()]);
  }

  async #cut(projectIds: readonly string[]): Promise<void> {
    if (projectIds.length === 0) return;
    for (const id of projectIds) this.#written.delete(id);
    await trimAccessRecords(this.#db, projectIds, limits.accessRecordsKept);
  }
}
