/** Pages that watch at once; one more is refused. */
const watchingMax = 200;
/** What may wait for a page that reads too slowly; then it is let go, and its browser comes back by itself. */
const backlogBytes = 64 * 1024;

/** Sends events to every open page (server-sent events: one reply that never ends). */
export class Live {
  #streams = new Set();

  get watching() {
    return this.#streams.size;
  }

  /** Makes the reply a stream until the page goes or `signal` aborts. False when there are too many. */
  add(response, signal) {
    if (this.#streams.size >= watchingMax) return false;
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    // HEAD asks for the head alone.
    if (response.req.method === "HEAD") {
      response.end();
      return true;
    }
    // How long a browser waits before it comes back, in milliseconds.
    response.write("retry: 2000\n\n");
    this.#streams.add(response);
    const end = () => response.end();
    signal.addEventListener("abort", end, { once: true });
    response.once("close", () => {
      this.#streams.delete(response);
      signal.removeEventListener("abort", end);
    });
    return true;
  }

  send(data) {
    const text = `data: ${JSON.stringify(data)}\n\n`;
    for (const stream of this.#streams) {
      if (stream.writableLength > backlogBytes) stream.destroy();
      else stream.write(text);
    }
  }
}
