import type { AnswerHead } from "../head/answer.ts";
import { bodyIsMalformed } from "../head/chunks.ts";
import type { RequestHead } from "../head/request.ts";
import { AnswerReader } from "./answer-reader.ts";
import { AnswerWriter } from "./answer-writer.ts";
import type { Failure } from "./failure.ts";
import { type Piece, writeTogether } from "./gather.ts";
import { type Destination, openLane, type Proxy } from "./opening.ts";
import { Patience, type Standing } from "./patience.ts";
import { mayBeRepeated, type Told, writeQuestion } from "./question.ts";
import { QuestionBody } from "./question-body.ts";
import type { Upstream, UpstreamUser } from "./upstream.ts";
import type { Visitor } from "./visitor.ts";

/** What is exchanged: one request, and where it goes. */
export interface Order extends Destination {
  readonly head: RequestHead;
  readonly told: Told;
}

/** A request that cannot be asked again takes a kept connection only when the app used it this recently: it may be closing it just now. */
const freshMs = 1000;

type Phase = "opening" | Standing["phase"] | "over";

/** One request and its answer, or one WebSocket, between a visitor and an app. */
export class Exchange implements UpstreamUser {
  readonly #proxy: Proxy;
  readonly #visitor: Visitor;
  readonly #order: Order;
  readonly #body: QuestionBody;
  readonly #patience: Patience;
  #phase: Phase = "opening";
  #upstream: Upstream | undefined;
  #askedAgain = false;
  /** From the answer's first byte to the end of its head. */
  #reader: AnswerReader | undefined;
  /** Of the answer that has begun. */
  #writer: AnswerWriter | undefined;
  /** Another request may follow on the visitor's connection: so the answer's head has said. */
  #again = false;
  #tunnelledBytes = 0;
  #appSlow = false;
  /** To the visitor, heads included. */
  sentBytes = 0;

  constructor(proxy: Proxy, visitor: Visitor, order: Order) {
    this.#proxy = proxy;
    this.#visitor = visitor;
    this.#order = order;
    this.#body = new QuestionBody(order.head.bodyBytes);
    this.#patience = new Patience(proxy.clock);
  }

  /** The code of the answer that was passed on; undefined before. */
  get code(): number | undefined {
    return this.#writer?.answer.code;
  }

  get isTunnel(): boolean {
    return this.#phase === "tunnel";
  }

  get bodyEnded(): boolean {
    return this.#body.ended;
  }

  /** What the visitor sends now is wanted: its body, or its side of a WebSocket. */
  get takes(): boolean {
    if (this.#appSlow) return false;
    if (this.#phase === "tunnel") return true;
    return (this.#phase === "asked" || this.#phase === "answering") && !this.#body.ended;
  }

  /** The app does not take more at the moment. */
  get heldBack(): boolean {
    return this.#appSlow;
  }

  /** Of the visitor's body, or its side of a WebSocket. */
  get receivedBytes(): number {
    return this.#body.bytes + this.#tunnelledBytes;
  }

  start(): void {
    const { lane, head } = this.#order;
    // It is woken first; what was kept open is there afterwards.
    if (this.#proxy.resting.rests(lane.computerId)) return this.#open();
    const idle = this.#proxy.pool.takeIdle(lane, mayBeRepeated(head) ? Infinity : freshMs);
    if (idle) this.#ask(idle);
    else this.#open();
  }

  /** The visitor is gone, or loses the right to this: nothing more is sent or asked. */
  abort(): void {
    this.#leave(false);
  }

  /** What the visitor sends while the exchange `takes`. Answers from where on `piece` is none of it. */
  take(piece: Buffer): number {
    this.#patience.heardVisitor();
    this.#moved();
    if (this.#phase === "tunnel") {
      this.#tunnelledBytes += piece.length;
      this.#toApp([piece]);
      return piece.length;
    }
    const pieces: Piece[] = [];
    const end = this.#body.read(piece, pieces);
    this.#toApp(pieces);
    if (end === bodyIsMalformed) this.#fail({ kind: "malformed_body" });
    return end < 0 ? piece.length : end;
  }

  visitorDrained(): void {
    if (!this.#patience.visitorSlow) return;
    this.#patience.visitorDrained();
    this.#upstream?.resume();
  }

  /** The visitor will send no more than was taken. Of a request that is whole the answer may still be wanted. May be said again. */
  visitorEnded(): void {
    this.#patience.visitorEnded();
    if (this.#phase === "tunnel") this.#upstream?.end();
    else if (!this.#body.ended) this.#cut();
  }

  /** Called now and then: ends what takes longer than it may. */
  sweep(now: number): void {
    const standing = this.#standing();
    if (!standing) return;
    const overdue = this.#patience.overdue(now, standing);
    if (overdue === "gone") return this.#cut();
    if (overdue) return this.#fail(overdue);
    const { lane, rightId } = this.#order;
    if (this.#patience.mayBeAsleep(now, standing.phase)) this.#proxy.waker.nudge(lane.projectId, rightId);
  }

  upstreamData(piece: Buffer): void {
    this.#patience.heardApp();
    this.#moved();
    if (this.#phase === "tunnel") this.#send([piece]);
    else if (this.#phase === "asked") this.#answerHead(piece);
    else if (this.#writer) this.#answerBytes(this.#writer, [], piece, 0);
  }

  upstreamEnded(): void {
    if (this.#phase === "tunnel") {
      this.#patience.appEnded();
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
    this.#patience.heardVisitor();
    this.#visitor.goOn();
  }

  upstreamGone(): void {
    if (this.#phase === "tunnel" && this.#patience.bothEnded) {
      this.#leave(false);
      this.#visitor.answered(false);
    } else this.#lost();
  }

  stalledSince(): number | undefined {
    const standing = this.#standing();
    return standing && this.#patience.stalledSince(standing);
  }

  evict(): void {
    this.#fail({ kind: "crowded" });
  }

  #standing(): Standing | undefined {
    if (this.#phase === "opening" || this.#phase === "over") return undefined;
    return { phase: this.#phase, takes: this.takes, answerBody: this.#writer?.answer.body };
  }

  #open(): void {
    this.#phase = "opening";
    const wanted = (): boolean => this.#phase === "opening";
    void openLane(this.#proxy, this.#order, wanted).then((opened) => {
      if ("kind" in opened) this.#fail(opened);
      else if (wanted()) this.#ask(opened);
      else opened.destroy();
    });
  }

  #ask(upstream: Upstream): void {
    const { head, told } = this.#order;
    this.#upstream = upstream;
    this.#phase = "asked";
    this.#patience.asked();
    this.#moved();
    upstream.attach(this);
    upstream.write(writeQuestion(head, told));
    if (!this.#body.ended) this.#visitor.bodyWanted();
  }

  #moved(): void {
    this.#proxy.moved(this.#order.lane.projectId);
  }

  #toApp(pieces: readonly Piece[]): void {
    const upstream = this.#upstream;
    if (!upstream || this.#phase === "over" || pieces.length === 0) return;
    if (writeTogether(upstream, pieces) || this.#appSlow) return;
    this.#appSlow = true;
    this.#visitor.holdBack();
  }

  #answerHead(piece: Buffer): void {
    this.#reader ??= new AnswerReader(this.#order.head, this.#order.rightId !== null);
    const read = this.#reader.read(piece);
    if (typeof read === "string") this.#bad(read);
    else if (read) this.#begin(read.answer, piece, read.end);
  }

  #begin(answer: AnswerHead, piece: Buffer, at: number): void {
    const { head } = this.#order;
    const writer = new AnswerWriter(answer, head.minor);
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
    if (this.#visitor.send(pieces) || this.#patience.visitorSlow || this.#phase === "over") return;
    this.#patience.visitorSlows();
    this.#upstream?.pause();
  }

  /** The answer is whole. `clean`: and nothing came after it. */
  #finish(last: readonly Piece[], clean: boolean): void {
    for (const piece of last) this.sentBytes += piece.length;
    if (last.length > 0) this.#visitor.send(last);
    this.#leave(clean && this.#body.ended && this.#writer?.answer.reusable === true);
    this.#visitor.answered(this.#again);
  }

  /** The connection into the cell is of no more use. */
  #lost(): void {
    if (this.#phase === "over") return;
    if (this.#phase !== "asked") return this.#cut();
    const kept = (this.#upstream?.served ?? 0) > 0;
    if (kept && !this.#askedAgain && !this.#reader && mayBeRepeated(this.#order.head)) {
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
    if (this.#writer) return this.#cut();
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
    if (this.#patience.visitorSlow) this.#upstream.resume();
    this.#proxy.pool.release(this.#upstream, this.#writer?.answer.keptMs);
    this.#upstream = undefined;
  }

  #drop(): void {
    this.#upstream?.detach();
    this.#upstream?.destroy();
    this.#upstream = undefined;
  }
}
