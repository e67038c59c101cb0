import assert from "node:assert/strict";
import { test } from "node:test";
import { operations } from "@holdfast/contract";
import { createClient } from "./client.ts";
import { HoldfastApiError, HoldfastConnectionError } from "./errors.ts";

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/** A client whose server answers what the test says, one answer for each request; an Error is a connection that breaks. */
const clientWith = (...answers: readonly (Response | Error)[]) => {
  const seen: Seen[] = [];
  const pauses: number[] = [];
  const client = createClient({
    baseUrl: "http://holdfast.test/",
    token: "hf_test",
    runtime: {
      fetch: async (url, init) => {
        const answer = answers[seen.length];
        seen.push({
          method: init?.method ?? "GET",
          url: url instanceof Request ? url.url : url.toString(),
          headers: Object.fromEntries(new Headers(init?.headers)),
          body: init?.body,
        });
        if (answer instanceof Response) return answer;
        throw answer ?? new Error("one request too many");
      },
      sleep: async (ms) => void pauses.push(ms),
      randomId: () => "made-up",
      random: () => 0.5,
    },
  });
  return { client, seen, pauses };
};

const json = (body: unknown, status = 200): Response => Response.json(body, { status });
const problem = (code: string, status: number, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify({ code, status, detail: "what happened", details: { limit: 3 } }), {
    status,
    headers: { "content-type": "application/problem+json", ...headers },
  });

test("there is a method for every operation, of the kind its declaration says", () => {
  const { client } = clientWith();
  const streams = Object.values(operations)
    .filter(({ body, reply }) => body === "bytes" || reply !== "json")
    .map(({ name }) => name);
  // The names that StreamCalls in client.ts types by hand.
  assert.deepEqual(streams.sort(), [
    "archive.export",
    "archive.import",
    "event.stream",
    "file.download",
    "file.upload",
    "file.watch",
    "process.attach",
    "process.follow",
    "project.export",
    "project.import",
    "snapshot.export",
    "snapshot.import",
  ]);
  assert.equal(typeof client.computers.create, "function");
  assert.equal(typeof client.sessions.delete, "function");
});

test("a name that a URL takes for another path is refused before anything is sent", async () => {
  const { client, seen } = clientWith(json({}), json({}));
  // Otherwise `services/../stop` would stop the computer.
  await assert.rejects(
    client.services.stop({ computer: "box", service: ".." }),
    /`service` cannot be "\.\."/,
  );
  await assert.rejects(client.computers.destroy({ computer: "." }), TypeError);
  assert.equal(seen.length, 0);
});

test("fields go where the route wants them", async () => {
  const { client, seen } = clientWith(json({}), json({}), json({}));
  await client.files.read({ computer: "box", path: "/work/a b&c", offset: 3 });
  await client.computers.update({ computer: "box", description: "d", if_match: "v1" });
  await client.computers.create({ name: "box" }, { idempotencyKey: 'k"1' });
  assert.deepEqual(
    seen.map(({ method, url, body }) => [method, url, body]),
    [
      [
        "GET",
        "http://holdfast.test/v1/computers/box/files/content?path=%2Fwork%2Fa+b%26c&offset=3",
        undefined,
      ],
      ["PATCH", "http://holdfast.test/v1/computers/box", '{"description":"d"}'],
      ["POST", "http://holdfast.test/v1/computers", '{"name":"box"}'],
    ],
  );
  assert.equal(seen[1]?.headers["if-match"], '"v1"');
  assert.equal(seen[2]?.headers["idempotency-key"], '"k\\"1"');
  assert.equal(seen[0]?.headers["authorization"], "Bearer hf_test");
});

test("a project goes out as bytes and comes in with its fields in the query", async () => {
  const { client, seen } = clientWith(
    new Response("bundle", { headers: { "content-length": "6" } }),
    json({ commit: "c0ffee1", project: {} }),
    json({ share: {}, url: "http://shop.test/" }),
  );
  const { stream, sizeBytes } = await client.projects.export({ project: "shop", format: "bundle" });
  assert.deepEqual([await new Response(stream).text(), sizeBytes], ["bundle", 6]);
  const body = new Blob(["bundle"]).stream();
  const { commit } = await client.projects.import({ project: "shop", format: "bundle", force: true }, body);
  assert.equal(commit, "c0ffee1");
  await client.shares.create({ project: "shop", label: "for Ada" });
  assert.deepEqual(
    seen.map(({ method, url }) => [method, url]),
    [
      ["GET", "http://holdfast.test/v1/projects/shop/content?format=bundle"],
      ["PUT", "http://holdfast.test/v1/projects/shop/content?format=bundle&force=true"],
      ["POST", "http://holdfast.test/v1/projects/shop/shares"],
    ],
  );
  assert.deepEqual([seen[1]?.body, seen[2]?.body], [body, '{"label":"for Ada"}']);
});

test("a snapshot goes out as bytes and becomes another computer", async () => {
  const { client, seen } = clientWith(new Response("HF"), json({ name: "copy" }));
  const { stream } = await client.snapshots.export({ computer: "box", snapshot: "before" });
  const { name } = await client.snapshots.import({ name: "copy", size: "medium" }, stream);
  assert.equal(name, "copy");
  assert.deepEqual(
    seen.map(({ method, url }) => [method, url]),
    [
      ["GET", "http://holdfast.test/v1/computers/box/snapshots/before/export"],
      ["POST", "http://holdfast.test/v1/computers/import?name=copy&size=medium"],
    ],
  );
  assert.deepEqual([seen[1]?.body, seen[1]?.headers["idempotency-key"]], [stream, '"made-up"']);
});

test("what creates is repeated after a broken connection, with the same key", async () => {
  const { client, seen } = clientWith(
    new TypeError("reset"),
    problem("unavailable", 503),
    json({ id: "cmp_1" }, 201),
  );
  await client.computers.create({ name: "box" });
  assert.deepEqual(
    seen.map(({ headers }) => headers["idempotency-key"]),
    ['"made-up"', '"made-up"', '"made-up"'],
  );
});

test("what may have happened and would happen twice is not repeated", async () => {
  const { client, seen } = clientWith(new TypeError("reset"));
  await assert.rejects(
    client.processes.input({ computer: "box", process: "prc_00000000000000000000", text: "x" }),
    HoldfastConnectionError,
  );
  assert.equal(seen.length, 1);
});

/** A head that says 200, and a body that stops in the middle. */
const brokenOff = (): Response =>
  new Response(
    new ReadableStream({
      start: (body) => {
        body.enqueue(new TextEncoder().encode('{"id":'));
        body.error(new TypeError("terminated"));
      },
    }),
  );

test("an answer that breaks off is none: repeated where that is safe, else told as a broken connection", async () => {
  const { client, seen } = clientWith(brokenOff(), new Response('{"id":'), json({ id: "cmp_1" }));
  assert.equal((await client.computers.create({ name: "box" })).id, "cmp_1");
  assert.equal(seen.length, 3);
  const once = clientWith(brokenOff());
  await assert.rejects(
    once.client.processes.input({ computer: "box", process: "prc_00000000000000000000", text: "x" }),
    (error) =>
      error instanceof HoldfastConnectionError && /broke off its answer \(terminated\)/.test(error.message),
  );
  assert.equal(once.seen.length, 1);
});

test("a rate limit is waited out as long as the server says", async () => {
  const { client, pauses } = clientWith(
    problem("rate_limited", 429, { "retry-after": "2" }),
    json({ accepted_bytes: 1 }),
  );
  await client.processes.input({ computer: "box", process: "prc_00000000000000000000", text: "x" });
  assert.deepEqual(pauses, [2000]);
});

test("a problem becomes an error with code, remedy and details; an unknown code stays visible", async () => {
  const { client } = clientWith(problem("name_taken", 409), problem("from_the_future", 418));
  const taken = await client.computers.create({ name: "box" }).catch((error: unknown) => error);
  assert.ok(taken instanceof HoldfastApiError);
  assert.deepEqual([taken.code, taken.status, taken.details], ["name_taken", 409, { limit: 3 }]);
  assert.match(taken.remedy, /another name/);
  const unknown = await client.computers.get({ computer: "box" }).catch((error: unknown) => error);
  assert.ok(unknown instanceof HoldfastApiError);
  assert.deepEqual([unknown.code, unknown.serverCode], ["internal", "from_the_future"]);
});

test("an abort ends at once and is not taken for a broken connection", async () => {
  const abort = new AbortController();
  const reason = new Error("enough");
  abort.abort(reason);
  const { client, seen } = clientWith(reason);
  await assert.rejects(client.computers.list({}, { signal: abort.signal }), reason);
  assert.equal(seen.length, 1);
});

test("a followed stream goes on after a break where it stopped", async () => {
  const part = (text: string): Response =>
    new Response(text, { headers: { "content-type": "text/event-stream" } });
  const output = (cursor: number, content: string): string =>
    `event: output\nid: ${cursor}\ndata: ${JSON.stringify({ stream: "stdout", base64: btoa(content), cursor })}\n\n`;
  const { client, seen } = clientWith(
    part(output(1, "a") + output(2, "b")),
    part(`${output(3, "c")}event: end\ndata: {"process":{"id":"prc_1","exit_code":0}}\n\n`),
  );
  const events = await Array.fromAsync(
    client.processes.follow({ computer: "box", process: "prc_00000000000000000000" }),
  );
  const text = events.map((event) =>
    event.type === "output" ? new TextDecoder().decode(event.bytes) : event.type,
  );
  assert.deepEqual(text, ["a", "b", "c", "end"]);
  assert.equal(seen[1]?.headers["last-event-id"], "2");
});
