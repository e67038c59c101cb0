import { once } from "node:events";
import { connect, type Socket } from "node:net";

export interface Crowd {
  /** Answers that were whole and its own. */
  readonly answered: number;
  /** Requests that were not answered, or by a 502 or 503: a program or an app was just killed. */
  readonly unanswered: number;
  /** What came that no app would have said to this request. Has to stay empty. */
  readonly foreign: readonly string[];
  /** Resolves once a request that begins after the call is answered. */
  served(): Promise<void>;
  /** Resolves when `total` requests were made. */
  readonly done: Promise<void>;
}

interface Plan {
  readonly port: number;
  readonly domain: string;
  readonly tags: ReadonlyMap<string, string>;
  readonly connections: number;
  readonly total: number;
  readonly random: (bound: number) => number;
}

const answerMs = 30_000;

/**
 * Visitors with connections that they keep, each asking one project after the other and checking every byte of the answer against the
 * project it asked and the tag it sent.
 */
export const startCrowd = (plan: Plan): Crowd => {
  const counts = { answered: 0, unanswered: 0, made: 0 };
  const foreign: string[] = [];
  const waiting = new Set<{ readonly after: number; readonly resolve: () => void }>();
  const names = [...plan.tags.keys()];

  const visitor = async (): Promise<void> => {
    let connection: Connection | undefined;
    while (counts.made < plan.total && foreign.length < 10) {
      const number = (counts.made += 1);
      const name = names[plan.random(names.length)] ?? "";
      const tag = `tag-${number}`;
      const body = plan.random(3) === 0 ? `body-${number}-`.repeat(1 + plan.random(400)) : "";
      try {
        connection ??= await open(plan.port);
        const answer = await connection.ask(request(`${name}.${plan.domain}`, tag, body));
        const expected = `${plan.tags.get(name) ?? ""}|${tag}|${body}|${"~".repeat(number % 3000)}`;
        if (answer.status === 200 && answer.body === expected) {
          counts.answered += 1;
          for (const one of waiting) {
            if (number <= one.after) continue;
            waiting.delete(one);
            one.resolve();
          }
        } else if (answer.status === 502 || answer.status === 503) counts.unanswered += 1;
        else foreign.push(`${name} ${tag}: ${answer.status} ${answer.body.slice(0, 200)}`);
        if (answer.closes) {
          connection.destroy();
          connection = undefined;
        }
      } catch (error) {
        if (!(error instanceof Broken)) throw error;
        counts.unanswered += 1;
        connection?.destroy();
        connection = undefined;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
    connection?.destroy();
  };
  const done = Promise.all(Array.from({ length: plan.connections }, visitor)).then(() => undefined);
  return {
    get answered() {
      return counts.answered;
    },
    get unanswered() {
      return counts.unanswered;
    },
    foreign,
    done,
    served: () => new Promise((resolve) => void waiting.add({ after: counts.made, resolve })),
  };
};

const request = (host: string, tag: string, body: string): string =>
  `${body === "" ? "GET" : "POST"} /some/path?q=${tag} HTTP/1.1\r\nHost: ${host}\r\nX-Tag: ${tag}\r\n${
    body === "" ? "" : `Content-Length: ${body.length}\r\n`
  }\r\n${body}`;

/** The connection ended, or nothing came: no answer, and so nothing that could be wrong about it. */
class Broken extends Error {}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly closes: boolean;
}

interface Connection {
  /** Rejects with `Broken` when the connection ends before the answer does. */
  ask(request: string): Promise<Answer>;
  destroy(): void;
}

const open = async (port: number): Promise<Connection> => {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect").catch((error: unknown) => {
    throw new Broken(String(error));
  });
  socket.setTimeout(answerMs, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  return {
    ask: (text) =>
      new Promise((resolve, reject) => {
        let received = "";
        const settle = (act: () => void): void => {
          socket.off("data", read);
          socket.off("close", ended);
          act();
        };
        const ended = (): void => settle(() => reject(new Broken(`ended after ${received.length} bytes`)));
        const read = (chunk: Buffer): void => {
          received += chunk.toString("latin1");
          const answer = parse(received);
          if (answer) settle(() => resolve(answer));
        };
        if (socket.destroyed) return reject(new Broken("it has ended"));
        socket.on("data", read);
        socket.on("close", ended);
        socket.write(text);
      }),
    destroy: () => void (socket as Socket).destroy(),
  };
};

/** The answer once it is whole. More than the answer is part of its body, so that it shows. */
const parse = (received: string): Answer | undefined => {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = received.slice(0, end);
  const rest = received.slice(end + 4);
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
  const closes = /^connection: close/im.test(head);
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (length !== undefined) return rest.length < Number(length) ? undefined : { status, body: rest, closes };
  if (!/^transfer-encoding: chunked/im.test(head)) return { status, body: `(no framing) ${rest}`, closes };
  let body = "";
  for (let at = 0; ; ) {
    const line = rest.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const size = Number.parseInt(rest.slice(at, line), 16);
    if (rest.length < line + 4 + size) return undefined;
    if (size === 0) return { status, body: body + rest.slice(line + 4), closes };
    body += rest.slice(line + 2, line + 2 + size);
    at = line + 4 + size;
  }
};
