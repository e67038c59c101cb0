import assert from "node:assert/strict";
import { test } from "node:test";
import { startAgent } from "../../../../test/support/gateway/agent.ts";
import { everything, startBed, startTestApp, statusOf, until } from "../../../../test/support/gateway/bed.ts";

const get = (host: string, more = ""): string =>
  `GET / HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`;
const key = "Holdfast-Key: k\r\n";
const html = "Accept: text/html,application/xhtml+xml\r\n";
const ready = { state: "ready", retry_after_ms: 0, reason: null, log: null } as const;

test("the first visits to a stopped computer wake it once, and get the app", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port, everything);
  await project.agent.close();
  let listening = false;
  bed.control.onWake = async () => {
    await new Promise((resolve) => setTimeout(resolve, 200));
    const agent = await startAgent(project.socketPath, () => (listening ? app.port : undefined));
    context.after(() => agent.close());
    // A service without a readiness check: said to be ready a moment before it listens.
    setTimeout(() => (listening = true), 250);
    return ready;
  };
  const answers = await Promise.all(Array.from({ length: 20 }, () => bed.raw(get(project.host), 3000)));
  for (const answer of answers) assert.equal(statusOf(answer), 200, answer);
  assert.deepEqual(
    bed.control.calls.map(({ method, params }) => [method, params]),
    [["project.wake", { project_id: project.route.project_id, right_id: null, wait_ms: 10_000 }]],
  );
});

test("a computer that sleeps takes connections and does not answer: it is woken, and the visit goes on", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port);
  project.allow("header", "k");
  project.agent.frozen = true;
  bed.control.onWake = () => {
    project.agent.frozen = false;
    return ready;
  };
  assert.equal(statusOf(await bed.raw(get(project.host, key), 3000)), 200);
  const [wake] = bed.control.calls.filter(({ method }) => method === "project.wake");
  assert.deepEqual(wake?.params, {
    project_id: project.route.project_id,
    right_id: "header-k",
    wait_ms: 10_000,
  });
});

test("one that fell asleep with a connection kept open is woken when it does not answer", async (context) => {
  const bed = await startBed(context);
  let asleep = false;
  let wake = (): void => {};
  const app = await startTestApp(context, (_request, response) => {
    if (asleep) wake = () => response.end("awake");
    else response.end("first");
  });
  const project = await bed.project("mine", app.port, everything);
  assert.equal(statusOf(await bed.raw(get(project.host))), 200);
  asleep = true;
  bed.control.onWake = () => {
    wake();
    return ready;
  };
  assert.match(await bed.raw(get(project.host), 5000), /awake/);
  assert.equal(project.agent.connections, 1);
});

test("who has no right wakes nothing, whatever is asked for", async (context) => {
  const bed = await startBed(context);
  const project = await bed.project("mine", undefined, [{ methods: null, path: "/open" }]);
  await project.agent.close();
  for (const more of ["", "Connection: Upgrade\r\nUpgrade: websocket\r\n", "Cookie: __Host-holdfast=x\r\n"])
    assert.ok([404, 401].includes(statusOf(await bed.raw(get(project.host, more)))), more);
  assert.ok(bed.control.calls.every(({ method }) => method !== "project.wake"));
});

test("each way of not being there has its page, for people and for programs", async (context) => {
  const bed = await startBed(context);
  const project = await bed.project("mine", undefined, everything);
  project.allow("header", "k");
  project.allow("header", "guest", { id: "guest", who: "share", ports: false });
  project.allow("header", "helper", { id: "helper", who: "assistant" });
  await project.agent.close();
  const log = "Error: <script>alert(1)</script>\x1b[31m & more";

  bed.control.onWake = () => ({ state: "starting", retry_after_ms: 2500, reason: null, log: null });
  const starting = await bed.raw(get(project.host, html));
  assert.equal(statusOf(starting), 503);
  assert.match(starting, /\r\nRetry-After: 3\r\n/);
  assert.match(starting, /<meta http-equiv="refresh" content="3">/);
  assert.match(starting, /\r\nContent-Security-Policy: default-src 'none'; style-src 'sha256-/);
  assert.doesNotMatch(starting, /<script/);
  const json = await bed.raw(get(project.host, "Accept: application/json\r\n"));
  assert.match(json, /Content-Type: application\/problem\+json/);
  assert.deepEqual(Object.keys(JSON.parse(json.slice(json.indexOf("\r\n\r\n"))) as object), [
    "type",
    "title",
    "status",
    "detail",
    "retry_after_ms",
  ]);
  assert.match(await bed.raw(get(project.host)), /Content-Type: text\/plain/);

  // A right that shows a page of the published project to its owner: the log is the owner's alone.
  bed.control.route({ ...project.route, published: null });
  await until(async () => statusOf(await bed.raw(get(project.host))) === 404);
  bed.control.onWake = () => ({ state: "failed", retry_after_ms: 0, reason: "It ended with status 1.", log });
  const owner = await bed.raw(get(project.host, html + key));
  assert.equal(statusOf(owner), 502);
  assert.match(owner, /It ended with status 1\./);
  assert.match(owner, /Error: &lt;script&gt;alert\(1\)&lt;\/script&gt;\[31m &amp; more/);
  assert.match(owner, /holdfast logs mine/);
  const assistant = await bed.raw(get(project.host, "Holdfast-Key: helper\r\n"));
  assert.match(assistant, /^HTTP\/1\.1 502 .*It ended with status 1\..*holdfast logs mine.*more/s);
  const guest = await bed.raw(get(project.host, `${html}Holdfast-Key: guest\r\n`));
  assert.equal(statusOf(guest), 503);
  assert.match(guest, /\r\nRetry-After: 60\r\n/);
  assert.doesNotMatch(guest, /alert|status 1|seconds|by itself|holdfast logs|http-equiv/);

  const pages = { refused: 503, no_service: 503 } as const;
  for (const [state, status] of Object.entries(pages)) {
    bed.control.onWake = () => ({
      state: state as keyof typeof pages,
      retry_after_ms: 0,
      reason: null,
      log: null,
    });
    assert.equal(statusOf(await bed.raw(get(project.host, key))), status, state);
  }
});

test("a published project that does not run is not started while control is away, and the visitor is told to come again", async (context) => {
  const bed = await startBed(context);
  const project = await bed.project("mine", undefined, everything);
  await project.agent.close();
  await bed.control.stop();
  const got = await bed.raw(get(project.host));
  assert.equal(statusOf(got), 503);
  assert.match(got, /\r\nRetry-After: 2\r\n/);
});

test("an app that does not answer in time, and a body that does not come, end", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context, () => {});
  const project = await bed.project("mine", app.port, everything);
  const late = bed.raw(get(project.host), 5000);
  const slow = bed.raw(`POST / HTTP/1.1\r\nHost: ${project.host}\r\nContent-Length: 9\r\n\r\nabc`, 5000);
  await until(() => app.seen.length === 2);
  bed.advance(31_000);
  assert.equal(statusOf(await slow), 408);
  bed.advance(270_000);
  assert.equal(statusOf(await late), 504);
});

test("who comes to a published project with a right starts it when visitors may not, and sees why it ended", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port, everything);
  project.allow("header", "k");
  await project.agent.close();
  bed.control.onWake = async (_projectId, rightId) => {
    if (rightId === null) return { state: "refused", retry_after_ms: 0, reason: null, log: null };
    const agent = await startAgent(project.socketPath, () => app.port);
    context.after(() => agent.close());
    return ready;
  };
  assert.match(await bed.raw(get(project.host)), /503 .*Asleep for today/s);
  assert.match(await bed.raw(get(project.host, "Holdfast-Key: other\r\n")), /503 .*Asleep for today/s);
  assert.equal(statusOf(await bed.raw(get(project.host, key))), 200);
  await until(() => bed.control.records.length === 3);
  assert.deepEqual(
    bed.control.records.map(({ status, subject }) => [status, subject]),
    [
      [503, null],
      [503, null],
      [200, "own_1"],
    ],
  );

  const other = await bed.project("crashed", undefined, everything);
  other.allow("header", "k");
  await other.agent.close();
  bed.control.onWake = (_projectId, rightId) => ({
    state: "failed",
    retry_after_ms: 0,
    reason: "It ended.",
    log: rightId === null ? null : "the last line",
  });
  assert.doesNotMatch(await bed.raw(get(other.host)), /last line/);
  const told = await bed.raw(get(other.host, key));
  assert.equal(statusOf(told), 502);
  assert.match(told, /the last line/);
});

test("one that is known to rest is woken before it is spoken to, also where a connection is kept open", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const project = await bed.project("mine", app.port, everything);
  const wakes = () => bed.control.calls.filter(({ method }) => method === "project.wake").length;
  const reused = "GET / HTTP/1.1\r\nHost: mine.holdfast.test\r\n\r\n";
  assert.equal(statusOf(await bed.raw(reused, 300)), 200);
  assert.equal(wakes(), 0);
  project.agent.frozen = true;
  bed.control.onWake = () => {
    project.agent.frozen = false;
    return ready;
  };
  bed.control.rests(project.route.computer_id, true);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const began = performance.now();
  assert.equal(statusOf(await bed.raw(get(project.host))), 200);
  context.diagnostic(`answered after ${Math.round(performance.now() - began)} ms`);
  assert.equal(wakes(), 1);
  // It is not asked for again: it was woken, whatever control has said since.
  assert.equal(statusOf(await bed.raw(get(project.host))), 200);
  assert.equal(wakes(), 1);
});
