import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "../../support/computer.ts";
import { askInside, type Answer, startTemplate } from "../../support/templates.ts";
import { useComputer } from "../../support/use.ts";

/** The programs of templates that schedules run, and the pages that show what they made. */
const ports = { "metrics-digest": 4201, "scheduled-report": 4202 } as const;
type Name = keyof typeof ports;

const { assistant, computer } = await useComputer();
for (const name of Object.keys(ports) as readonly Name[])
  await startTemplate(assistant, computer, name, ports[name]);

const ask = (name: Name, path: string, ...options: readonly string[]): Promise<Answer> =>
  askInside(assistant, computer, ports[name], path, ...options);

/** Two weeks, in two spellings of a day, with a value in quotes. */
const csv = [
  'day,visits,signups,orders,revenue,"a, b"',
  ...Array.from({ length: 14 }, (_, index) => {
    const day = new Date(Date.UTC(2026, 9, 5 + index)).toISOString();
    return `${index % 2 === 0 ? day.slice(0, 10) : day},${100 + index},${index},${index === 0 ? "" : index},"${index}.5","x ""y"""`;
  }),
].join("\r\n");
interface Metric {
  readonly column: string;
  readonly now: number;
  readonly before: number | null;
}
interface Digest {
  readonly id: string;
  readonly isSample: boolean;
  readonly metrics: readonly Metric[];
}
const digest = async (id: string): Promise<Digest> =>
  JSON.parse((await ask("metrics-digest", `/digests/${id}.json`)).body) as Digest;
const makesDigest = (): Promise<{ readonly stdout: string }> =>
  run(assistant, computer, "cd /work/metrics-digest && node digest.mjs 2>&1 || echo failed: $?");

test("metrics-digest: sample numbers until there are some, then those of a CSV file, then of a database", async () => {
  assert.match((await ask("metrics-digest", "/")).body, /Make one now/);
  for (const header of ["sec-fetch-site: cross-site", "origin: https://elsewhere.example"])
    assert.equal((await ask("metrics-digest", "/digests", "-X", "POST", "-H", header)).status, 403, header);
  const made = await ask("metrics-digest", "/digests", "-X", "POST");
  assert.deepEqual([made.status, made.headers["location"]], [303, "/"]);
  assert.equal((await ask("metrics-digest", "/digests", "-X", "POST")).status, 429, "not again at once");
  const { digests } = JSON.parse((await ask("metrics-digest", "/digests.json")).body) as {
    readonly digests: readonly string[];
  };
  const [sample = ""] = digests;
  assert.match(sample, /^\d{4}-w\d{2}$/);
  assert.equal((await digest(sample)).isSample, true);
  assert.match((await ask("metrics-digest", "/")).body, /These are sample numbers/);

  const write = (content: string): Promise<unknown> =>
    assistant.client.files.write({
      computer,
      path: "/work/metrics-digest/data/metrics.csv",
      content,
    });
  await write(csv);
  assert.match((await makesDigest()).stdout, /^2026-w42 \(2026-10-12 to 2026-10-18\)\n/);
  const { isSample, metrics } = await digest("2026-w42");
  assert.equal(isSample, false);
  const sum = (from: number): number =>
    Array.from({ length: 7 }, (_, at) => from + at).reduce((a, b) => a + b);
  assert.deepEqual(
    metrics.map(({ column, now, before }) => [column, now, before]),
    [
      ["visits", sum(107), sum(100)],
      ["signups", sum(7), sum(0)],
      ["orders", sum(7), sum(0)],
      ["revenue", sum(7) + 3.5, sum(0) + 3.5],
    ],
  );
  const page = (await ask("metrics-digest", "/digests/2026-w42")).body;
  assert.match(page, /12 – 18 October 2026|12.{1,3}18 October 2026/);
  assert.equal(page.match(/<svg /g)?.length, 8, "a chart by weeks and one by days for each metric");

  await write("day,visits\n2026-10-05,1");
  assert.match((await makesDigest()).stdout, /has no column signups.*\nfailed: 1\n$/);
  await write(csv.replace("105,5", "many,5"));
  assert.match(
    (await makesDigest()).stdout,
    /2026-10-10: `many` in the column visits is not a number\.\nfailed: 1\n$/,
  );
  await write(csv.split("\r\n").slice(0, 4).join("\n"));
  assert.match((await makesDigest()).stdout, /There is no whole week/);
  assert.deepEqual((await digest("2026-w42")).metrics, metrics, "what failed took nothing away");

  await run(
    assistant,
    computer,
    `cd /work/metrics-digest && rm data/metrics.csv && sed -i 's|data/metrics.csv|data/shop.sqlite|; s| where day >= ?||' settings.mjs && node -e '
      const { DatabaseSync } = require("node:sqlite");
      const db = new DatabaseSync("data/shop.sqlite");
      db.exec("create table metrics (day text, visits integer, signups integer, orders integer, revenue real)");
      for (let at = 0; at < 14; at += 1)
        db.prepare("insert into metrics values (?, ?, 1, 1, 1)").run(new Date(Date.UTC(2026, 9, 12 + at)).toISOString(), at);
    '`,
  );
  assert.match((await makesDigest()).stdout, /^2026-w43 \(2026-10-19 to 2026-10-25\)\n/);
  const [visits] = (await digest("2026-w43")).metrics;
  assert.deepEqual([visits?.now, visits?.before], [sum(7), sum(0)]);
  assert.equal((await ask("metrics-digest", "/digests/..%2fsettings.json")).status, 404);
});

test("scheduled-report: sections are told, one that fails is too, and what others wrote is no markup", async () => {
  assert.match((await ask("scheduled-report", "/")).body, /Make one now/);
  await run(
    assistant,
    computer,
    `cd /work/scheduled-report && git init -q && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m '<b>bold</b> | *stars*' && printf -- '- [ ] pay <i>now</i> (2026-01-01)\\n' >> notes/tasks.md`,
  );
  const reports = (more = ""): Promise<{ readonly stdout: string }> =>
    run(assistant, computer, `cd /work/scheduled-report && node report.mjs 2>&1; echo ended: $?; ${more}`);
  const { stdout } = await reports();
  assert.match(stdout, /## Open tasks\n\n3 tasks are open, 1 of them due\.\n\n- pay \\<i\\>now/);
  assert.match(stdout, /\| scheduled-report \| \\<b\\>bold\\<\/b\\> \\\| \\\*stars\\\* \|/);
  assert.match(stdout, /## Room on the disk\n\n[^\n]+ are free\.\n/);
  assert.match(stdout, /\nended: 0\n$/);
  const day = /# Daily report, (\d{4}-\d{2}-\d{2})/.exec(stdout)?.[1] ?? "";
  const page = (await ask("scheduled-report", "/")).body;
  assert.match(page, /Needs you: Open tasks\./);
  assert.match(page, /&lt;b&gt;bold&lt;\/b&gt;/);
  assert.doesNotMatch(page, /<b>bold/);
  const markdown = await ask("scheduled-report", `/reports/${day}.md`);
  assert.match(markdown.headers["content-type"] ?? "", /^text\/markdown/);
  const feed = await ask("scheduled-report", "/feed.xml", "-H", "host: shop.test");
  assert.match(feed.headers["content-type"] ?? "", /^application\/atom\+xml/);
  assert.ok(feed.body.startsWith("<?xml"), feed.body.slice(0, 20));
  assert.ok(feed.body.includes(`<link href="http://shop.test/reports/${day}" />`), feed.body);

  await run(assistant, computer, "cd /work/scheduled-report && mv notes gone");
  const failed = await reports("mv gone notes");
  assert.match(failed.stdout, /## Open tasks\n\n\*\*Failed:\*\* ENOENT/);
  assert.match(failed.stdout, /## Room on the disk/);
  assert.match(failed.stdout, /\nended: 1\n$/);
  assert.match((await ask("scheduled-report", `/reports/${day}`)).body, /Not found out: Open tasks\./);
  assert.equal((await ask("scheduled-report", "/reports/2020-01-01")).status, 404);
});
