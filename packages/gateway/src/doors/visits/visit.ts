import type { RequestHead } from "../../head/request.ts";
import { Exchange } from "../../proxy/exchange.ts";
import type { Failure } from "../../proxy/failure.ts";
import type { Piece } from "../../proxy/gather.ts";
import type { Visitor } from "../../proxy/visitor.ts";
import type { Verdict } from "../../rights/judge.ts";
import type { RightUser } from "../../rights/rights.ts";
import { isOwnPath } from "../../rights/trade.ts";
import type { Page } from "../pages/page.ts";
import type { Ahead } from "./ahead.ts";
import {
  type Allowed,
  mayBeOvercome,
  pageOfTrade,
  pageOfVerdict,
  recordOf,
  seerOf,
  takesAnother,
  visitorLeft,
} from "./outcome.ts";
import type { RouteChange, Shared } from "./shared.ts";
import { visitorOf } from "./visitor-address.ts";

/** The connection that a visit came on. */
export interface Line {
  /** Of its other end. */
  readonly address: string;
  /** What has come and was not taken yet. */
  readonly ahead: Ahead;
  /** The visitor will send nothing more than that. */
  readonly ended: boolean;
  /** False when the visitor should catch up first. */
  send(pieces: readonly Piece[]): boolean;
  pause(): void;
  resume(): void;
  /** Ends our side alone. */
  end(): void;
  /** Answers with a page of ours, and goes on as `next` does. */
  answer(page: Page, head: RequestHead | undefined, again: boolean): void;
  /** The visit is over. `again`: another one may follow. */
  next(again: boolean): void;
  /** Ends all of it at once. */
  destroy(): void;
}

/** One request of a visitor, from its head to its record: what becomes of it, and its side of the exchange with an app. */
export class Visit implements Visitor, RightUser {
  readonly #line: Line;
  readonly #head: RequestHead;
  readonly #shared: Shared;
  readonly #from: string;
  readonly #startedAt: number;
  #allowed: Allowed | undefined;
  #exchange: Exchange | undefined;
  #over = false;

  constructor(line: Line, head: RequestHead, shared: Shared) {
    this.#line = line;
    this.#head = head;
    this.#shared = shared;
    this.#from = visitorOf(line.address, head, shared.believesProxy);
    this.#startedAt = shared.clock.monotonic();
  }

  start(): void {
    const { clock, judge, pages, trade } = this.#shared;
    const head = this.#head;
    if (head.misplacedKey) return this.#answer(pages.misplacedKey());
    if (isOwnPath(head.path)) {
      void trade(head, this.#from).then((traded) => {
        if (!this.#over) this.#answer(pageOfTrade(traded, head, pages, clock));
      });
      return;
    }
    const verdict = judge.judge(head, this.#from);
    if (verdict instanceof Promise) void verdict.then((late) => this.#decided(late));
    else this.#decided(verdict);
  }

  // What the connection tells it.

  /** What comes now is wanted by the app. */
  get takes(): boolean {
    return this.#exchange?.takes === true;
  }

  /** What has come, while it `takes` and nothing is ahead of that. */
  take(piece: Buffer): void {
    this.#line.ahead.putBack(piece, this.#exchange?.take(piece) ?? 0);
  }

  drained(): void {
    this.#exchange?.visitorDrained();
  }

  /** Tells the exchange of the visitor's end, once it has all that was sent before. */
  ended(): void {
    const exchange = this.#exchange;
    if (!exchange || this.#over || !this.#line.ended) return;
    if (this.#line.ahead.isEmpty || (exchange.bodyEnded && !exchange.isTunnel)) exchange.visitorEnded();
  }

  /** The connection is closed: nothing of the visit may reach anyone from here on. */
  gone(): void {
    if (this.#over) return;
    this.#finish(this.#exchange?.code ?? visitorLeft);
    this.#exchange?.abort();
  }

  sweep(now: number): void {
    this.#exchange?.sweep(now);
  }

  /** Monotonic: since when it is the visitor who is waited for. */
  stalledSince(): number | undefined {
    return this.#exchange?.stalledSince();
  }

  // What others tell it.

  /** The route of a project has changed: what it no longer allows ends now. */
  routeChanged({ projectId, now }: RouteChange): void {
    const allowed = this.#allowed;
    if (allowed?.route.project_id !== projectId) return;
    const open = allowed.right ? now !== undefined : this.#shared.judge.stillOpen(now, this.#head);
    if (!open) this.#line.destroy();
  }

  /** What is open ends. Who has been answered nothing yet is told to come again, and then judged like whoever comes. */
  rightLost(): void {
    if ((this.#exchange?.sentBytes ?? 0) > 0) return this.#line.destroy();
    this.#exchange?.abort();
    this.#answer(this.#shared.pages.unavailable(), false);
  }

  // The exchange's view of the visitor.

  send(pieces: readonly Piece[]): boolean {
    return this.#line.send(pieces);
  }

  bodyWanted(): void {
    if (this.#head.expectsContinue && this.#line.ahead.isEmpty)
      this.#line.send(["HTTP/1.1 100 Continue\r\n\r\n"]);
    this.goOn();
  }

  holdBack(): void {
    this.#line.pause();
  }

  goOn(): void {
    while (this.takes) {
      const piece = this.#line.ahead.take();
      if (!piece) break;
      this.take(piece);
    }
    this.ended();
    if (!this.#over && this.#exchange?.heldBack !== true) this.#line.resume();
  }

  appEnded(): void {
    this.#line.end();
  }

  answered(again: boolean): void {
    this.#finish(this.#exchange?.code ?? visitorLeft);
    this.#line.next(again);
  }

  failed(failure: Failure): void {
    const byRule = this.#allowed?.right === undefined;
    if (byRule && mayBeOvercome(failure, this.#head)) this.#useCredential(failure);
    else this.#answer(this.#shared.pages.failure(failure, seerOf(this.#allowed)));
  }

  cutOff(): void {
    this.#line.destroy();
  }

  // What becomes of it.

  #decided(verdict: Verdict): void {
    if (this.#over) return;
    if (verdict.kind === "allowed") this.#let(verdict);
    else this.#answer(pageOfVerdict(verdict, this.#head, this.#shared.pages));
  }

  /** What is open to everyone did not come up for a visitor: it is tried once more by what this one shows. */
  #useCredential(failure: Failure): void {
    const { judge, pages } = this.#shared;
    void Promise.resolve(judge.judgeCredential(this.#head, this.#from)).then((verdict) => {
      if (this.#over) return;
      if (verdict.kind === "allowed") this.#let(verdict);
      else this.#answer(pages.failure(failure, undefined));
    });
  }

  /** The one place from which a computer is reached. */
  #let(allowed: Allowed): void {
    const { proxy, scheme } = this.#shared;
    const { narrow, route, right } = allowed;
    const port = allowed.port ?? route.port;
    this.#allowed = allowed;
    right?.use(this);
    // The right may have been withdrawn while it was asked for.
    if (this.#over) return;
    if (port === null) return this.failed({ kind: "no_service" });
    this.#exchange = new Exchange(proxy, this, {
      head: this.#head,
      lane: { projectId: route.project_id, computerId: route.computer_id, port },
      isWeb: allowed.port === undefined,
      rightId: right?.right.id ?? null,
      told: { from: this.#from, scheme, narrow },
    });
    this.#exchange.start();
    this.ended();
  }

  #answer(page: Page, again = takesAnother(this.#head, this.#exchange?.bodyEnded === true)): void {
    this.#finish(page.status);
    this.#line.answer(page, this.#head, again);
  }

  /** Leaves what it used, and a record where it was let in. */
  #finish(status: number): void {
    this.#over = true;
    const { clock, records } = this.#shared;
    const [allowed, head, exchange, startedAt] = [this.#allowed, this.#head, this.#exchange, this.#startedAt];
    if (!allowed) return;
    allowed.right?.leave(this);
    records.add(recordOf({ allowed, head, exchange, status, startedAt, clock }));
  }
}
