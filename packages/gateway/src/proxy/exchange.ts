import { limits } from "@holdfast/contract";
import type { Clock } from "@holdfast/kit";
import { type AnswerHead, readAnswerHead } from "../head/answer.ts";
import { headGoesOn, headIsMalformed, HeadReader } from "../head/reader.ts";
import type { RequestHead } from "../head/request.ts";
import type { Failure } from "./failure.ts";
import { AnswerWriter } from "./answer-writer.ts";
import { type Piece, writeTogether } from "./gather.ts";
import { openLane } from "./opening.ts";
import type { LaneKey, Pool } from "./pool.ts";
import { mayBeRepeated, type Told, writeQuestion } from "./question.ts";
import { QuestionBody } from "./question-body.ts";
import type { Unreachable } from "./unreachable.ts";
import type { Upstream, UpstreamUser } from "./upstream.ts";
import type { Waker } from "./waker.ts";

/** The visitor's side of an exchange. */
export interface Visitor {
  /** Bytes of the answer. False when the visitor should catch up first; then `visitorDrained` says when. */
  send(pieces: readonly Piece[]): boolean;
  /** The app takes the body now: what has come of it is handed to `body`, and what comes. */
  bodyWanted(): void;
  /** Stop, and go on, handing over what comes. */
  holdBack(): void;
  goOn(): void;
  /** The app has finished its side of a WebSocket. */
  appEnded(): void;
  /** The whole answer was sent. `again`: another request may follow on the connection. */
  answered(again: boolean): void;
  /** Nothing of an answer was sent, and nothing will be. */
  failed(failure: Failure): void;
  /** Part of an answer was sent and the rest is not to be had: the visitor must be able to tell. */
  cutOff(): void;
}

/** What is shared by all exchanges. */
export interface Proxy {
  readonly pool: Pool;
  readonly waker: Waker;
  readonly clock: Clock;
  readonly unreachable: Unreachable;
}

export interface Order {
  readonly head: RequestHead;
  readonly lane: LaneKey;
  readonly isWeb: boolean;
  /** The right it goes by; null: what is open to everyone. */
  readonly rightId: string | null;
  readonly told: Told;
}

/** Heads of kind 1xx before an answer; more are a flood. */
const interimHeads = 8;
/** A request that cannot be asked again takes a kept connection only when the app used it this recently: it may be closing it just now. */
const freshMs = 1000;
/** An app that has not begun to answer by then may be asleep. */
const askAfterMs = 400;

/**
 * A visitor that hung up looks like one that only finished asking, until something is sent to it. So long may an answer that has begun be
 * silent for one that may be gone: an event stream would else be kept for nobody.
 */
const goneMs = 2000;

/** A WebSocket on which nothing was said for so long may have to go when others find no connection. */
const tunnelPatienceMs = 10_000;

type Phase = "opening" | "asked" | "answering" | "tunnel" | "over";

/** One request and its answer, or one WebSocket, between a visitor and an app. */
export class Exchange implements UpstreamUser {
  readonly #proxy: Proxy;
  readonly #visitor: Visitor;
  readonly #order: Order;
  #phase: Phase = "opening";
  #upstream: Upstream | undefined;
  #kept = false;
  /** Another request may follow on the visitor's connection; decided when the answer begins. */
  #again = false;
  #askedAgain = false;
  #reader: HeadReader | undefined;
  #interim = 0;
  #answer: AnswerHead | undefined;
  #writer: AnswerWriter | undefined;
  readonly #body: QuestionBody;
  #tunnelledBytes = 0;
  #visitorSlow = false;
  #appSlow = false;
  #visitorEndedAt: number | undefined;
  #appEndedAt: number | undefined;
  #askedAt = 0;
  /** Monotonic: when something last came from, or went to, either side. */
  #fromAppAt = 0;
  #fromVisitorAt = 0;
  #slowSince = 0;
  /** To the visitor, heads included. */
  sentBytes = 0;

  constructor(proxy: Proxy, visitor: Visitor, order: Order) {
    this.#proxy = proxy;
    this.#visitor = visitor;
    this.#order = order;
    this.#body = new QuestionBody(order.head.bodyBytes);
  }

  /** The code of the answer that was passed on; undefined before. */
  get code(): number | undefined {
    return this.#answer?.code;
  }

  get isTunnel(): boolean {
    return this.#phase === "tunnel";
  }

  get bodyEnded(): boolean {
    return this.#body.ended;
  }

  /** Of the visitor's body, or its side of a WebSocket. */
  get receivedBytes(): number {
    return this.#body.bytes + this.#tunnelledBytes;
  }

  start(): void {
    const { lane, head } = this.#order;
    const idle = this.#proxy.pool.takeIdle(lane, mayBeRepeated(head) ? Infinity : freshMs);
    if (idle) this.#ask(idle);
    else this.#open();
  }

  /** The visitor is gone, or loses the right to this: nothing more is sent or asked. */
  abort(): void {
    this.#leave(false);
  }

  /** Body bytes from `from` on; the index after the body's last byte, or `bodyGoesOn` or `bodyIsMalformed`. */
  body(piece: Buffer, from: number): number {
    this.#fromVisitorAt = this.#proxy.clock.monotonic();
    const pieces: Piece[] = [];
    const end = this.#body.read(piece, from, pieces);
    this.#toApp(pieces);
    return end;
  }

  /** Bytes of the visitor's side of a WebSocket. */
  tunnelled(piece: Buffer): void {
    this.#fromVisitorAt = this.#proxy.clock.monotonic();
    this.#tunnelledBytes += piece.length;
    this.#toApp([piece]);
  }

  visitorDrained(): void {
    if (!this.#visitorSlow) return;
    this.#visitorSlow = false;
    this.#upstream?.resume();
  }

  /** The visitor will send no more. Of a request that is whole the answer may still be wanted. */
  visitorEnded(): void {
    this.#visitorEndedAt = this.#proxy.clock.monotonic();
    if (this.#phase === "tunnel") this.#upstream?.end();
    else if (!this.#body.ended) {
      this.abort();
      this.#visitor.cutOff();
    }
  }

  /** Called now and then: ends what takes longer than it may. */
  sweep(now: number): void {
    const past = (since: number, ms: number): boolean => now - since > ms;
    const { lane, rightId } = this.#order;
    if (this.#phase === "over" || this.#phase === "opening") return;
    if (this.#visitorSlow && past(this.#slowSince, limits.visitReadStallMs)) return this.#cut();
    if (this.#phase === "asked" || this.#phase === "tunnel") {
      const waitsSince = this.#phase === "asked" ? this.#askedAt : this.#fromVisitorAt;
      const waits = this.#phase === "asked" || this.#fromVisitorAt > this.#fromAppAt;
      if (waits && past(waitsSince, askAfterMs)) this.#proxy.waker.nudge(lane.projectId, rightId);
    }
    if (this.#phase === "tunnel") {
      const endedAt = this.#visitorEndedAt ?? this.#appEndedAt;
      if (endedAt !== undefined && past(Math.max(endedAt, this.#fromAppAt), limits.visitIdleMs)) this.#cut();
      return;
    }
    if (!this.#body.ended && !this.#appSlow && past(this.#fromVisitorAt, limits.visitBodyStallMs))
      return this.#fail({ kind: "slow_body" });
    const heardAt = Math.max(this.#fromAppAt, this.#fromVisitorAt);
    const silentMs = this.#answer ? goneMs : limits.visitBodyStallMs;
    if (this.#visitorEndedAt !== undefined && past(Math.max(heardAt, this.#visitorEndedAt), silentMs))
      return this.#cut();
    const mayBeSilent = this.#answer?.body === "chunked" || this.#answer?.body === "close";
    if (!mayBeSilent && !this.#visitorSlow && past(heardAt, limits.visitAnswerMs))
      this.#fail({ kind: "late" });
  }

  upstreamData(piece: Buffer): void {
    this.#fromAppAt = this.#proxy.clock.monotonic();
    if (this.#phase === "tunnel") this.#send([piece]);
    else if (this.#phase === "asked") this.#answerHead(piece);
    else if (this.#writer) this.#answerBytes(this.#writer, [], piece, 0);
  }

  upstreamEnded(): void {
    if (this.#phase === "tunnel") {
      this.#appEndedAt = this.#proxy.clock.monotonic();
      this.#visitor.appEnded();
      return;
    }
    const ending = this.#phase === "answering" ? this.#writer?.hungUp() : undefined;
    if (ending) this.#finish(ending, false);
    else this.#lost();
  }

  upstreamDrained(): void {
    if (!this.#appSlow) return;
    this.#appSlow = false;
    this.#fromVisitorAt = this.#proxy.clock.monotonic();
    this.#visitor.goOn();
  }

  upstreamGone(): void {
    if (this.#phase === "tunnel" && this.#appEndedAt !== undefined && this.#visitorEndedAt !== undefined) {
      this.#leave(false);
      this.#visitor.answered(false);
    } else this.#lost();
  }

  stalledSince(): number | undefined {
    if (this.#phase === "opening") return undefined;
    if (this.#phase === "tunnel") return Math.max(this.#fromAppAt, this.#fromVisitorAt) + tunnelPatienceMs;
    if (this.#visitorSlow) return this.#slowSince;
    return this.#body.ended || this.#appSlow ? undefined : this.#fromVisitorAt;
  }

  evict(): void {
    this.#fail({ kind: "crowded" });
  }

  #open(): void {
    const { lane, isWeb, rightId } = this.#order;
    this.#phase = "opening";
    const wanted = (): boolean => this.#phase === "opening";
    void openLane(this.#proxy, { lane, isWeb, rightId }, wanted).then((opened) => {
      if ("kind" in opened) this.#fail(opened);
      else if (wanted()) this.#ask(opened);
      else opened.destroy();
    });
  }

  #ask(upstream: Upstream): void {
    const { head, told } = this.#order;
    const now = this.#proxy.clock.monotonic();
    this.#upstream = upstream;
    this.#kept = upstream.served > 0;
    this.#phase = "asked";
    this.#askedAt = now;
    this.#fromAppAt = now;
    this.#fromVisitorAt = now;
    upstream.attach(this);
    upstream.write(writeQuestion(head, told));
    if (!this.#body.ended) this.#visitor.bodyWanted();
  }

  #toApp(pieces: readonly Piece[]): void {
    const upstream = this.#upstream;
    if (!upstream || this.#phase === "over" || pieces.length === 0) return;
    if (writeTogether(upstream, pieces) || this.#appSlow) return;
    this.#appSlow = true;
    this.#visitor.holdBack();
  }

  #answerHead(piece: Buffer): void {
    this.#reader ??= new HeadReader(limits.visitHeadBytes);
    let at = 0;
    while (at < piece.length) {
      const end = this.#reader.read(piece, at);
      if (end === headGoesOn) return;
      if (end < 0)
        return this.#bad(
          end === headIsMalformed
            ? "its head holds a byte that may not stand there"
            : "its head is too large",
        );
      const answer = readAnswerHead(this.#reader.text, this.#order.head, this.#order.rightId !== null);
      if (typeof answer === "string") return this.#bad(answer);
      at = end;
      if (answer.code >= 200 || answer.webSocket) return this.#begin(answer, piece, at);
      this.#interim += 1;
      if (this.#interim > interimHeads) return this.#bad("it says again and again that it will answer");
    }
  }

  #begin(answer: AnswerHead, piece: Buffer, at: number): void {
    const { head } = this.#order;
    const writer = new AnswerWriter(answer, head.minor);
    this.#answer = answer;
    this.#writer = writer;
    this.#reader = undefined;
    this.#again = head.keepAlive && this.#body.ended && writer.endIsKnown;
    const pieces: Piece[] = [writer.head(!this.#again)];
    if (!answer.webSocket) {
      this.#phase = "answering";
      return this.#answerBytes(writer, pieces, piece, at);
    }
    this.#phase = "tunnel";
    if (at < piece.length) pieces.push(piece.subarray(at));
    this.#send(pieces);
    this.#visitor.goOn();
  }

  /** What of `piece` from `at` on belongs to the answer goes to the visitor, after `pieces`. */
  #answerBytes(writer: AnswerWriter, pieces: Piece[], piece: Buffer, at: number): void {
    const state = writer.body(piece, at, pieces);
    if (state === "ended" || state === "ended_with_more") return this.#finish(pieces, state === "ended");
    this.#send(pieces);
    if (state === "malformed") this.#cut();
  }

  #send(pieces: readonly Piece[]): void {
    if (pieces.length === 0) return;
    for (const piece of pieces) this.sentBytes += piece.length;
    if (this.#visitor.send(pieces) || this.#visitorSlow || this.#phase === "over") return;
    this.#visitorSlow = true;
    this.#slowSince = this.#proxy.clock.monotonic();
    this.#upstream?.pause();
  }

  /** The answer is whole. `clean`: and nothing came after it. */
  #finish(last: readonly Piece[], clean: boolean): void {
    for (const piece of last) this.sentBytes += piece.length;
    if (last.length > 0) this.#visitor.send(last);
    this.#leave(clean && this.#body.ended && this.#answer?.reusable === true);
    this.#visitor.answered(this.#again);
  }

  /** The connection into the cell is of no more use. */
  #lost(): void {
    if (this.#phase === "over") return;
    if (this.#phase !== "asked") return this.#cut();
    if (this.#kept && !this.#askedAgain && !this.#reader && mayBeRepeated(this.#order.head)) {
      this.#askedAgain = true;
      this.#drop();
      return this.#open();
    }
    this.#bad("it hung up without an answer");
  }

  #bad(why: string): void {
    this.#fail({ kind: "bad_answer", why });
  }

  #fail(failure: Failure): void {
    if (this.#phase === "over") return;
    if (this.#answer) return this.#cut();
    this.#leave(false);
    this.#visitor.failed(failure);
  }

  #cut(): void {
    if (this.#phase === "over") return;
    this.#leave(false);
    this.#visitor.cutOff();
  }

  #leave(reusable: boolean): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    if (!reusable || !this.#upstream) return this.#drop();
    if (this.#visitorSlow) this.#upstream.resume();
    this.#proxy.pool.release(this.#upstream, this.#answer?.keptMs);
    this.#upstream = undefined;
  }

  #drop(): void {
    this.#upstream?.detach();
    this.#upstream?.destroy();
    this.#upstream = undefined;
  }
}
