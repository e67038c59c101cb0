import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";

/** Where a visitor's request goes: a proxy on loopback, or a socket of the file system for the way without a proxy. */
export type Target =
  | { readonly port: number; readonly host: string }
  | { readonly path: string; readonly host: string };

const open = (target: Target): Socket =>
  "port" in target ? connect(target.port, "127.0.0.1") : connect(target.path);

/** Milliseconds from the request to the first event of a stream. */
export const firstEventMs = async (target: Target): Promise<number> => {
  const socket = open(target);
  await once(socket, "connect");
  const since = performance.now();
  socket.write(`GET /events HTTP/1.1\r\nHost: ${target.host}\r\n\r\n`);
  try {
    let text = "";
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      text += String(chunk);
      if (text.includes("data: first")) return performance.now() - since;
    }
    throw new Error(`the stream ended before its first event: ${text.slice(0, 500)}`);
  } finally {
    socket.destroy();
  }
};

/** Reads `bytes` at no more than `bytesPerSecond`; gives back their digest. */
export const readSlowly = async (
  target: { readonly port: number; readonly host: string },
  bytes: number,
  bytesPerSecond: number,
): Promise<string> => {
  const asked = request({
    host: "127.0.0.1",
    port: target.port,
    path: `/bytes/${bytes}`,
    headers: { host: target.host },
  });
  asked.end();
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  const digest = createHash("sha256");
  const since = performance.now();
  let read = 0;
  for await (const chunk of response) {
    digest.update(chunk as Buffer);
    read += (chunk as Buffer).length;
    const aheadMs = (read / bytesPerSecond) * 1000 - (performance.now() - since);
    if (aheadMs > 5) await new Promise((resolve) => setTimeout(resolve, aheadMs));
  }
  if (read !== bytes) throw new Error(`${read} of ${bytes} bytes came`);
  return digest.digest("hex");
};

export const digestOf = (bytes: number): string => {
  const piece = Buffer.alloc(64 * 1024, "holdfast");
  const digest = createHash("sha256");
  for (let left = bytes; left > 0; left -= piece.length)
    digest.update(left < piece.length ? piece.subarray(0, left) : piece);
  return digest.digest("hex");
};

/** WebSockets that were accepted and say nothing. The caller destroys them. */
export const idleWebSockets = async (
  port: number,
  hosts: readonly string[],
  count: number,
): Promise<readonly Socket[]> => {
  const sockets: Socket[] = [];
  for (let index = 0; index < count; index += 1) {
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket);
    socket.write(
      `GET /socket HTTP/1.1\r\nHost: ${hosts[index % hosts.length] ?? ""}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    const [chunk] = (await once(socket, "data", { signal: AbortSignal.timeout(10_000) })) as [Buffer];
    if (!chunk.toString("latin1").startsWith("HTTP/1.1 101"))
      throw new Error(`a WebSocket was refused: ${chunk.toString("latin1", 0, 80)}`);
    socket.on("error", () => socket.destroy());
  }
  return sockets;
};

/** Asks for much and reads nothing of it. The caller destroys it. */
export const stalledReader = async (port: number, host: string): Promise<Socket> => {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.pause();
  socket.write(`GET /bytes/1000000000 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  socket.on("error", () => socket.destroy());
  return socket;
};
