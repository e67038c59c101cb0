import type { Socket } from "node:net";
import { limits } from "@holdfast/contract";
import { bodyGoesOn, bodyIsMalformed } from "../../head/chunks.ts";
import { Intake } from "../../head/intake.ts";
import type { RequestHead } from "../../head/request.ts";
import { Exchange, type Visitor } from "../../proxy/exchange.ts";
import type { Failure } from "../../proxy/failure.ts";
import { type Piece, writeTogether } from "../../proxy/gather.ts";
import type { Verdict } from "../../rights/judge.ts";
import type { RightUser } from "../../rights/rights.ts";
import { isOwnPath } from "../../rights/trade.ts";
import type { Page } from "../pages/page.ts";
import { renderPage } from "../pages/render.ts";
import { Ahead } from "./ahead.ts";
import type { Evictable, Seat } from "./ledger.ts";
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

/** After the last answer: for so long, and so much, what the visitor still sends is read, so that the answer is not lost to a reset. */
const lingerMs = 2000;
const lingerBytes = 1024 * 1024;

/** `deciding`: a head is whole, and it is asked what may become of it. `lingering`: all is answered, the end is near. */
type Phase = "head" | "deciding" | "exchange" | "lingering" | "closed";

/** One socket of a visitor: heads in, answers out, one request after the other. */
export class Connection implements Visitor, RightUser, Evictable {
  readonly #socket: Socket;
  readonly #shared: Shared;
  readonly #seat: Seat;
  #phase: Phase = "head";
  readonly #intake = new Intake();
  /** Monotonic: since when the present phase lasts, or a head has been coming. */
  #since: number;
  #served = 0;
  readonly #ahead = new Ahead();
  #pumping = false;
  #drains = false;
  #lingered = 0;
  #head: RequestHead | undefined;
  #allowed: Allowed | undefined;
  #exchange: Exchange | undefined;
  #startedAt = 0;
  #takesBody = false;
  #heldBack = false;

  constructor(socket: Socket, seat: Seat, shared: Shared) {
    this.#socket = socket;
    this.#shared = shared;
    this.#seat = seat;
    this.#since = shared.clock.monotonic();
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 60_000);
    socket.on("data", (piece) => this.#data(piece));
    socket.on("drain", () => this.#drained());
    socket.on("end", () => this.#ended());
    // `close` follows, and says all that matters.
    socket.on("error", () => {});
    socket.on("close", () => this.#closed());
    seat.waits(this);
  }

  // What others tell it.

  /** The route of a project has changed: what it no longer allows ends now. */
  routeChanged({ projectId, now }: RouteChange): void {
    const allowed = this.#allowed;
    if (!allowed || !this.#head || allowed.route.project_id !== projectId) return;
    const open = allowed.right ? now !== undefined : this.#shared.judge.stillOpen(now, this.#head);
    if (!open) this.destroy();
  }

  /** What is open ends. Who has been answered nothing yet is told to come again, and then judged like whoever comes. */
  rightLost(): void {
    const waits = this.#phase === "deciding" || this.#phase === "exchange";
    if (!waits || (this.#exchange?.sentBytes ?? 0) > 0) return this.destroy();
    this.#exchange?.abort();
    this.#answerAndRecord(this.#shared.pages.unavailable(), false, false);
  }

  evict(): void {
    this.destroy();
  }

  /** Monotonic: since when it is this visitor who is waited for. */
  stalledSince(): number | undefined {
    return this.#phase === "lingering" ? this.#since : this.#exchange?.stalledSince();
  }

  /** The gateway ends: closes at once what waits, and the rest after its answer. */
  finish(): void {
    if (this.#phase === "head" && !this.#intake.begun) this.#close();
  }

  destroy(): void {
    this.#closed();
    this.#socket.destroy();
  }

  /** Called now and then: ends what takes longer than it may. */
  sweep(now: number): void {
    const lasts = now - this.#since;
    switch (this.#phase) {
      case "head":
        if (this.#drains) {
          if (lasts > limits.visitReadStallMs) this.destroy();
        } else if (this.#intake.begun) {
          if (lasts > limits.visitHeadMs) this.#refuse(this.#shared.pages.tooSlow());
        } else if (lasts > (this.#served > 0 ? limits.visitIdleMs : limits.visitHeadMs)) this.destroy();
        return;
      case "exchange":
        this.#exchange?.sweep(now);
        return;
      case "lingering":
        if (lasts > (this.#socket.writableFinished ? lingerMs : limits.visitReadStallMs)) this.destroy();
        return;
      case "deciding":
      case "closed":
    }
  }

  // The exchange's view of the visitor.

  send(pieces: readonly Piece[]): boolean {
    return writeTogether(this.#socket, pieces);
  }

  bodyWanted(): void {
    this.#takesBody = true;
    if (this.#head?.expectsContinue && this.#ahead.isEmpty)
      this.#socket.write("HTTP/1.1 100 Continue\r\n\r\n", "latin1");
    this.goOn();
  }

  holdBack(): void {
    this.#heldBack = true;
    this.#socket.pause();
  }

  goOn(): void {
    this.#heldBack = false;
    while (!this.#heldBack && this.#exchange && (this.#takesBody || this.#exchange.isTunnel)) {
      const piece = this.#ahead.take();
      if (!piece) break;
      this.#toExchange(this.#exchange, piece);
    }
    if (!this.#heldBack && !this.#ahead.isFull) this.#socket.resume();
  }

  appEnded(): void {
    this.#socket.end();
  }

  answered(again: boolean): void {
    this.#record(this.#exchange?.code ?? visitorLeft);
    this.#next(again && !this.#shared.ending());
  }

  failed(failure: Failure): void {
    const head = this.#head;
    const byRule = this.#allowed !== undefined && this.#allowed.right === undefined;
    if (head && byRule && mayBeOvercome(failure, head)) return this.#useCredential(head, failure);
    const page = this.#shared.pages.failure(failure, seerOf(this.#allowed));
    this.#answerAndRecord(page, this.#exchange?.bodyEnded === true);
  }

  cutOff(): void {
    this.destroy();
  }

  // The socket's events.

  #data(piece: Buffer): void {
    switch (this.#phase) {
      case "head":
        this.#keep(piece);
        this.#pump();
        return;
      case "deciding":
        this.#keep(piece);
        return;
      case "exchange":
        if (this.#exchange && this.#ahead.isEmpty && (this.#takesBody || this.#exchange.isTunnel))
          this.#toExchange(this.#exchange, piece);
        else this.#keep(piece);
        return;
      case "lingering":
        this.#lingered += piece.length;
        if (this.#lingered > lingerBytes) this.destroy();
        return;
      case "closed":
    }
  }

  #drained(): void {
    if (this.#drains) {
      this.#drains = false;
      this.#since = this.#shared.clock.monotonic();
      this.#pump();
    } else this.#exchange?.visitorDrained();
  }

  #ended(): void {
    if (this.#phase === "exchange") this.#exchange?.visitorEnded();
    else if (this.#phase === "head" && !this.#drains) this.destroy();
    else if (this.#phase === "lingering" && this.#socket.writableFinished) this.destroy();
  }

  /** Also called before the socket is really closed: nothing of this connection may reach anyone from here on. */
  #closed(): void {
    if (this.#phase === "closed") return;
    const exchange = this.#exchange;
    if (exchange) {
      this.#record(exchange.code ?? visitorLeft);
      exchange.abort();
    }
    this.#allowed?.right?.leave(this);
    this.#phase = "closed";
    this.#intake.forget();
    this.#ahead.clear();
    this.#seat.leave();
  }

  // Requests.

  #keep(piece: Buffer): void {
    this.#ahead.add(piece);
    if (this.#ahead.isFull) this.#socket.pause();
  }

  /** Takes one request after the other from what has come; a loop, so that many in one piece do not nest. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.#phase === "head" && !this.#drains) {
      const piece = this.#ahead.take();
      if (!piece) break;
      this.#headPiece(piece);
    }
    this.#pumping = false;
    if (this.#phase === "head" && !this.#ahead.isFull) this.#socket.resume();
  }

  #headPiece(piece: Buffer): void {
    if (!this.#intake.begun) this.#since = this.#shared.clock.monotonic();
    const read = this.#intake.read(piece);
    if (!read) return;
    this.#ahead.putBack(piece, read.end);
    if ("refused" in read.head) this.#refuse(this.#shared.pages.malformed(read.head));
    else this.#request(read.head);
  }

  #request(head: RequestHead): void {
    const { believesProxy, clock, judge, pages, trade } = this.#shared;
    this.#seat.serves(this);
    this.#phase = "deciding";
    this.#head = head;
    this.#startedAt = clock.monotonic();
    if (head.misplacedKey) return this.#answer(pages.misplacedKey(), false);
    const from = visitorOf(this.#seat.address, head, believesProxy);
    if (isOwnPath(head.path)) {
      void trade(head, from).then((traded) => {
        if (this.#phase === "deciding") this.#answer(pageOfTrade(traded, head, pages, clock), false);
      });
      return;
    }
    const decide = (verdict: Verdict): void => {
      if (this.#phase !== "deciding") return;
      if (verdict.kind === "allowed") this.#let(head, verdict, from);
      else this.#answer(pageOfVerdict(verdict, head, pages), false);
    };
    const verdict = judge.judge(head, from);
    if (verdict instanceof Promise) void verdict.then(decide);
    else decide(verdict);
  }

  /** What is open to everyone did not come up for a visitor: it is tried once more by what this one shows. */
  #useCredential(head: RequestHead, failure: Failure): void {
    const byRule = this.#allowed;
    this.#exchange = undefined;
    this.#phase = "deciding";
    const from = visitorOf(this.#seat.address, head, this.#shared.believesProxy);
    void Promise.resolve(this.#shared.judge.judgeCredential(head, from)).then((verdict) => {
      if (this.#phase !== "deciding") return;
      if (verdict.kind === "allowed") return this.#let(head, verdict, from);
      const page = this.#shared.pages.failure(failure, undefined);
      this.#allowed = byRule;
      this.#answerAndRecord(page, false);
    });
  }

  /** The one place from which a computer is reached. */
  #let(head: RequestHead, allowed: Allowed, from: string): void {
    const { proxy, scheme } = this.#shared;
    const { route, right } = allowed;
    const port = allowed.port ?? route.port;
    this.#allowed = allowed;
    right?.use(this);
    // The right may have been withdrawn while it was asked for.
    if (this.#phase !== "deciding") return;
    if (port === null) return this.failed({ kind: "no_service" });
    this.#phase = "exchange";
    const exchange = new Exchange(proxy, this, {
      head,
      lane: { projectId: route.project_id, computerId: route.computer_id, port },
      isWeb: allowed.port === undefined,
      rightId: right?.right.id ?? null,
      told: { from, scheme, narrow: allowed.narrow },
    });
    this.#exchange = exchange;
    exchange.start();
  }

  #toExchange(exchange: Exchange, piece: Buffer): void {
    if (exchange.isTunnel) return exchange.tunnelled(piece);
    if (exchange.bodyEnded) return this.#keep(piece);
    const end = exchange.body(piece, 0);
    if (end === bodyGoesOn) return;
    if (end === bodyIsMalformed) {
      const begun = exchange.code !== undefined;
      exchange.abort();
      if (begun) this.cutOff();
      else this.failed({ kind: "malformed_body" });
      return;
    }
    this.#takesBody = false;
    this.#ahead.putBack(piece, end);
  }

  // Answers of our own, and ends.

  /** A head that cannot be told from another: answers, and takes nothing more on this connection. */
  #refuse(page: Page): void {
    this.#seat.serves(this);
    this.#head = undefined;
    this.#answer(page, false);
  }

  #answerAndRecord(page: Page, bodyWhole: boolean, mayGoOn = true): void {
    this.#record(page.status);
    this.#answer(page, bodyWhole, mayGoOn);
  }

  /** `bodyWhole`: all of the request's body was read. `mayGoOn`: the connection may take another request. */
  #answer(page: Page, bodyWhole: boolean, mayGoOn = true): void {
    const head = this.#head;
    const again = mayGoOn && takesAnother(head, bodyWhole) && !this.#shared.ending();
    this.#socket.write(
      renderPage(page, { accept: head?.accept, bodyless: head?.method === "HEAD", closes: !again }),
    );
    this.#next(again);
  }

  #next(again: boolean): void {
    this.#allowed?.right?.leave(this);
    this.#allowed = undefined;
    this.#exchange = undefined;
    this.#head = undefined;
    this.#takesBody = false;
    this.#heldBack = false;
    this.#served += 1;
    this.#since = this.#shared.clock.monotonic();
    if (!again) return this.#close();
    this.#phase = "head";
    this.#drains = this.#socket.writableNeedDrain;
    this.#seat.waits(this);
    if (this.#socket.readableEnded && this.#ahead.isEmpty) return this.#close();
    this.#pump();
    if (this.#phase === "head") this.#socket.resume();
  }

  /** Nothing more is answered: what was written goes out, what still comes is read over for a while. */
  #close(): void {
    if (this.#phase === "closed") return;
    this.#phase = "lingering";
    this.#since = this.#shared.clock.monotonic();
    this.#intake.forget();
    this.#ahead.clear();
    this.#socket.end();
    this.#socket.resume();
  }

  #record(status: number): void {
    const { clock, records } = this.#shared;
    const [allowed, head, startedAt] = [this.#allowed, this.#head, this.#startedAt];
    if (!allowed || !head) return;
    records.add(recordOf({ allowed, head, exchange: this.#exchange, status, startedAt, clock }));
  }
}
