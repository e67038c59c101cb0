import { agentProtocol, frameHeaderBytes, frameType } from "@holdfast/contract";
import { z } from "zod";

/** What the agent says before the bytes of a connection begin. A kernel's HELLO is some hundred bytes. */
const longestFrameBytes = 64 * 1024;

/** Why the agent makes no connection to the port. `refused`: nothing listens there. `full`: it holds too many. */
export type Declined = "refused" | "full" | "broken";

/** `more`: not whole yet; a number: the connection stands, and the app's own bytes begin at this index of the piece. */
export type Greeting = "more" | Declined | number;

/** The CALL that asks the agent for a connection to a port inside the cell. */
export const encodeConnect = (port: number): Buffer => {
  const payload = Buffer.from(
    JSON.stringify({ protocol: agentProtocol.current, method: "ingress.connect", params: { port } }),
  );
  const frame = Buffer.alloc(frameHeaderBytes + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame.writeUInt8(frameType.call, 4);
  payload.copy(frame, frameHeaderBytes);
  return frame;
};

const refusal = z.object({ code: z.string() });

/** Reads HELLO and RESULT (or ERROR) of one splice. All of it is the cell's word: anything else is `broken`. */
export class GreetingReader {
  #held: Buffer = Buffer.alloc(0);
  #greeted = false;

  read(piece: Buffer): Greeting {
    const before = this.#held.length;
    let bytes = before === 0 ? piece : Buffer.concat([this.#held, piece]);
    const all = bytes.length;
    for (;;) {
      if (bytes.length < frameHeaderBytes) break;
      const length = bytes.readUInt32BE(0);
      const type = bytes.readUInt8(4);
      const wanted = this.#greeted
        ? type === frameType.result || type === frameType.error
        : type === frameType.hello;
      if (length > longestFrameBytes || !(wanted || type === frameType.error)) return "broken";
      if (bytes.length < frameHeaderBytes + length) break;
      const payload = bytes.subarray(frameHeaderBytes, frameHeaderBytes + length);
      bytes = bytes.subarray(frameHeaderBytes + length);
      if (type === frameType.error) return readRefusal(payload);
      if (type === frameType.result) return all - bytes.length - before;
      this.#greeted = true;
    }
    this.#held = Buffer.from(bytes);
    return "more";
  }
}

const readRefusal = (payload: Buffer): Declined => {
  try {
    const { code } = refusal.parse(JSON.parse(payload.toString("utf8")));
    if (code === "connection_refused") return "refused";
    return code === "limit_reached" ? "full" : "broken";
  } catch {
    return "broken";
  }
};
