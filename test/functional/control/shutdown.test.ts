import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { WebSocket } from "ws";
import type { OperationContext, ServerEvent } from "../../../packages/control/src/domain/handler.ts";
import type { Module } from "../../../packages/control/src/domain/module.ts";
import { coreModules, type Shared } from "../../../packages/control/src/modules.ts";
import { call, createKey, enrolOwner, startControl, startWithKey } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { controlProgram } from "../../support/program.ts";
import { query } from "../../support/query.ts";
import { hangMs, until } from "../../support/until.ts";

const postgres = usePostgres();

/** Resolves never, rejects with the signal's reason: as a call to a computer that waits. */
const forEver = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );

async function* breaking(context: OperationContext): AsyncGenerator<ServerEvent> {
  yield { id: "7", event: "output", data: { stream: "stdout" } };
  await forEver(context.signal);
}

async function* bytes(context: OperationContext): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(1000);
  await forEver(context.signal);
}

const waiting = (shared: Shared): readonly Module[] => [
  ...coreModules(shared),
  {
    handlers: {
      "process.get": { run: (context) => forEver(context.signal) },
      "process.follow": { run: (context) => Promise.resolve({ events: breaking(context) }) },
      "file.download": {
        run: (context) =>
          Promise.resolve({
            bytes: bytes(context),
            contentType: "application/octet-stream",
            lengthBytes: 2000,
          }),
      },
      "file.upload": {
        run: async (context) => {
          for await (const piece of context.body ?? []) void piece;
          return { output: {} as never };
        },
      },
      "process.attach": {
        run: () =>
          Promise.resolve({
            abandon: () => {},
            terminal: async (connection) => {
              for await (const message of connection.messages) await connection.send(message);
            },
          }),
      },
    },
  },
];

const processPath = "/v1/computers/cmp/processes/prc_00000000000000000000";

test("a control that ends tells everybody who waits, each in its own way, and within seconds", async (context) => {
  const {
    control,
    key: { secret },
  } = await startWithKey(context, postgres, { modules: waiting });
  const headers = { authorization: `Bearer ${secret}` };
  const poll = call(control.url, secret, "GET", `${processPath}?wait_ms=50000`);
  const streams = await Promise.all(
    ["/v1/events", `${processPath}/follow`].map((path) => fetch(`${control.url}${path}`, { headers })),
  );
  assert.deepEqual(
    streams.map(({ status }) => status),
    [200, 200],
  );
  const texts = streams.map((stream) => stream.text());
  const download = await fetch(`${control.url}/v1/computers/cmp/files/bytes?path=/x`, { headers });
  const cut = download.arrayBuffer().then(
    () => "whole",
    () => "broken off",
  );
  const socket = new WebSocket(`ws://127.0.0.1:${control.port}${processPath}/attach`, { headers });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  let said = "";
  // One that never finishes what it sends, and one that says nothing at all.
  const stubborn = [
    `PUT /v1/computers/cmp/files/bytes?path=/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\nContent-Length: 10\r\n\r\nx`,
    "GET /v1/principal HTTP/1.1\r\nHost: loc",
  ].map((text) => {
    const one = connect(control.port, "127.0.0.1");
    one.on("error", () => {});
    one.on("data", (piece: Buffer) => (said += piece.toString("latin1")));
    one.write(text);
    return one;
  });
  const rows = () =>
    query(
      control.databaseUrl,
      "select 1 from operations where operation = 'file.upload' and outcome = 'running'",
    );
  await until("the upload is under way", async () => (await rows()).length === 1, { detail: () => said });

  const began = performance.now();
  await control.stop();
  const took = performance.now() - began;
  context.diagnostic(`it ended after ${Math.round(took)} ms`);
  assert.ok(took < hangMs, `${took} ms`);
  const answer = await poll;
  assert.deepEqual([answer.status, answer.body["code"]], [503, "unavailable"]);
  assert.ok(Number(answer.headers.get("retry-after")) >= 1);
  const [events, output] = await Promise.all(texts);
  assert.match(events ?? "", /^: open/);
  assert.match(output ?? "", /id: 7\nevent: output/, "a stream that can be resumed ends, it does not break");
  assert.equal(await cut, "broken off", "a part of a file is never taken for the whole");
  assert.equal(await closed, 1001);
  await until("nobody is left", () => stubborn.every((one) => one.closed));
  // What was cut off is written down as what it is.
  assert.deepEqual(
    await query(
      control.databaseUrl,
      "select operation, outcome, error from operations where operation in ('process.get', 'file.upload') order by operation",
    ),
    [
      { operation: "file.upload", outcome: "failed", error: "malformed_request" },
      { operation: "process.get", outcome: "failed", error: "unavailable" },
    ],
  );
});

test("SIGTERM ends the program with 0 while streams are open, SIGKILL needs no more than a new start", async (context) => {
  const database = await (await postgres).createDatabase();
  const first = await startControl(context, postgres, { databaseUrl: database.url });
  const owner = await enrolOwner(first);
  const { secret } = await createKey(first, owner, "claude");
  await first.stop();
  const program = await controlProgram(database.url);
  try {
    await program.start();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const stream = await fetch(`${program.url}/v1/events`, {
        headers: { authorization: `Bearer ${secret}` },
      });
      const text = stream.text().then(
        () => "ended",
        () => "broken off",
      );
      const began = performance.now();
      await program.kill(signal);
      assert.equal(await program.ended(), signal === "SIGTERM" ? 0 : "SIGKILL");
      assert.ok(performance.now() - began < hangMs);
      assert.equal(await text, signal === "SIGTERM" ? "ended" : "broken off");
      await program.start();
      assert.equal((await call(program.url, secret, "GET", "/v1/principal")).status, 200);
    }
  } finally {
    await program.remove();
  }
});
