import { connect } from "node:net";

/** Writes bytes as they are and answers everything that comes back until the peer closes, or `waitMs` of silence. */
export const raw = (port: number, bytes: string | Uint8Array, waitMs = 1500): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const pieces: Buffer[] = [];
    socket.setTimeout(waitMs, () => socket.destroy());
    socket.on("connect", () => socket.write(bytes));
    socket.on("data", (piece) => pieces.push(piece));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => resolve(Buffer.concat(pieces).toString("latin1")));
  });
