import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import type { Module } from "../../../packages/control/src/domain/module.ts";
import { coreModules, type Shared } from "../../../packages/control/src/modules.ts";
import { call, startWithKey } from "../../support/control.ts";
import { usePostgres } from "../../support/postgres.ts";
import { query } from "../../support/query.ts";
import { until } from "../../support/until.ts";

const postgres = usePostgres();

/** Downloads of what a hostile computer could say of a file; how many of their streams were closed. */
const downloads =
  (seen: { closed: number }) =>
  (shared: Shared): readonly Module[] => [
    ...coreModules(shared),
    {
      handlers: {
        "file.download": {
          run: (_context, { path }) => {
            async function* bytes(): AsyncGenerator<Uint8Array> {
              yield Buffer.from("x");
            }
            const source = bytes();
            return Promise.resolve({
              bytes: {
                [Symbol.asyncIterator]: () => ({
                  next: () => source.next(),
                  return: () => {
                    seen.closed += 1;
                    return source.return(undefined);
                  },
                }),
              },
              // No operation of ours says such a type: it stands for whatever cannot be sent.
              contentType: path === "/bad" ? "a\nb" : "text/plain",
              fileName: "\ud83d\r\nx: y",
              version: "1\r\nx: y",
            });
          },
        },
        "computer.create": {
          run: () => Promise.resolve({ output: {} as never, target: "cmp_00000000000000000000" }),
        },
      },
    },
  ];

test("a stream whose reply cannot begin is closed, and costs its caller no place", async (context) => {
  const seen = { closed: 0 };
  const { control, key } = await startWithKey(context, postgres, { modules: downloads(seen) });
  const headers = { authorization: `Bearer ${key.secret}` };
  const path = `${control.url}/v1/computers/box/files/bytes?path=`;
  const more = limits.concurrentStreamsPerPrincipal + 1;
  for (let asked = 0; asked < more; asked += 1)
    assert.equal((await fetch(`${path}/bad`, { headers })).status, 500);
  assert.equal(seen.closed, more);
  const odd = await fetch(`${path}/odd`, { headers });
  assert.deepEqual([odd.status, odd.headers.get("etag"), await odd.text()], [200, null, "x"]);
});

test("nothing is begun for a key that was revoked while the body was on its way, whatever comes after", async (context) => {
  const { control, owner, key } = await startWithKey(context, postgres, {
    modules: downloads({ closed: 0 }),
  });
  const body = JSON.stringify({ name: "late" });
  const socket = connect({ port: control.port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {});
  let said = "";
  socket.on("data", (piece: Buffer) => (said += piece.toString()));
  socket.write(
    `POST /v1/computers HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key.secret}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  );
  await until("it was let in", async () => {
    const { body: principal } = await call(control.url, key.secret, "GET", "/v1/principal");
    return principal["id"] === key.assistant;
  });
  await call(control.url, owner, "DELETE", `/v1/keys/${key.id}`);
  await until("it is refused", () => said.includes("401"));
  // The connection stays open for a moment, so that the refusal is read.
  socket.write(body.slice(5));
  await until("the connection ends", () => socket.readableEnded || socket.destroyed);
  const operations = () =>
    query(control.databaseUrl, "select outcome, error from operations where operation = 'computer.create'");
  await until("it is recorded", async () => (await operations()).length > 0);
  assert.deepEqual(await operations(), [{ outcome: "refused", error: "unauthenticated" }]);
  socket.destroy();
});
