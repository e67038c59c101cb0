import { connect, createServer, type Server, type Socket } from "node:net";

/** A computer's agent as far as visitors reach it: `native/agent/PROTOCOL.md`, `ingress.connect`. */
export interface FakeAgent {
  /** Connections that asked for a port, over all. */
  readonly connections: number;
  /** Holds calls back as a frozen cell does: taken, and not answered. */
  frozen: boolean;
  close(): Promise<void>;
}

const frame = (type: number, body: unknown): Buffer => {
  const payload = Buffer.from(JSON.stringify(body));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(payload.length);
  head[4] = type;
  return Buffer.concat([head, payload]);
};

/** What stands behind a port inside the cell: a TCP port of the test's, or code that gets the socket itself. */
export type Inside = number | ((socket: Socket) => void);

export const startAgent = async (
  path: string,
  inside: (port: number) => Inside | undefined,
): Promise<FakeAgent> => {
  const sockets = new Set<Socket>();
  const agent = { connections: 0, frozen: false, close: async () => {} };
  const serve = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    if (agent.frozen) return;
    socket.write(frame(1, { protocol: 1, oldest: 1, agent: "test", features: [], boot: "0".repeat(32) }));
    let held: Buffer = Buffer.alloc(0);
    const read = (piece: Buffer): void => {
      held = Buffer.concat([held, piece]);
      if (held.length < 5 || held.length < 5 + held.readUInt32BE(0)) return;
      const end = 5 + held.readUInt32BE(0);
      const call = JSON.parse(held.toString("utf8", 5, end)) as { params: { port: number } };
      if (held.length > end) throw new Error("the host sent bytes before the splice stood");
      socket.off("data", read);
      agent.connections += 1;
      splice(socket, inside(call.params.port));
    };
    socket.on("data", read);
  };
  const splice = (socket: Socket, target: Inside | undefined): void => {
    if (typeof target === "function") {
      socket.write(frame(3, {}));
      target(socket);
      return;
    }
    const refuse = (): void => void socket.end(frame(4, { code: "connection_refused", message: "nothing" }));
    if (target === undefined) return refuse();
    const app = connect({ port: target, host: "127.0.0.1", allowHalfOpen: true });
    app.once("error", refuse);
    app.once("connect", () => {
      app.off("error", refuse);
      app.on("error", () => socket.destroy());
      socket.write(frame(3, {}));
      app.pipe(socket);
      socket.pipe(app);
    });
    socket.on("close", () => app.destroy());
    app.on("close", () => socket.destroySoon());
  };
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, serve);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return Object.assign(agent, {
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  });
};
