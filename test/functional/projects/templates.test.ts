import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperationInput, OperationOutput } from "@holdfast/contract";
import type { Page } from "playwright-core";
import { readTemplate } from "../../../packages/control/src/lib/templates.ts";
import { useBrowser, type Visitor } from "../../support/browser.ts";
import { run } from "../../support/computer.ts";
import { useComputer } from "../../support/use.ts";
import { visit } from "../../support/visit.ts";

const { instance, assistant, computer } = await useComputer();
const { visitor, photograph } = await useBrowser("templates");

/** A project from the template, opened by its owner in a browser of their own. */
const opened = async (
  template: NonNullable<OperationInput<"project.create">["template"]>,
): Promise<Visitor & { readonly address: string; readonly slug: string }> => {
  const project = await assistant.client.projects.create({ computer, name: template, template });
  assert.equal(project.state, "running", JSON.stringify(project.services));
  const owner = await instance.owner();
  const { url } = await owner.projects.open({ project: project.id });
  const visited = await visitor();
  const response = await visited.page.goto(url);
  assert.equal(response?.status(), 200);
  assert.ok(visited.page.url().startsWith(project.address), visited.page.url());
  return { ...visited, address: project.address, slug: project.slug };
};

const at = (address: string, path: string): string => new URL(path, address).href;

/** The computer falls asleep, or stops; whoever has a right and comes wakes it, and finds what was there. */
const restAndReturn = async (
  page: Page,
  address: string,
  rest: "sleep" | "stop" = "sleep",
): Promise<void> => {
  // A page that is open may ask for more by itself, and wake it.
  await page.goto("about:blank");
  const state = rest === "sleep" ? "asleep" : "stopped";
  const rested = await assistant.client.computers[rest]({ computer, wait_ms: 30_000 });
  assert.equal(rested.state, state);
  assert.equal((await page.goto(address))?.status(), 200);
  assert.equal((await assistant.client.computers.get({ computer })).state, "awake");
};

/** The one schedule that the template comes with, run by hand while the computer sleeps: it wakes it, and its program succeeds. */
const runsAsleep = async (project: string): Promise<OperationOutput<"run.get">> => {
  const { schedules } = await assistant.client.schedules.list({ project });
  assert.equal(schedules.length, 1);
  const [schedule] = schedules;
  assert.equal(schedule?.state, "active");
  assert.ok(Date.parse(schedule?.next_slot ?? "") > Date.now(), String(schedule?.next_slot));
  await assistant.client.computers.sleep({ computer, wait_ms: 30_000 });
  let run = await assistant.client.schedules.run({ schedule: schedule?.id ?? "", wait_ms: 50_000 });
  while (run.ended_at === null) run = await assistant.client.runs.get({ run: run.id, wait_ms: 50_000 });
  const { text } = await assistant.client.runs.output({ run: run.id });
  assert.deepEqual([run.state, run.woke, run.cause], ["succeeded", "asleep", "manual"], text);
  const after = await assistant.client.schedules.get({ schedule: schedule?.id ?? "" });
  assert.equal(after.next_slot, schedule?.next_slot, "a run by hand takes no slot's place");
  return run;
};

test("blank: a folder with its files in a first commit, and no service", async () => {
  const project = await assistant.client.projects.create({ computer, name: "blank", template: "blank" });
  assert.equal(project.state, "no_service");
  const { stdout } = await run(assistant, computer, "cd /work/blank && git ls-files && git status --short");
  const { files } = await readTemplate("blank");
  assert.deepEqual(
    stdout.trim().split("\n"),
    files.map(({ path }) => path),
  );
});

test("static-site: pages, and one for what is not there", async () => {
  const { page, address, complaints } = await opened("static-site");
  await photograph(page, "static-site-home");
  await page.getByRole("link", { name: "About" }).click();
  await page.getByRole("heading", { name: "About", level: 1 }).waitFor();
  await photograph(page, "static-site-about");
  assert.deepEqual(complaints, []);
  assert.equal((await page.goto(at(address, "/nowhere")))?.status(), 404);
  await photograph(page, "static-site-missing");
  await restAndReturn(page, address);
});

test("web-app: a wave on one page is seen on another that stays open", async () => {
  const { context, page, address, complaints } = await opened("web-app");
  await page.getByText("Live, once a second").waitFor();
  const other = await context.newPage();
  await other.goto(at(address, "/"));
  // Waiting for a text of the page that another event brings: the stream is open on both.
  await other.getByText("Live, once a second").waitFor();
  await page.getByRole("button", { name: "Wave" }).click();
  await other.locator("#waves", { hasText: /^1$/ }).waitFor();
  await page.locator("#watching", { hasText: /^2$/ }).waitFor();
  await other.close();
  // The server sees at once that a visitor has gone, though the address is served by others in between.
  await page.locator("#watching", { hasText: /^1$/ }).waitFor({ timeout: 5000 });
  await page.bringToFront();
  const before = await page.locator("#clock").textContent();
  await page.locator(`#clock:not(:text-is("${before}"))`).waitFor();
  await photograph(page, "web-app-home");
  assert.deepEqual(complaints, []);
  await page.goto(at(address, "/nowhere"));
  await photograph(page, "web-app-missing");
  await restAndReturn(page, address);
  await page.locator("#waves", { hasText: /^1$/ }).waitFor();
  await page.getByText("Live, once a second").waitFor();
});

test("api: the page documents what the interface then does", async () => {
  const { page, address, complaints } = await opened("api");
  await photograph(page, "api-home");
  const status = await page.evaluate(async () => {
    const body = JSON.stringify({ title: "Low tide" });
    const headers = { "content-type": "application/json" };
    return (await fetch("/api/notes", { method: "POST", headers, body })).status;
  });
  assert.equal(status, 201);
  assert.deepEqual(complaints, []);
  await page.getByRole("link", { name: "/api/notes", exact: true }).first().click();
  assert.match((await page.textContent("body")) ?? "", /"title": "Low tide"/);
  await restAndReturn(page, address);
  await restAndReturn(page, at(address, "/api/notes"), "stop");
  assert.match((await page.textContent("body")) ?? "", /"title": "Low tide"/);
});

test("webhook-inbox: what strangers post is listed, shown as text, and deleted, and only the owner reads it", async () => {
  const { page, address, slug, complaints } = await opened("webhook-inbox");
  await page.getByRole("heading", { name: "Nothing has arrived yet" }).waitFor();
  await photograph(page, "webhook-inbox-empty");
  await page.getByRole("button", { name: "Send a test" }).click();
  const rules = [{ methods: ["POST"], path: "/hooks/*" }];
  await (await instance.owner()).projects.publish({ project: slug, rules });
  const hooks = [
    [
      "orders",
      "application/json",
      '{"event":"order.paid","order":{"id":"A-1027","total":1200,"currency":"EUR"}}',
    ],
    ["signup", "application/x-www-form-urlencoded", "name=Ada+Lovelace&plan=team"],
    ["orders", "text/html", "<script>document.title = 'taken'</script><h1>Hello</h1>"],
    [
      "device",
      "application/octet-stream",
      Buffer.from(Array.from({ length: 300 }, (_, index) => index % 256)),
    ],
  ] as const;
  for (const [name, type, body] of hooks) {
    const headers = { "content-type": type, "user-agent": "Shop/2.4", "x-shop-event": "order.paid" };
    const sent = await visit(instance, slug, { method: "POST", path: `/hooks/${name}`, headers, body });
    assert.equal(sent.status, 202, sent.body);
  }
  await page.goto(at(address, "/"));
  assert.equal(await page.locator(".hooks > li").count(), 5);
  await photograph(page, "webhook-inbox-list");
  for (const [index, kind] of ["Bytes", "Text", "Text", "JSON", "JSON"].entries()) {
    await page.goto(at(address, "/"));
    await page.locator(".hooks a").nth(index).click();
    await page.getByRole("heading", { name: `Body ${kind}` }).waitFor();
    assert.match(await page.title(), /Webhook inbox$/);
    if (index === 0 || index === 3) await photograph(page, `webhook-inbox-${kind.toLowerCase()}`);
  }
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await restAndReturn(page, address);
  assert.equal(await page.locator(".hooks > li").count(), 4);
  for (const path of ["/", "/hooks/1", "/hooks/1/body"])
    assert.equal((await visit(instance, slug, { path })).status, 404);
  assert.equal((await visit(instance, slug, { method: "POST", path: "/delete/1" })).status, 404);
  assert.deepEqual(complaints, []);
});

test("feedback-board: written, seen, voted for once, and refused with words when it is not as it must be", async () => {
  const { context, page, address, complaints } = await opened("feedback-board");
  await photograph(page, "feedback-board-empty");
  const voices = [
    [
      "Idea",
      "A calendar of low tides on the first page would save me a look elsewhere every morning.",
      "Mira",
    ],
    ["Praise", "Loads at once, even on the boat.", ""],
    ["Problem", "The map jumps back to the harbour\nwhen I turn my phone.\n<script>alert(1)</script>", "Jón"],
  ] as const;
  for (const [kind, text, author] of voices) {
    await page.getByLabel(kind).check();
    await page.getByLabel("In your words").fill(text);
    await page.getByLabel("Your name").fill(author);
    await page.getByRole("button", { name: "Send" }).click();
    await page
      .locator(".voice:target")
      .getByText(text.split("\n")[0] ?? "")
      .waitFor();
  }
  const vote = (): ReturnType<Page["locator"]> => page.locator(".voice").last().getByRole("button");
  await vote().click();
  await page.locator(".voice").last().getByRole("button", { name: "1 vote, one is yours" }).waitFor();
  assert.equal(await vote().isDisabled(), true);
  await photograph(page, "feedback-board-list");
  await page.getByRole("link", { name: "Most votes" }).click();
  await page.locator(".voice").first().getByText("A calendar of low tides").waitFor();
  assert.deepEqual(complaints, []);

  // A browser that does not check by itself, as an old one: the page says what is wrong and keeps what was written.
  await page.locator("#text").evaluate((field: { removeAttribute(name: string): void }) => {
    field.removeAttribute("required");
  });
  await page.getByLabel("Your name").fill("Ada");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("Write what is on your mind.").waitFor();
  assert.equal(await page.getByLabel("Your name").inputValue(), "Ada");
  await photograph(page, "feedback-board-refused");
  assert.equal((await context.cookies()).find(({ name }) => name === "voted")?.value, "1");
  await restAndReturn(page, address);
  assert.equal(await page.locator(".voice").count(), 3);
});

test("metrics-digest: its weekly schedule wakes the computer and writes a page with charts, which a visit later finds", async () => {
  const { page, address, slug, complaints } = await opened("metrics-digest");
  await page.getByRole("heading", { name: "The first digest comes on Monday" }).waitFor();
  await photograph(page, "metrics-digest-empty");
  const { id } = await runsAsleep(slug);
  const { text } = await assistant.client.runs.output({ run: id });
  assert.match(text, /^\d{4}-w\d\d \(.* from sample numbers\nVisits: /);
  await restAndReturn(page, address);
  await page.getByRole("img", { name: "Visits, day by day" }).waitFor();
  assert.equal(await page.locator("svg[role=img]").count(), 8);
  await page.getByText("These are sample numbers.").waitFor();
  await photograph(page, "metrics-digest-page");

  const days = Array.from({ length: 28 }, (_, index) => {
    const day = new Date(Date.UTC(2026, 8, 7 + index)).toISOString().slice(0, 10);
    return `${day},${1000 + 40 * index},${30 + index},${20 + (index % 9)},${900 + 30 * index}.50`;
  });
  const csv = ["day,visits,signups,orders,revenue", ...days].join("\n");
  await assistant.client.files.write({
    computer,
    path: "/work/metrics-digest/data/metrics.csv",
    content: csv,
  });
  await runsAsleep(slug);
  await page.goto(at(address, "/digests"));
  assert.equal(await page.locator(".week").count(), 2);
  await photograph(page, "metrics-digest-list");
  await page.getByRole("link", { name: "Week 40" }).click();
  await page.getByRole("heading", { name: /28 September/ }).waitFor();
  assert.equal(await page.getByText("These are sample numbers.").count(), 0);
  await photograph(page, "metrics-digest-own");
  assert.deepEqual(complaints, []);
});

test("scheduled-report: its daily schedule wakes the computer, and the report is there for people, programs and feeds", async () => {
  const { page, address, slug, complaints } = await opened("scheduled-report");
  await page.getByRole("button", { name: "Make one now" }).waitFor();
  await photograph(page, "scheduled-report-empty");
  await runsAsleep(slug);
  await restAndReturn(page, address, "stop");
  await page.getByRole("heading", { name: "What changed" }).waitFor();
  await page.getByText("Create scheduled-report from scheduled-report").waitFor();
  await photograph(page, "scheduled-report-page");
  await page.getByRole("link", { name: "All days" }).click();
  assert.equal(await page.locator(".list > li").count(), 1);
  await photograph(page, "scheduled-report-list");
  assert.equal((await page.goto(at(address, "/feed.xml")))?.status(), 200);
  assert.deepEqual(complaints, []);
});
