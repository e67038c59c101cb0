import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createComputer } from "../support/computer.ts";
import { openSite, type Site } from "../support/site/site.ts";
import { dial, head, type Talk, webSocketLines } from "../support/talk.ts";
import { until } from "../support/until.ts";
import { useAssistant } from "../support/use.ts";

const { instance, assistant } = await useAssistant();
const { port, domain } = instance.projects;
const neighbour = await instance.assistant();
const awake = await openSite({ instance, assistant, computer: await createComputer(assistant) }, "awake");
const stopped = await openSite(
  { instance, assistant: neighbour, computer: await createComputer(neighbour) },
  "stopped",
);
const gone = await openSite({ instance, assistant, computer: awake.computer }, "gone");
await assistant.client.projects.destroy({ project: gone.slug });
const stop = async (): Promise<void> => {
  const { state } = await neighbour.client.computers.stop({ computer: stopped.computer });
  assert.equal(state, "stopped");
};
await stop();

/** All of one length: a page names the host it was asked for, and nothing else may differ. */
const slugOf = (name: string): string => name.padEnd(16, "x");
const hostOf = (slug: string): string => `${slug}.${domain}:${port}`;
/** Hosts of the domain that are not open to whoever comes, by what is behind each. */
const hosts: Readonly<Record<string, string>> = {
  "no project": hostOf(slugOf(`never-${randomBytes(4).toString("hex")}`)),
  "no project, another": hostOf(slugOf(`other-${randomBytes(4).toString("hex")}`)),
  "a private project": awake.host,
  "a private project on a computer that is stopped": stopped.host,
  "a project that was destroyed": gone.host,
  "another port of a private project": hostOf(`8080--${awake.slug}`),
};

/** One answer, without what names the host and when it came. */
const plain = (answer: string, host: string): string =>
  answer
    .replaceAll(encodeURIComponent(host), "HOST")
    .replaceAll(host, "HOST")
    .replace(/^Content-Length: \d+$/im, "Content-Length: N");

const ask = async (bytes: string): Promise<string> => {
  const talk = await dial(port, bytes);
  await talk.closes();
  return talk.text;
};

const noKey = `hf_${"A".repeat(43)}`;
const requests: Readonly<Record<string, (host: string) => string>> = {
  "a program": (host) => head("GET / HTTP/1.1", host, ["Connection: close"]),
  "a browser": (host) => head("GET /a/b?c HTTP/1.1", host, ["Accept: text/html", "Connection: close"]),
  "a form": (host) => `${head("POST / HTTP/1.1", host, ["Content-Length: 1", "Connection: close"])}x`,
  "a look at the head": (host) => head("HEAD / HTTP/1.1", host, ["Connection: close"]),
  "a WebSocket": (host) => head("GET /ws HTTP/1.1", host, [...webSocketLines, "Origin: http://evil.example"]),
  "a large upload, asked for first": (host) =>
    head("PUT /x HTTP/1.1", host, ["Content-Length: 99999999", "Expect: 100-continue", "Connection: close"]),
  "a key that nobody has": (host) =>
    head("GET / HTTP/1.1", host, [`Holdfast-Key: ${noKey}`, "Connection: close"]),
  "a cookie that nobody has": (host) =>
    head("GET / HTTP/1.1", host, [`Cookie: __Host-holdfast=hfv_${"A".repeat(43)}`, "Connection: close"]),
  "a cookie, from another site": (host) =>
    head("POST / HTTP/1.1", host, [
      `Cookie: __Host-holdfast=hfv_${"A".repeat(43)}`,
      "Sec-Fetch-Site: cross-site",
      "Content-Length: 0",
      "Connection: close",
    ]),
  "a ticket that nobody has": (host) =>
    head(`GET /.holdfast/ticket?t=hft_${"A".repeat(43)} HTTP/1.1`, host, ["Connection: close"]),
  "a share's link that nobody has": (host) =>
    head(`GET /.holdfast/share?t=hfl_${"A".repeat(43)} HTTP/1.1`, host, ["Connection: close"]),
};
/** What is promised about each: without a right 404, with a credential that is none 401. */
const statusOf = (what: string): number => {
  if (what.includes("another site")) return 403;
  return what.includes("nobody has") ? 401 : 404;
};

for (const [what, bytesOf] of Object.entries(requests))
  test(`100: ${what}: every host that is not open answers the same bytes`, async () => {
    const answers = new Map<string, string>();
    for (const [behind, host] of Object.entries(hosts)) {
      const talk = await dial(port, bytesOf(host));
      await talk.hears("\r\n\r\n");
      if (!what.includes("WebSocket")) await talk.closes();
      else talk.end();
      answers.set(behind, plain(talk.text, host));
      assert.match(talk.text, new RegExp(`^HTTP/1\\.1 ${statusOf(what)} `), behind);
    }
    const [expected] = answers.values();
    for (const [behind, answer] of answers) assert.equal(answer, expected, behind);
  });

test("100: another assistant's good key, an owner's visit to another project: the same as none that is good", async () => {
  const key = `Holdfast-Key: ${assistant.secret}`;
  const answers = new Set<string>();
  for (const host of [stopped.host, gone.host, hosts["no project"] ?? ""]) {
    const answer = await ask(head("GET / HTTP/1.1", host, [key, "Connection: close"]));
    assert.match(answer, /^HTTP\/1\.1 401 /);
    answers.add(plain(answer, host));
  }
  assert.equal(answers.size, 1);
  assert.match(await ask(head("GET / HTTP/1.1", awake.host, [key, "Connection: close"])), /^HTTP\/1\.1 200 /);
});

/** What nobody's visits may change: whether it runs, what is recorded of it, and what it used. */
const stateOf = async ({ computer, slug }: Site, client = assistant.client): Promise<unknown> => {
  const { state, version, updated_at } = await client.computers.get({ computer });
  const { requests: visits } = await client.projects.access({ project: slug, limit: 200 });
  return {
    state,
    version,
    updated_at,
    visits: visits.filter(({ subject }) => subject !== assistant.id).length,
  };
};

/** Starts that visitors without a right have caused, as control counts them, of all projects here. */
const wakesCounted = (): string => {
  const slugs = [awake, stopped, gone].map(({ slug }) => `'${slug}'`).join(", ");
  const counted = `select count(*) from control.visitor_wakes join control.projects on id = project_id where slug in (${slugs})`;
  const psql = [
    "psql",
    "-XAt",
    "-h",
    `/run/holdfast/${instance.name}/postgres`,
    "-U",
    "postgres",
    "-c",
    counted,
    "holdfast",
  ];
  const { status, stdout, stderr } = spawnSync("runuser", ["-u", "hf-postgres", "--", ...psql], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  return stdout.trim();
};

test("100: nothing is woken, recorded as a visit or used, whatever comes without a right", {
  timeout: 120_000,
}, async () => {
  const before = [await stateOf(stopped, neighbour.client), await stateOf(awake)];
  const seenBefore = (await awake.seen()).length;
  for (let round = 0; round < 5; round += 1)
    for (const bytesOf of Object.values(requests)) {
      const talks = await Promise.all(Object.values(hosts).map((host) => dial(port, bytesOf(host))));
      await Promise.all(talks.map((talk) => talk.hears("\r\n\r\n")));
      for (const talk of talks) talk.end();
    }
  // A host that is none of ours, and one that only looks like it.
  for (const host of [
    "localhost",
    "127.0.0.1",
    "evil.example",
    `${stopped.slug}.${domain}.evil.example`,
    `a.${stopped.host}`,
  ])
    assert.match(await ask(head("GET / HTTP/1.1", host, ["Connection: close"])), /^HTTP\/1\.1 404 /, host);
  assert.deepEqual([await stateOf(stopped, neighbour.client), await stateOf(awake)], before);
  assert.deepEqual((await awake.seen()).slice(seenBefore), []);
  assert.equal(wakesCounted(), "0");
  const usage = await neighbour.client.computers.usage({ computer: stopped.computer });
  assert.deepEqual([usage.cpu_ms, usage.processes, usage.memory_bytes], [0, 0, 0]);
  const key = `Holdfast-Key: ${neighbour.secret}`;
  await until(
    "a right wakes it",
    async () =>
      (await ask(head("GET / HTTP/1.1", stopped.host, [key, "Connection: close"]))).startsWith(
        "HTTP/1.1 200 ",
      ),
    { withinMs: 40_000 },
  );
  await stop();
});

/** Requests to each host, by turns; then the middle of what each took. */
const rounds = 150;
const medianMs = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

for (const [what, lines, status] of [
  ["without a credential", [], 404],
  ["with a key that nobody has", [`Holdfast-Key: ${noKey}`], 401],
] as const)
  test(`100: ${what} every host takes the same time, as far as can be told`, {
    timeout: 120_000,
  }, async (context) => {
    const talks = new Map<string, Talk>();
    for (const behind of Object.keys(hosts)) talks.set(behind, await dial(port));
    const times = new Map<string, number[]>(Object.keys(hosts).map((behind) => [behind, []]));
    const order = Object.keys(hosts);
    // Wrong keys are counted for each network: no more of them than it may show.
    const count = lines.length === 0 ? rounds : 20;
    for (let round = 0; round < count; round += 1) {
      // Another one begins each time: what comes first in a round is not always the same.
      order.push(order.shift() ?? "");
      for (const behind of order) {
        const talk = talks.get(behind) ?? assert.fail();
        const from = talk.text.length;
        const since = performance.now();
        const came = new Promise<void>((resolve) => void talk.socket.once("data", () => resolve()));
        talk.send(head("GET /x HTTP/1.1", hosts[behind] ?? "", lines));
        await came;
        times.get(behind)?.push(performance.now() - since);
        await talk.hears(/./);
        assert.ok(talk.text.slice(from).startsWith(`HTTP/1.1 ${status} `), talk.text.slice(from));
      }
    }
    const medians = [...times].map(([behind, all]) => ({ behind, ms: medianMs(all) }));
    context.diagnostic(medians.map(({ behind, ms }) => `${behind} ${ms.toFixed(3)} ms`).join(", "));
    const all = medians.map(({ ms }) => ms);
    // What a start, a question more or a look into the computer would cost is far more than this.
    assert.ok(Math.max(...all) - Math.min(...all) < 2 + Math.min(...all), "a host can be told by its time");
    for (const talk of talks.values()) talk.end();
  });
