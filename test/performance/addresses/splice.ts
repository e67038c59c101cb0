/**
 * Stands between every proxy and a cell's ingress socket, so that all go the same way: who speaks the agent's protocol is passed through,
 * who does not (nginx and the libraries speak HTTP at once) gets the call made for it.
 *
 * usage: splice.ts <ingress.sock> <pass.sock> [<port>=<raw.sock>]…
 */
import { connect, createServer, type Socket } from "node:net";
import process from "node:process";

const [ingress = "", pass = "", ...raws] = process.argv.slice(2);
const patience = 30_000;

const join = (one: Socket, other: Socket): void => {
  one.pipe(other);
  other.pipe(one);
  for (const [socket, peer] of [
    [one, other],
    [other, one],
  ] as const) {
    socket.on("error", () => peer.destroy());
    socket.on("close", () => peer.destroy());
  }
};

const call = (port: number): Buffer => {
  const payload = Buffer.from(JSON.stringify({ protocol: 1, method: "ingress.connect", params: { port } }));
  const frame = Buffer.alloc(5 + payload.length);
  frame.writeUInt32BE(payload.length, 0);
  frame[4] = 2;
  payload.copy(frame, 5);
  return frame;
};

/** Reads HELLO and RESULT, and gives back what came after them. Destroys the socket on anything else. */
const spliced = (agent: Socket, done: (rest: Buffer) => void): void => {
  let held: Buffer = Buffer.alloc(0);
  let frames = 0;
  const read = (chunk: Buffer): void => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 5) {
      const end = 5 + held.readUInt32BE(0);
      if (end > 64 * 1024) return void agent.destroy();
      if (held.length < end) return;
      const type = held[4];
      held = held.subarray(end);
      frames += 1;
      if (type !== (frames === 1 ? 1 : 3)) return void agent.destroy();
      if (frames === 2) {
        agent.off("data", read);
        agent.pause();
        return done(held);
      }
    }
  };
  agent.on("data", read);
};

createServer({ noDelay: true, allowHalfOpen: true }, (socket) =>
  join(socket, connect({ path: ingress, allowHalfOpen: true })),
).listen(pass);
for (const raw of raws) {
  const [port, path] = raw.split("=", 2);
  createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
    const agent = connect({ path: ingress, allowHalfOpen: true });
    agent.setTimeout(patience, () => undefined);
    agent.on("error", () => socket.destroy());
    socket.on("error", () => agent.destroy());
    agent.write(call(Number(port)));
    spliced(agent, (rest) => {
      if (rest.length > 0) socket.write(rest);
      join(socket, agent);
    });
  }).listen(path);
}
process.send?.("ready");
process.on("disconnect", () => process.exit(0));
