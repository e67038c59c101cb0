import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { connect } from "node:net";
import { test } from "node:test";
import { systemClock } from "@holdfast/kit";
import { WebSocket } from "ws";
import type { TerminalConnection } from "../../../packages/control/src/domain/handler.ts";
import type { Module } from "../../../packages/control/src/domain/module.ts";
import { coreModules, type Shared } from "../../../packages/control/src/modules.ts";
import { call, createKey, type startControl, type TestControl, startWithKey } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";
import { until } from "../../support/until.ts";

const postgres = usePostgres();

const piece = Buffer.alloc(64 * 1024, 0xab);

/** What the streamed operations of this test's control have seen. */
interface Seen {
  produced: number;
  closed: number;
  uploaded: Buffer;
  terminal: TerminalConnection | undefined;
  abandoned: number;
}

const streaming =
  (seen: Seen, pieces: number) =>
  (shared: Shared): readonly Module[] => [
    ...coreModules(shared),
    {
      handlers: {
        "file.download": {
          run: (_context, params) =>
            Promise.resolve({
              bytes: produce(seen, pieces),
              contentType: "application/octet-stream",
              fileName: `ü ${params.path}`,
            }),
        },
        "file.upload": {
          run: async (context, params) => {
            const hash = createHash("sha256");
            for await (const part of context.body ?? []) hash.update(part);
            seen.uploaded = hash.digest();
            return { output: { path: params.path } as never };
          },
        },
        "process.attach": {
          admit: () => Promise.resolve({ target: "prc_00000000000000000000" }),
          run: () =>
            Promise.resolve({
              abandon: () => {
                seen.abandoned += 1;
              },
              terminal: async (connection) => {
                seen.terminal = connection;
                for await (const message of connection.messages) await connection.send(message);
              },
            }),
        },
        "computer.update": {
          run: (context, params) =>
            Promise.resolve({
              output: {} as never,
              settle: (transaction) =>
                shared.events.append(transaction, {
                  accountId: context.principal.accountId,
                  kind: "computer.changed",
                  target: params.computer,
                  computerId: params.computer,
                  visibleTo: context.principal.id,
                  data: { description: params.description ?? "" },
                }),
            }),
        },
      },
    },
  ];

async function* produce(seen: Seen, pieces: number): AsyncGenerator<Uint8Array> {
  try {
    for (; seen.produced < pieces; seen.produced += 1) yield piece;
  } finally {
    seen.closed += 1;
  }
}

const start = async (context: Parameters<typeof startControl>[0], pieces = 16) => {
  const seen: Seen = { produced: 0, closed: 0, uploaded: Buffer.alloc(0), terminal: undefined, abandoned: 0 };
  const { control, owner, key } = await startWithKey(context, postgres, { modules: streaming(seen, pieces) });
  return { seen, control, owner, key };
};

test("bytes come whole, and a reader who stops reading holds the source up", async (context) => {
  const { seen, control, key } = await start(context, 16);
  const path = "/v1/computers/cmp/files/bytes?path=/x";
  const whole = await fetch(`${control.url}${path}`, { headers: { authorization: `Bearer ${key.secret}` } });
  assert.equal((await whole.arrayBuffer()).byteLength, 16 * piece.length);
  assert.match(whole.headers.get("content-disposition") ?? "", /filename\*=UTF-8''%C3%BC/);

  seen.produced = -10_000;
  const socket = connect(control.port, "127.0.0.1");
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key.secret}\r\n\r\n`);
  socket.pause();
  await systemClock.sleep(400);
  const produced = seen.produced;
  await systemClock.sleep(200);
  assert.equal(seen.produced, produced);
  assert.ok(produced < -9000, `${produced + 10_000} pieces were taken for a reader that reads nothing`);
  const closed = seen.closed;
  socket.destroy();
  await until("the source is closed", () => seen.closed === closed + 1);
});

test("an upload is streamed into the operation", async (context) => {
  const { seen, control, key } = await start(context);
  const body = Buffer.alloc(3_000_000, "holdfast");
  const reply = await fetch(`${control.url}/v1/computers/cmp/files/bytes?path=/x`, {
    method: "PUT",
    body,
    headers: { authorization: `Bearer ${key.secret}` },
  });
  assert.equal(reply.status, 200);
  assert.deepEqual(seen.uploaded, createHash("sha256").update(body).digest());
});

test("events resume after the last one seen, without a gap, and nobody sees another's", async (context) => {
  const { control, owner, key } = await start(context);
  const other = await createKey(control, owner, "codex");
  const change = (text: string) =>
    call(control.url, key.secret, "PATCH", "/v1/computers/one", { description: text });
  const reader = await follow(control, key.secret);
  for (let index = 0; index < 5; index += 1) await change(`a${index}`);
  await until("five have come", () => reader.events.length === 5);
  const last = reader.events[2]?.id ?? "";
  reader.stop();
  await Promise.all(Array.from({ length: 20 }, (_, index) => change(`b${index}`)));
  const resumed = await follow(control, key.secret, { "last-event-id": last });
  await until("the rest has come", () => resumed.events.length === 22);
  const numbers = resumed.events.map((event) => Number(event.id));
  assert.deepEqual(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  assert.equal(numbers[0], Number(last) + 1);
  const others = await follow(control, other.secret, { "last-event-id": "0" });
  const owners = await follow(control, owner, { "last-event-id": "0" });
  await until(
    "the owner has them all",
    () => owners.events.filter((event) => event.event === "computer.changed").length === 25,
  );
  assert.equal(others.events.length, 0);
  for (const one of [resumed, others, owners]) one.stop();
});

test("an open stream ends within a second after its key was revoked", async (context) => {
  const { control, owner, key } = await start(context);
  const reader = await follow(control, key.secret);
  await call(control.url, owner, "DELETE", `/v1/keys/${key.id}`);
  const began = performance.now();
  await until("it has ended", () => reader.ended);
  context.diagnostic(`it ended ${Math.round(performance.now() - began)} ms after the revocation's reply`);
});

test("a terminal carries bytes and text both ways, and its end is recorded", async (context) => {
  const { seen, control, key } = await start(context);
  const path = "/v1/computers/cmp/processes/prc_00000000000000000000/attach";
  const open = (headers: Record<string, string>) =>
    new WebSocket(`ws://127.0.0.1:${control.port}${path}`, { headers });
  const socket = open({ authorization: `Bearer ${key.secret}` });
  const messages: (string | Buffer)[] = [];
  socket.on("message", (data: Buffer, binary: boolean) => messages.push(binary ? data : data.toString()));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  socket.send(Buffer.from([0, 255, 10]));
  socket.send('{"type":"resize"}');
  await until("both have come", () => messages.length === 2);
  assert.deepEqual(messages, [Buffer.from([0, 255, 10]), '{"type":"resize"}']);
  const running = await query(
    control.databaseUrl,
    "select outcome, target from operations where operation = 'process.attach'",
  );
  assert.deepEqual(running, [{ outcome: "running", target: "prc_00000000000000000000" }]);
  socket.close();
  await until(
    "it is recorded as ended",
    async () =>
      (
        await query(control.databaseUrl, "select outcome from operations where operation = 'process.attach'")
      )[0]?.["outcome"] === "succeeded",
  );
  assert.equal(seen.terminal?.signal.aborted, true);

  const refused = async (headers: Record<string, string>): Promise<number> =>
    new Promise((resolve) => {
      const socketRefused = open(headers);
      socketRefused.on("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
      socketRefused.on("error", () => {});
      socketRefused.on("open", () => resolve(101));
    });
  assert.equal(await refused({}), 401);
  assert.equal(await refused({ authorization: `Bearer ${key.secret}`, origin: "http://evil.test" }), 403);
  const plain = await call(control.url, key.secret, "GET", path);
  assert.equal(plain.status, 426);
  assert.equal(seen.abandoned, 1);
});

interface Follower {
  readonly events: { readonly id: string; readonly event: string }[];
  readonly ended: boolean;
  stop(): void;
}

const follow = async (
  control: TestControl,
  token: string,
  headers: Record<string, string> = {},
): Promise<Follower> => {
  const abort = new AbortController();
  const response = await fetch(`${control.url}/v1/events`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: abort.signal,
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("x-accel-buffering"), "no");
  const follower = { events: [] as { id: string; event: string }[], ended: false, stop: () => abort.abort() };
  const read = async (): Promise<void> => {
    let text = "";
    for await (const part of (response.body ?? new ReadableStream<Uint8Array>()).pipeThrough(
      new TextDecoderStream(),
    )) {
      text += part;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        const id = /^id: (.*)$/m.exec(block)?.[1];
        const event = /^event: (.*)$/m.exec(block)?.[1];
        if (event !== undefined) follower.events.push({ id: id ?? "", event });
      }
    }
  };
  void read()
    .catch(() => {})
    .finally(() => {
      follower.ended = true;
    });
  return follower;
};
