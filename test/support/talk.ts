import { connect, type Socket } from "node:net";
import { until } from "./until.ts";

/** One connection whose bytes the test sends as it likes. */
export interface Talk {
  readonly socket: Socket;
  /** All that came, one character for each byte. */
  readonly text: string;
  /** On `performance.now()`; undefined while it is open. */
  readonly closedAt: number | undefined;
  send(bytes: string | Uint8Array): void;
  /** Until this came. Throws when it does not, or the connection ends before. */
  hears(what: string | RegExp, withinMs?: number): Promise<void>;
  closes(withinMs?: number): Promise<number>;
  end(): void;
}

/** `from`: which of loopback's addresses it comes from; to the gateway each is another visitor. */
export const dial = (port: number, bytes: string | Uint8Array = "", from = "127.0.0.1"): Promise<Talk> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: from, noDelay: true });
    let text = "";
    let closedAt: number | undefined;
    socket.setEncoding("latin1").on("data", (piece: string) => (text += piece));
    socket.once("error", reject);
    socket.once("close", () => (closedAt = performance.now()));
    const came = (what: string | RegExp): boolean =>
      typeof what === "string" ? text.includes(what) : what.test(text);
    socket.once("connect", () => {
      socket.off("error", reject);
      // A reset is an end like another.
      socket.on("error", () => {});
      if (bytes.length > 0) socket.write(bytes);
      resolve({
        socket,
        get text() {
          return text;
        },
        get closedAt() {
          return closedAt;
        },
        send: (more) => void socket.write(more),
        hears: (what, withinMs) =>
          until(
            `${String(what)} comes`,
            () => {
              if (came(what)) return true;
              if (closedAt !== undefined)
                throw new Error(`it ended before ${String(what)} came: ${text.slice(0, 500)}`);
              return false;
            },
            { ...(withinMs === undefined ? {} : { withinMs }), detail: () => text.slice(0, 500) },
          ),
        closes: async (withinMs = 10_000) => {
          await until("the connection ends", () => closedAt !== undefined, { withinMs });
          return closedAt ?? 0;
        },
        end: () => void socket.destroy(),
      });
    });
  });

/** A request's head, with the lines given. */
export const head = (target: string, host: string, lines: readonly string[] = []): string =>
  `${[target, `Host: ${host}`, ...lines].join("\r\n")}\r\n\r\n`;

/** What asks for a WebSocket; `key` is any. */
export const webSocketLines = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/** A masked text frame of a WebSocket, up to 125 bytes. */
export const frame = (text: string): Uint8Array =>
  Uint8Array.from([0x81, 0x80 | text.length, 0, 0, 0, 0, ...Buffer.from(text)]);
