import { type ControlGatewayMethods, HoldfastError, limits, type Right } from "@holdfast/contract";
import type { Clock, Logger } from "@holdfast/kit";
import type { z } from "zod";
import type { Computer, Computers } from "../domain/computer.ts";
import { noProject, serviceName } from "../domain/project.ts";
import { getComputer } from "../store/computers.ts";
import { getProject, type ProjectRow } from "../store/projects.ts";
import { listServicesOfProjects, type ServiceRow } from "../store/services.ts";
import type { Database } from "../store/transaction.ts";
import { countVisitorWake, visitorWakes } from "../store/visits.ts";
import type { Rights } from "./rights.ts";

type Params = z.output<ControlGatewayMethods["project.wake"]["params"]>;
type Woken = z.input<ControlGatewayMethods["project.wake"]["result"]>;

export interface WebState {
  readonly state: string;
  readonly reason: string | null;
  /** How often in a row it has been started again, without a run of a minute. */
  readonly restarts: number;
}

/** What waking needs of the services of a computer. Filled by `operations/`. */
export interface WebServices {
  /** How it is by its agent's word; `unknown` while the computer is not awake. */
  look(computer: Computer, serviceId: string, signal: AbortSignal): Promise<WebState>;
  /** Whether it is ready as it is wanted now, as after a mere sleep. One question to the agent of a computer that is awake. */
  isReady(computer: Computer, service: ServiceRow, signal: AbortSignal): Promise<boolean>;
  /** Wants it to run and waits until it is ready, has failed, or `decided` says that it will not come. The computer is awake. */
  bringUp(
    computer: Computer,
    serviceId: string,
    decided: (now: Pick<WebState, "state" | "restarts">) => boolean,
    signal: AbortSignal,
  ): Promise<WebState>;
  /** The end of what it said, at most so many bytes. */
  lastLines(computer: Computer, serviceId: string, bytes: number, signal: AbortSignal): Promise<string>;
}

export interface WakerParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly computers: Pick<Computers, "reach" | "activity">;
  readonly services: WebServices;
  readonly rights: Pick<Rights, "holder">;
}

const dayMs = 24 * 3600 * 1000;
const soonMs = 1_000;
const laterMs = 10_000;

/** Brings projects up for those who visit them: one start at a time for each, whoever waits for it. */
export class Waker {
  readonly #parts: WakerParts;
  readonly #flights = new Map<string, Promise<Woken>>();
  readonly #stopping = new AbortController();

  constructor(parts: WakerParts) {
    this.#parts = parts;
  }

  /** Throws `not_found` for a project that is not there. Nothing starts unless it is published or the right is good. */
  async wake(
    { project_id: id, right_id: rightId, wait_ms: waitMs }: Params,
    signal: AbortSignal,
  ): Promise<Woken> {
    const { db, rights } = this.#parts;
    const project = await getProject(db, id);
    if (project?.state !== "living") throw noProject(id);
    const holder = rightId === null ? undefined : await rights.holder(rightId, id);
    if (rightId === null ? project.published === null : holder === undefined)
      return answer("refused", { reason: "there is no right (any more) to start this" });
    return shownTo(holder, await this.#waitFor(this.#flight(project, rightId === null), waitMs, signal));
  }

  /** What is under way ends; it is begun again by the next visit. */
  async stop(): Promise<void> {
    this.#stopping.abort(new HoldfastError("unavailable", "control is ending"));
    await Promise.allSettled(this.#flights.values());
  }

  /**
   * A visitor joins whoever starts it already. One with a right does not join a visitor, who may be refused for the day. It goes on when
   * nobody waits for it any more.
   */
  #flight(project: ProjectRow, visitor: boolean): Promise<Woken> {
    const [own, other] = visitor ? [`visitor ${project.id}`, project.id] : [project.id, project.id];
    const known = this.#flights.get(other) ?? this.#flights.get(own);
    if (known) return known;
    // From before its row is read, so that it does not fall asleep in between.
    const done = this.#parts.computers.activity.use(project.computer_id);
    const flight = this.#bring(project, visitor)
      .catch((error: unknown) => this.#cameToNothing(error))
      .finally(() => {
        done();
        this.#flights.delete(own);
      });
    this.#flights.set(own, flight);
    // Whoever waits is told; there may be nobody by then.
    flight.catch(() => {});
    return flight;
  }

  async #waitFor(flight: Promise<Woken>, waitMs: number, signal: AbortSignal): Promise<Woken> {
    const over = new AbortController();
    const slept = this.#parts.clock.sleep(waitMs, AbortSignal.any([signal, over.signal])).catch(() => {});
    try {
      return (await Promise.race([flight, slept])) ?? answer("starting", { retryAfterMs: soonMs });
    } finally {
      over.abort();
    }
  }

  async #bring(project: ProjectRow, visitor: boolean): Promise<Woken> {
    const { db, computers, services } = this.#parts;
    const { signal } = this.#stopping;
    const [computer, service, left] = await Promise.all([
      getComputer(db, project.computer_id),
      this.#webService(project),
      visitor ? this.#visitorsMayStart(project.id) : true,
    ]);
    if (!computer || computer.desiredState === "destroyed") throw noProject(project.id);
    if (!service) return answer("no_service", {});
    if (computer.state === "failed")
      return answer("failed", { retryAfterMs: laterMs, reason: computer.reason });
    const seen = await services.look(computer, service.id, signal);
    if (seen.state === "ready") return answer("ready", {});
    // What its definition says about restarts has been tried, or is being tried without a visit: it is for those who have it in hand to mend it.
    if (hasFailed(seen)) return this.#failed(computer, service, seen);
    const isStart = visitor && isDown(computer, service, seen.state);
    if (isStart && !left)
      return answer("refused", {
        retryAfterMs: dayMs - (this.#parts.clock.now() % dayMs),
        reason: "visitors have started it as often as they may today",
      });
    // Counted beside the start: there is one flight of visitors for each project, so nobody else counts meanwhile.
    const counted = isStart ? this.#countStart(project.id) : undefined;
    const [awake] = await Promise.all([computers.reach(computer, signal, "visit"), counted]);
    if (await services.isReady(awake, service, signal)) return answer("ready", {});
    const reached = await this.#keptAwake(awake, services.bringUp(awake, service.id, hasFailed, signal));
    if (reached.state === "ready") return answer("ready", {});
    if (hasFailed(reached)) return this.#failed(awake, service, reached);
    return answer("starting", { retryAfterMs: soonMs, reason: reached.reason });
  }

  /** Somebody may put it to sleep meanwhile: its agent would answer only when something else has woken it. */
  async #keptAwake<T>(computer: Computer, work: Promise<T>): Promise<T> {
    const { db, clock, computers, logger } = this.#parts;
    const over = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, over.signal]);
    const watch = async (): Promise<void> => {
      for (;;) {
        await clock.sleep(soonMs, signal);
        const now = await getComputer(db, computer.id);
        if (now?.state === "asleep") await computers.reach(now, signal, "visit");
      }
    };
    const watching = watch().catch((error: unknown) => {
      if (!signal.aborted) logger.debug("a computer was not kept awake for a visit", { error });
    });
    try {
      return await work;
    } finally {
      over.abort();
      await watching;
    }
  }

  async #webService(project: ProjectRow): Promise<ServiceRow | undefined> {
    const web = project.deployed_definition?.web ?? null;
    if (web === null) return undefined;
    const rows = await listServicesOfProjects(this.#parts.db, [project.id]);
    return rows.find(({ name }) => name === serviceName(project, web));
  }

  async #visitorsMayStart(projectId: string): Promise<boolean> {
    return (await visitorWakes(this.#parts.db, projectId, this.#day())) < limits.visitorWakesPerDay;
  }

  #countStart(projectId: string): Promise<boolean> {
    return countVisitorWake(this.#parts.db, projectId, this.#day(), limits.visitorWakesPerDay);
  }

  #day(): number {
    return Math.floor(this.#parts.clock.now() / dayMs);
  }

  async #failed(computer: Computer, service: ServiceRow, state: WebState): Promise<Woken> {
    const log = await this.#parts.services
      .lastLines(computer, service.id, limits.crashPageLogBytes, this.#stopping.signal)
      .catch((error: unknown) => {
        this.#parts.logger.debug("the last lines of a failed service were not read", { error });
        return null;
      });
    return answer("failed", {
      retryAfterMs: laterMs,
      reason: whyFailed(state),
      log,
    });
  }

  #cameToNothing(error: unknown): Woken {
    if (!(error instanceof HoldfastError)) throw error;
    if (error.code === "computer_failed")
      return answer("failed", { retryAfterMs: laterMs, reason: error.message });
    if (passing.has(error.code))
      return answer("starting", {
        retryAfterMs: error.code === "host_full" ? laterMs : soonMs,
        reason: error.message,
      });
    throw error;
  }
}

const passing: ReadonlySet<string> = new Set([
  "host_full",
  "computer_starting",
  "cell_unreachable",
  "limit_reached",
]);

/** One that ends over and over, though it is started again: it will hardly come within a visitor's patience. */
const hasFailed = ({ state, restarts }: Pick<WebState, "state" | "restarts">): boolean =>
  state === "failed" || (state === "backoff" && restarts > patientRestarts);

const patientRestarts = 2;

const whyFailed = ({ state, reason, restarts }: WebState): string => {
  if (state === "failed") return reason ?? "The web service ended and is not started again by itself.";
  return `It ended by itself ${restarts} times${reason === null ? "" : `: ${reason.replace(/\.$/, "")}`}.`;
};

/** Nobody has asked for it to run: going on would be a start. */
const isDown = (computer: Computer, service: ServiceRow, state: string): boolean =>
  computer.desiredState !== "awake" || service.desired_state !== "running" || state === "stopped";

/** Why it does not run is for those who can do something about it. */
const shownTo = (holder: Right["who"] | undefined, woken: Woken): Woken =>
  holder === "owner" || holder === "assistant" || woken.state === "refused"
    ? woken
    : { ...woken, reason: null, log: null };

const answer = (
  state: Woken["state"],
  more: {
    readonly retryAfterMs?: number;
    readonly reason?: string | null;
    readonly log?: string | null;
  },
): Woken => ({
  state,
  retry_after_ms: more.retryAfterMs ?? 0,
  reason: more.reason?.slice(0, 1000) ?? null,
  log: more.log?.slice(-limits.crashPageLogBytes) ?? null,
});
