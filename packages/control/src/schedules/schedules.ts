import {
  HoldfastError,
  idPattern,
  limits,
  type OperationOutput,
  type OperationParams,
} from "@holdfast/contract";
import type { Clock, NewId } from "@holdfast/kit";
import { findComputer } from "../computers/index.ts";
import type { Computer, Computers } from "../domain/computer.ts";
import type { EventLog } from "../domain/events.ts";
import type { Principal } from "../domain/principal.ts";
import { noProject } from "../domain/project.ts";
import { refuseStale } from "../domain/version.ts";
import { decodeCursor, pageOf } from "../lib/cursor.ts";
import { sha256 } from "../lib/digest.ts";
import { timestamp } from "../lib/timestamp.ts";
import { getComputer, getComputers } from "../store/computers.ts";
import { isUniqueViolation } from "../store/errors.ts";
import { findVisibleProject, type ProjectRow } from "../store/projects.ts";
import { lastRuns } from "../store/run-history.ts";
import {
  changeSchedule,
  countSchedules,
  deleteSchedules,
  findSchedule,
  insertSchedule,
  listSchedules,
  scheduleNameIndex,
  type ScheduleRow,
} from "../store/schedules.ts";
import type { Database, Transaction } from "../store/transaction.ts";
import { changesOf, type Defined, definedOf, timingOf } from "./definition.ts";
import { scheduleEvent } from "./events.ts";
import { localTime, type Timings } from "./timing.ts";
import { type ScheduleView, scheduleView } from "./view.ts";

export interface SchedulesParts {
  readonly db: Database;
  readonly computers: Computers;
  readonly events: EventLog;
  readonly timings: Timings;
  readonly ids: NewId;
  readonly clock: Clock;
  /** Origin of the API. */
  readonly address: URL;
}

/** A schedule whose row says what it is by now. */
export interface AdmittedSchedule {
  readonly target: string;
  readonly row: ScheduleRow;
  readonly owner: string;
}

export interface NewSchedule {
  readonly name: string;
  readonly projectId: string | null;
  readonly paused: boolean;
  readonly createdBy: string;
  /** Of one that is started by events: SHA-256 of its key. */
  readonly keyHash: Buffer | null;
}

/** What callers ask of schedules. Changes are written down at admission; the clockwork looks at what it is told of. */
export class Schedules {
  readonly #parts: SchedulesParts;

  constructor(parts: SchedulesParts) {
    this.#parts = parts;
  }

  /** `eventKey`: for one that is started by events. */
  async create(
    transaction: Transaction,
    principal: Principal,
    params: OperationParams<"schedule.create">,
    eventKey: string,
  ): Promise<AdmittedSchedule> {
    const { timings, clock } = this.#parts;
    const defined = definedOf(timings, params, clock.now());
    const { computer, project } = await this.#place(transaction, principal, params);
    const row = await this.insert(transaction, computer, {
      ...(project === undefined || params.cwd !== "/work"
        ? defined
        : { ...defined, command: { ...defined.command, cwd: `/work/${project.name}` } }),
      name: params.name,
      projectId: project?.id ?? null,
      paused: params.paused,
      createdBy: principal.id,
      keyHash: defined.event ? sha256(eventKey) : null,
    });
    return { target: row.id, row, owner: computer.principalId };
  }

  /** The computer's row is locked by the caller. Throws `name_taken`, `limit_reached`. */
  async insert(
    transaction: Transaction,
    computer: Computer,
    { name, projectId, paused, createdBy, keyHash, ...defined }: NewSchedule & Defined,
  ): Promise<ScheduleRow> {
    const { events, timings, ids, clock } = this.#parts;
    const nowMs = clock.now();
    const [here, all] = await Promise.all([
      countSchedules(transaction, { computerId: computer.id }),
      countSchedules(transaction, { accountId: computer.accountId }),
    ]);
    if (here >= limits.schedulesPerComputer) throw tooMany(computer.name, limits.schedulesPerComputer);
    if (all >= limits.schedulesPerAccount) throw tooMany("the account", limits.schedulesPerAccount);
    try {
      const nextMs = paused ? null : timings.nextAfter(timingOf(defined), nowMs);
      const row = await insertSchedule(transaction, {
        ...defined,
        id: ids("schedule"),
        account_id: computer.accountId,
        computer_id: computer.id,
        project_id: projectId,
        name,
        created_by: createdBy,
        state: paused ? "paused" : defined.event || nextMs !== null ? "active" : "ended",
        next_slot_ms: nextMs,
        event_key_hash: keyHash,
        created_at_ms: nowMs,
        updated_at_ms: nowMs,
      });
      await events.append(transaction, scheduleEvent(row, computer.principalId, "created"));
      return row;
    } catch (error) {
      if (isUniqueViolation(error, scheduleNameIndex))
        throw new HoldfastError("name_taken", `${computer.name} has a schedule ${name} already`, { name });
      throw error;
    }
  }

  async update(
    transaction: Transaction,
    principal: Principal,
    params: OperationParams<"schedule.update">,
  ): Promise<AdmittedSchedule> {
    const { timings, clock, events } = this.#parts;
    const row = await this.find(transaction, principal, params, { lock: true });
    refuseStale("schedule", row, params.if_match);
    const nowMs = clock.now();
    const { defined, timed } = changesOf(timings, row, params, nowMs);
    const next = timed && row.state !== "paused" ? this.#activeFrom({ ...row, ...defined }, nowMs) : {};
    const changed = await changeSchedule(transaction, row.id, { ...defined, ...next }, nowMs);
    const owner = await this.#owner(transaction, changed);
    await events.append(transaction, scheduleEvent(changed, owner, "updated"));
    return { target: row.id, row: changed, owner };
  }

  /** Pausing what is paused, and resuming what is not, changes nothing. */
  async turn(
    transaction: Transaction,
    principal: Principal,
    params: OperationParams<"schedule.pause">,
    to: "paused" | "resumed",
  ): Promise<AdmittedSchedule> {
    const { clock, events } = this.#parts;
    const row = await this.find(transaction, principal, params, { lock: true });
    const owner = await this.#owner(transaction, row);
    const nowMs = clock.now();
    const change =
      to === "paused"
        ? row.state === "active" && ({ state: "paused", next_slot_ms: null } as const)
        : row.state === "paused" && this.#activeFrom(row, nowMs);
    if (!change) return { target: row.id, row, owner };
    const changed = await changeSchedule(transaction, row.id, change, nowMs);
    await events.append(transaction, scheduleEvent(changed, owner, to));
    return { target: row.id, row: changed, owner };
  }

  async delete(
    transaction: Transaction,
    principal: Principal,
    params: OperationParams<"schedule.delete">,
  ): Promise<AdmittedSchedule> {
    const row = await this.find(transaction, principal, params, { lock: true });
    const owner = await this.#owner(transaction, row);
    await deleteSchedules(transaction, { ids: [row.id] }, "its schedule was deleted");
    await this.#parts.events.append(transaction, scheduleEvent(row, owner, "deleted"));
    return { target: row.id, row, owner };
  }

  async list(
    principal: Principal,
    params: OperationParams<"schedule.list">,
  ): Promise<{ readonly output: OperationOutput<"schedule.list">; readonly target: string | null }> {
    const { db, computers } = this.#parts;
    const computer =
      params.computer === undefined ? undefined : await computers.find(principal, params.computer);
    const project =
      params.project === undefined ? undefined : await this.#project(db, principal, params.project);
    const found = await listSchedules(db, {
      principal,
      computerId: computer?.id,
      projectId: project?.id,
      before: decodeCursor(params.cursor, idPattern("schedule")),
      limit: params.limit + 1,
    });
    const page = pageOf(found, params.limit, (row) => row.id);
    return {
      output: { schedules: [...(await this.#views(page.rows))], next_cursor: page.nextCursor },
      target: project?.id ?? computer?.id ?? null,
    };
  }

  async preview(
    principal: Principal,
    params: OperationParams<"schedule.preview">,
  ): Promise<OperationOutput<"schedule.preview">> {
    const { timings, clock, db } = this.#parts;
    const nowMs = clock.now();
    const { schedule, computer, count, time_zone, ...given } = params;
    const row =
      schedule === undefined
        ? undefined
        : await this.find(db, principal, { schedule, ...(computer === undefined ? {} : { computer }) });
    const timed = given.cron !== undefined || given.every_ms !== undefined || given.at !== undefined;
    if (row && timed)
      throw new HoldfastError("invalid_input", "give a schedule or a timing, not both", {
        issues: [{ path: ["schedule"], message: "or a timing" }],
      });
    const timing = row
      ? { ...timingOf(row), ...(time_zone === undefined ? {} : { timeZone: time_zone }) }
      : {
          cron: given.cron?.trim().replaceAll(/\s+/g, " ") ?? null,
          everyMs: given.every_ms ?? null,
          atMs: given.at === undefined ? null : Date.parse(given.at),
          event: false,
          anchorMs: nowMs,
          timeZone: time_zone ?? "UTC",
        };
    if (!row || (time_zone !== undefined && !row.event && row.at_ms === null)) timings.check(timing, nowMs);
    return {
      slots: timings
        .preview(timing, nowMs, count)
        .map((at) => ({ at: timestamp(at), local: localTime(at, timing.timeZone) })),
    };
  }

  /** Throws `not_found`, also for what the principal may not see, and `invalid_input` for a name without its computer. */
  async find(
    db: Database | Transaction,
    principal: Principal,
    which: { readonly schedule: string; readonly computer?: string | undefined },
    { lock = false }: { readonly lock?: boolean } = {},
  ): Promise<ScheduleRow> {
    if (which.computer === undefined && !which.schedule.startsWith("sch_"))
      throw new HoldfastError("invalid_input", "a schedule's name goes with its computer; or give its id", {
        issues: [{ path: ["computer"], message: "needed with a name" }],
      });
    const computer =
      which.computer === undefined ? undefined : await findComputer(db, principal, which.computer);
    const row = await findSchedule(db, { principal, ref: which.schedule, computerId: computer?.id, lock });
    if (!row) throw noSchedule(which.schedule);
    return row;
  }

  async view(row: ScheduleRow): Promise<ScheduleView> {
    const [view] = await this.#views([row]);
    if (!view) throw noSchedule(row.id);
    return view;
  }

  async #views(rows: readonly ScheduleRow[]): Promise<readonly ScheduleView[]> {
    const { db, address } = this.#parts;
    const [last, computers] = await Promise.all([
      lastRuns(
        db,
        rows.map(({ id }) => id),
      ),
      getComputers(db, [...new Set(rows.map((row) => row.computer_id))]),
    ]);
    const owners = new Map(computers.map(({ id, principalId }) => [id, principalId]));
    return rows.map((row) =>
      scheduleView(row, {
        owner: owners.get(row.computer_id) ?? row.created_by,
        last: last.get(row.id),
        address,
      }),
    );
  }

  #activeFrom(row: ScheduleRow, nowMs: number): Pick<ScheduleRow, "state" | "next_slot_ms"> {
    const nextMs = this.#parts.timings.nextAfter(timingOf(row), nowMs);
    return { state: row.event || nextMs !== null ? "active" : "ended", next_slot_ms: nextMs };
  }

  async #place(
    transaction: Transaction,
    principal: Principal,
    params: OperationParams<"schedule.create">,
  ): Promise<{ readonly computer: Computer; readonly project: ProjectRow | undefined }> {
    const project =
      params.project === undefined ? undefined : await this.#project(transaction, principal, params.project);
    const ref = project?.computer_id ?? params.computer;
    if (ref === undefined)
      throw new HoldfastError("invalid_input", "give `computer` or `project`", {
        issues: [{ path: ["computer"], message: "give this or `project`" }],
      });
    const computer = await findComputer(transaction, principal, ref, { lock: true });
    if (project && params.computer !== undefined) {
      const said = await findComputer(transaction, principal, params.computer);
      if (said.id !== computer.id)
        throw new HoldfastError("invalid_input", `${project.slug} is on another computer`, {
          issues: [{ path: ["computer"], message: "leave it out" }],
        });
    }
    // It may have been destroyed before the lock was had.
    if (project && !(await findVisibleProject(transaction, principal, project.id, {})))
      throw noProject(project.id);
    return { computer, project };
  }

  async #project(db: Database | Transaction, principal: Principal, ref: string): Promise<ProjectRow> {
    const project = await findVisibleProject(db, principal, ref, {});
    if (!project) throw noProject(ref);
    return project;
  }

  async #owner(transaction: Transaction, row: ScheduleRow): Promise<string> {
    return (await getComputer(transaction, row.computer_id))?.principalId ?? row.created_by;
  }
}

export const noSchedule = (ref: string): HoldfastError =>
  new HoldfastError("not_found", `there is no schedule ${ref}`, { schedule: ref });

const tooMany = (where: string, limit: number): HoldfastError =>
  new HoldfastError("limit_reached", `${where} has ${limit} schedules; delete some`, {
    limit,
    counts: "schedules",
  });
