import type { Socket } from "node:net";
import { limits } from "@holdfast/contract";
import { Intake } from "../../head/intake.ts";
import type { RequestHead } from "../../head/request.ts";
import { type Piece, writeTogether } from "../../proxy/gather.ts";
import type { Page } from "../pages/page.ts";
import { renderPage } from "../pages/render.ts";
import { Ahead } from "./ahead.ts";
import type { Evictable, Seat } from "./ledger.ts";
import type { RouteChange, Shared } from "./shared.ts";
import { type Line, Visit } from "./visit.ts";

/** After the last answer: for so long, and so much, what the visitor still sends is read, so that the answer is not lost to a reset. */
const lingerMs = 2000;
const lingerBytes = 1024 * 1024;

/** `open`: a visit is under way, or the next one's head is waited for. `lingering`: all is answered, the end is near. */
type Phase = "open" | "lingering" | "closed";

/** One socket of a visitor: heads in, answers out, one visit after the other. */
export class Connection implements Line, Evictable {
  readonly #socket: Socket;
  readonly #shared: Shared;
  readonly #seat: Seat;
  readonly ahead = new Ahead();
  readonly #intake = new Intake();
  #phase: Phase = "open";
  #visit: Visit | undefined;
  /** Monotonic: since when a head has been coming or was waited for, or it lingers. */
  #since: number;
  #served = 0;
  #pumping = false;
  #lingered = 0;

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

  // What the door tells it.

  routeChanged(change: RouteChange): void {
    this.#visit?.routeChanged(change);
  }

  evict(): void {
    this.destroy();
  }

  /** Monotonic: since when it is this visitor who is waited for. */
  stalledSince(): number | undefined {
    return this.#phase === "lingering" ? this.#since : this.#visit?.stalledSince();
  }

  /** The gateway ends: closes at once what waits, and the rest after its answer. */
  finish(): void {
    if (this.#waits && !this.#intake.begun) this.#close();
  }

  destroy(): void {
    this.#closed();
    this.#socket.destroy();
  }

  /** Called now and then: ends what takes longer than it may. */
  sweep(now: number): void {
    if (this.#visit) return this.#visit.sweep(now);
    if (now - this.#since <= this.#patienceMs()) return;
    if (this.#waits && this.#intake.begun) this.#refuse(this.#shared.pages.tooSlow());
    else this.destroy();
  }

  // A visit's view of its connection.

  get address(): string {
    return this.#seat.address;
  }

  get ended(): boolean {
    return this.#socket.readableEnded;
  }

  send(pieces: readonly Piece[]): boolean {
    return writeTogether(this.#socket, pieces);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    if (!this.ahead.isFull) this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
  }

  answer(page: Page, head: RequestHead | undefined, again: boolean): void {
    const goesOn = again && !this.#shared.ending();
    this.#socket.write(
      renderPage(page, { accept: head?.accept, bodyless: head?.method === "HEAD", closes: !goesOn }),
    );
    this.next(goesOn);
  }

  next(again: boolean): void {
    this.#visit = undefined;
    this.#served += 1;
    if (!again || this.#shared.ending()) return this.#close();
    this.#since = this.#shared.clock.monotonic();
    this.#seat.waits(this);
    this.#pump();
  }

  // The socket's events.

  #data(piece: Buffer): void {
    if (this.#phase !== "open") return this.#readOver(piece);
    if (this.#visit?.takes && this.ahead.isEmpty) return this.#visit.take(piece);
    this.ahead.add(piece);
    if (this.ahead.isFull) this.#socket.pause();
    if (this.#waits) this.#pump();
  }

  #drained(): void {
    if (this.#visit) return this.#visit.drained();
    this.#since = this.#shared.clock.monotonic();
    this.#pump();
  }

  #ended(): void {
    if (this.#visit) this.#visit.ended();
    else this.#pump();
  }

  /** Also called before the socket is really closed: nothing of this connection may reach anyone from here on. */
  #closed(): void {
    if (this.#phase === "closed") return;
    this.#phase = "closed";
    this.#visit?.gone();
    this.#visit = undefined;
    this.#intake.forget();
    this.ahead.clear();
    this.#seat.leave();
  }

  // Heads.

  /** A head may come. */
  get #waits(): boolean {
    return this.#phase === "open" && this.#visit === undefined;
  }

  /** How long the present state may last while there is no visit. */
  #patienceMs(): number {
    if (this.#phase !== "open") return this.#socket.writableFinished ? lingerMs : limits.visitReadStallMs;
    if (this.#socket.writableNeedDrain) return limits.visitReadStallMs;
    return this.#intake.begun || this.#served === 0 ? limits.visitHeadMs : limits.visitIdleMs;
  }

  /**
   * Takes one head after the other from what has come, while its visits are answered at once; a loop, so that many in one piece do not nest.
   * Who does not read the answers is asked for nothing more.
   */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    while (this.#waits && !this.#socket.writableNeedDrain) {
      const piece = this.ahead.take();
      if (!piece) break;
      this.#headPiece(piece);
    }
    this.#pumping = false;
    if (!this.#waits) return;
    if (this.ended && this.ahead.isEmpty) this.#close();
    else this.resume();
  }

  #headPiece(piece: Buffer): void {
    if (!this.#intake.begun) this.#since = this.#shared.clock.monotonic();
    const read = this.#intake.read(piece);
    if (!read) return;
    this.ahead.putBack(piece, read.end);
    if ("refused" in read.head) return this.#refuse(this.#shared.pages.malformed(read.head));
    this.#seat.serves(this);
    this.#visit = new Visit(this, read.head, this.#shared);
    this.#visit.start();
  }

  /** A head that cannot be told from another: answers, and takes nothing more on this connection. */
  #refuse(page: Page): void {
    this.#seat.serves(this);
    this.answer(page, undefined, false);
  }

  // The end.

  /** Nothing more is answered: what was written goes out, what still comes is read over for a while. */
  #close(): void {
    if (this.#phase === "closed") return;
    this.#phase = "lingering";
    this.#since = this.#shared.clock.monotonic();
    this.#intake.forget();
    this.ahead.clear();
    this.#socket.end();
    this.#socket.resume();
  }

  #readOver(piece: Buffer): void {
    this.#lingered += piece.length;
    if (this.#lingered > lingerBytes) this.destroy();
  }
}
