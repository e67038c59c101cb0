import type { Socket } from "node:net";

/** `u32 length (big-endian) · JSON`. One message; a longer one ends the connection. */
export const messageLimitBytes = 1024 * 1024;

export const encodeMessage = (message: unknown): Buffer => {
  const body = Buffer.from(JSON.stringify(message));
  if (body.length > messageLimitBytes)
    throw new RangeError(`a message of ${body.length} bytes is over the limit of ${messageLimitBytes}`);
  const head = Buffer.allocUnsafe(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
};

/** Calls `onMessage` for each whole message. Malformed input destroys the socket: the peer is broken or hostile. */
export const readMessages = (socket: Socket, onMessage: (message: unknown) => void): void => {
  let held: Buffer[] = [];
  let heldBytes = 0;
  const take = (): void => {
    let bytes = held.length === 1 && held[0] ? held[0] : Buffer.concat(held);
    while (bytes.length >= 4) {
      const length = bytes.readUInt32BE(0);
      if (length > messageLimitBytes) return void socket.destroy(new RangeError("a message over the limit"));
      if (bytes.length < 4 + length) break;
      let message: unknown;
      try {
        message = JSON.parse(bytes.toString("utf8", 4, 4 + length));
      } catch (cause) {
        return void socket.destroy(new Error("a message that is not JSON", { cause }));
      }
      bytes = bytes.subarray(4 + length);
      onMessage(message);
    }
    held = bytes.length > 0 ? [bytes] : [];
    heldBytes = bytes.length;
  };
  socket.on("data", (chunk: Buffer) => {
    held.push(chunk);
    heldBytes += chunk.length;
    const first = held[0];
    // Joining on each chunk of a large message would be quadratic: wait until the length says that it is whole.
    if (
      first &&
      first.length >= 4 &&
      heldBytes < 4 + first.readUInt32BE(0) &&
      first.readUInt32BE(0) <= messageLimitBytes
    )
      return;
    take();
  });
};
