import { HoldfastError, type OperationOutput, type OperationParams } from "@holdfast/contract";
import type { Clock, CrashPoint, Logger } from "@holdfast/kit";
import { type Agents, AgentUnreachable } from "../../domain/agents.ts";
import type { Computer, Computers } from "../../domain/computer.ts";
import type { EventLog } from "../../domain/events.ts";
import type { OperationContext } from "../../domain/handler.ts";
import type { Principal } from "../../domain/principal.ts";
import type { ManifestEntry, Trees } from "../../domain/trees.ts";
import { findProject, folderOf, type Projects, type Turns } from "../../projects/index.ts";
import { getComputer } from "../../store/computers.ts";
import {
  changeOffer,
  forgetOffer,
  getManifest,
  listUnfinishedOffers,
  type OfferRow,
} from "../../store/offers.ts";
import { getProject, listLivingProjects, type ProjectRow } from "../../store/projects.ts";
import type { Store, Transaction } from "../../store/transaction.ts";
import { agentIfAwake, withAgent } from "../../work/index.ts";
import type { Snapshots } from "../snapshots.ts";
import type { Offers } from "./offers.ts";
import { digestOf } from "./paths.ts";
import { Placement } from "./placement.ts";
import { offerEvent, offerView, refuseDecided } from "./view.ts";

export interface AcceptingParts {
  readonly store: Store;
  readonly snapshots: Snapshots;
  readonly offers: Offers;
  readonly computers: Computers;
  readonly agents: Agents;
  readonly trees: Pick<Trees, "tar" | "manifestIn">;
  readonly projects: Projects;
  readonly turns: Turns;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly crashPoint: CrashPoint;
  readonly nodeId: string;
  /** Operations that are being worked on. */
  readonly running: ReadonlySet<string>;
}

export interface AdmittedAcceptance {
  readonly target: string;
  readonly offer: OfferRow;
  readonly parent: Computer;
  readonly project: ProjectRow | undefined;
}

type AcceptOutput = OperationOutput<"offer.accept">;

/**
 * Accepting: what the digest says, whole or not at all. Until the files wait on the parent, verified, nothing of it has changed, and what is cut off is
 * open again; from then on (`placing`) it is finished, here or by the caretaker after a crash, or taken back where that cannot be.
 */
export class Accepting {
  readonly #parts: AcceptingParts;
  #abort = new AbortController();

  constructor(parts: AcceptingParts) {
    this.#parts = parts;
  }

  async admit(
    transaction: Transaction,
    { principal, operationId }: OperationContext,
    params: OperationParams<"offer.accept">,
  ): Promise<AdmittedAcceptance> {
    const { offers } = this.#parts;
    const row = await offers.lock(transaction, principal, params.offer);
    const parent = await offers.parentOf(transaction, principal, row);
    if (!parent)
      throw new HoldfastError("forbidden", "what a child offers is accepted by whose the parent is");
    // By a request that was cut off, perhaps: then it is open again, or accepted, before long.
    if (row.state === "accepting" || row.state === "placing")
      throw new HoldfastError(
        "operation_running",
        "another request accepts the offer: ask again in a moment",
        {
          state: row.state,
        },
      );
    refuseDecided(row);
    if (params.digest !== row.digest)
      throw new HoldfastError(
        "version_mismatch",
        "the digest is not that of this offer: look at what it is (`offer_diff`), and accept that",
        { version: row.digest },
      );
    const project = await projectOf(transaction, principal, parent, row.paths, params.project);
    const offer = await changeOffer(transaction, row.id, ["open"], {
      state: "accepting",
      operationId,
      decidedBy: principal.id,
      projectId: project?.id ?? null,
    });
    if (!offer) throw new HoldfastError("wrong_state", "the offer is being decided", { state: row.state });
    return { target: row.id, offer, parent, project };
  }

  /** Throws what kept it from being accepted: then the parent is as it was and the offer is open. `timed_out`: it is finished later. */
  async accept(
    { principal }: OperationContext,
    admitted: AdmittedAcceptance,
    signal: AbortSignal,
  ): Promise<AcceptOutput> {
    const { turns, store, crashPoint } = this.#parts;
    const { offer, parent, project } = admitted;
    crashPoint("offer-accepting");
    return this.#inTurn(turns, parent, project, async () => {
      const entries = await getManifest(store.db, offer.id);
      await this.#stage(admitted, principal, entries, signal).catch(async (error: unknown) => {
        await this.#reopen(offer, parent, ["accepting"]);
        throw error;
      });
      crashPoint("offer-placing");
      return this.#finish(admitted, principal, entries, signal, false);
    });
  }

  /** Finishes or takes back what nobody works on. */
  async recover(): Promise<void> {
    const { store, running, nodeId, snapshots, logger } = this.#parts;
    for (const offer of await listUnfinishedOffers(store.db, nodeId, recoveredAtOnce)) {
      if (running.has(offer.operation_id) || this.#abort.signal.aborted) continue;
      const parent = await getComputer(store.db, offer.parent_id);
      if (!parent || parent.desiredState === "destroyed") continue;
      if (offer.state === "making") {
        await forgetOffer(store.db, offer.id);
        await snapshots.discard(offer.snapshot_id);
      } else if (offer.state === "accepting") await this.#reopen(offer, parent, ["accepting"]);
      else
        await this.#resume(offer, parent).catch((error: unknown) =>
          logger.info("an acceptance is finished later", { offer: offer.id, error }),
        );
    }
  }

  stop(): void {
    this.#abort.abort(new HoldfastError("unavailable", "control is shutting down"));
  }

  /** Everything up to the line behind which it is finished. */
  async #stage(
    { offer, parent, project }: AdmittedAcceptance,
    principal: Principal,
    entries: readonly ManifestEntry[],
    signal: AbortSignal,
  ): Promise<void> {
    const { projects, trees, store, crashPoint } = this.#parts;
    // What is not the offer's is another commit; and a repository that takes none is found before anything has changed.
    if (project) await projects.repository(project, parent, signal).commitAll("Before an offer", principal);
    await withAgent(this.#parts, parent, signal, async (agent) => {
      const placement = new Placement(agent, offer.id, offer.paths, entries);
      await placement.refuseDetours();
      await placement.receive(trees.tar({ snapshotId: offer.snapshot_id }, entries, signal), signal);
      crashPoint("offer-received");
      const there = await trees.manifestIn(agent, placement.waiting, offer.paths, signal);
      if (digestOf(there.entries) !== offer.digest)
        throw new HoldfastError("archive_refused", "what arrived on the parent is not what was offered", {
          reason: "digest",
        });
    });
    const placing = await changeOffer(store.db, offer.id, ["accepting"], { state: "placing" });
    if (!placing)
      throw new HoldfastError("wrong_state", "the offer was withdrawn meanwhile", { state: "withdrawn" });
  }

  async #finish(
    { offer, parent, project }: Omit<AdmittedAcceptance, "target">,
    principal: Principal,
    entries: readonly ManifestEntry[],
    signal: AbortSignal,
    resumed: boolean,
  ): Promise<AcceptOutput> {
    const { projects, snapshots, crashPoint, agents } = this.#parts;
    const placement = new Placement(agents.of(parent.id), offer.id, offer.paths, entries);
    let commit: string | null = null;
    try {
      await withAgent(this.#parts, parent, signal, () => placement.place(), { repeatable: true });
      crashPoint("offer-placed");
      if (project)
        commit = await projects
          .repository(project, parent, signal)
          // It may be committed already, or be what was there.
          .commitAll(messageOf(offer), principal, { allowEmpty: !resumed });
    } catch (error) {
      if (signal.aborted || error instanceof AgentUnreachable) throw later(error);
      await placement.takeBack().catch((failure: unknown) => {
        throw later(failure);
      });
      await this.#reopen(offer, parent, ["placing"]);
      throw error;
    }
    // First what is only in the way: once it is accepted nobody looks after it any more.
    await placement.clear(signal).catch((error: unknown) => {
      throw later(error);
    });
    crashPoint("offer-cleared");
    const accepted = await this.#write(offer, parent, commit);
    crashPoint("offer-accepted");
    await snapshots.discard(offer.snapshot_id);
    return { offer: offerView(accepted), commit };
  }

  async #resume(offer: OfferRow, parent: Computer): Promise<void> {
    const { store, turns } = this.#parts;
    const project = offer.project_id === null ? undefined : await getProject(store.db, offer.project_id);
    const living = project?.state === "living" ? project : undefined;
    const entries = await getManifest(store.db, offer.id);
    const principal = actorOf(offer);
    await this.#inTurn(turns, parent, living, () =>
      this.#finish({ offer, parent, project: living }, principal, entries, this.#abort.signal, true),
    );
  }

  async #write(offer: OfferRow, parent: Computer, commit: string | null): Promise<OfferRow> {
    const { store, clock, events } = this.#parts;
    return store.transaction(async (transaction) => {
      const accepted = await changeOffer(transaction, offer.id, ["placing"], {
        state: "accepted",
        manifest: null,
        commit,
        decidedAtMs: clock.now(),
      });
      if (!accepted) throw new HoldfastError("wrong_state", "the offer is decided", { state: "decided" });
      const { digest, decided_by: by, project_id: project } = accepted;
      await events.append(
        transaction,
        offerEvent(parent, accepted, "accepted", { digest, by, project, commit }),
      );
      return accepted;
    });
  }

  /** What waits on the parent goes when it is awake; the next acceptance clears it else. */
  async #reopen(offer: OfferRow, parent: Computer, from: readonly OfferRow["state"][]): Promise<void> {
    const { store, logger } = this.#parts;
    try {
      const agent = agentIfAwake(this.#parts, parent);
      if (agent) await new Placement(agent, offer.id, offer.paths, []).clear().catch(() => {});
      const open = { state: "open", decidedBy: null, projectId: null } as const;
      await changeOffer(store.db, offer.id, from, open);
    } catch (error) {
      logger.info("an offer is opened again later", { offer: offer.id, error });
    }
  }

  /** One acceptance at a time on a parent, and nothing else in the repository meanwhile. */
  #inTurn<T>(
    turns: Turns,
    parent: Computer,
    project: ProjectRow | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    return turns.take(parent.id, () => (project ? turns.take(project.id, work) : work()));
  }
}

const recoveredAtOnce = 20;

/** Given, or the one whose folder holds all of it. Throws `invalid_input` for one that does not. */
const projectOf = async (
  transaction: Transaction,
  principal: Principal,
  parent: Computer,
  paths: readonly string[],
  ref: string | undefined,
): Promise<ProjectRow | undefined> => {
  const holds = (project: ProjectRow): boolean =>
    project.computer_id === parent.id && paths.every((path) => path.startsWith(`${folderOf(project)}/`));
  if (ref === undefined) return (await listLivingProjects(transaction, parent.id)).find(holds);
  const project = await findProject(transaction, principal, ref);
  if (holds(project)) return project;
  throw new HoldfastError(
    "invalid_input",
    `not all of what is offered is in ${folderOf(project)} of the parent`,
    {
      issues: [{ path: ["project"], message: "its folder does not hold what is offered" }],
    },
  );
};

const messageOf = ({ note, child_id: child }: OfferRow): string =>
  `Accept an offer of ${child}${note === "" ? "" : `\n\n${note.slice(0, mostNote)}`}`;
const mostNote = 1000;

/** Who accepted, as far as a commit says so; what was decided is carried out whatever its key may by now. */
const actorOf = (offer: OfferRow): Principal => ({
  kind: "assistant",
  id: offer.decided_by ?? offer.made_by,
  accountId: offer.account_id,
  name: offer.decided_by ?? offer.made_by,
  ceilings: null,
  credentialId: "",
  expiresAtMs: null,
  confirmedUntilMs: 0,
});

const later = (cause: unknown): HoldfastError =>
  new HoldfastError(
    "timed_out",
    "the parent could not be reached to the end; what was begun is finished as soon as it can be",
    {},
    { cause },
  );
