/**
 * Work that goes on while nobody looks, once, by an assistant that has nothing but the official MCP client and a key: a schedule that wakes its
 * computer, slots that make one run each, a snapshot before something goes wrong, a fork to look at it, and the way back. Each step checks what
 * it got; the first that is wrong ends the program with status 1.
 *
 * usage: main.ts --url http://127.0.0.1:7300/mcp --key-file FILE [--keep]
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { visit } from "../quickstart/address.ts";
import { Assistant } from "../quickstart/assistant.ts";

type Fields = Readonly<Record<string, unknown>>;

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      url: { type: "string" },
      "key-file": { type: "string" },
      keep: { type: "boolean", default: false },
    },
  });
  if (!values.url || !values["key-file"])
    throw new Error("usage: main.ts --url http://…/mcp --key-file FILE [--keep]");
  const key = (await readFile(values["key-file"], "utf8")).trim();
  const name = `holding-${randomBytes(3).toString("hex")}`;
  const trial = `${name}-trial`;

  const assistant = await Assistant.connect(values.url, key);
  await assistant.step(`a computer: ${name}`, async () => {
    const computer = await assistant.call("computer_create", { name, idempotency_key: name });
    check(computer["state"] === "awake", `its state is ${String(computer["state"])}`);
    return `sleeps after ${Number(computer["sleep_after_ms"]) / 60_000} min without work`;
  });
  const address = await assistant.step("a project that comes with a weekly schedule", async () => {
    const asked = { computer: name, name: "sales", template: "metrics-digest", idempotency_key: name };
    const project = await assistant.call("project_create", asked);
    check(project["state"] === "running", `its state is ${String(project["state"])}`);
    return String(project["address"]);
  });
  await assistant.step("run while the computer sleeps, which wakes it", async () => {
    const asleep = await assistant.call("computer_sleep", { computer: name });
    check(asleep["state"] === "asleep", `its state is ${String(asleep["state"])}`);
    const run = await ended(
      assistant,
      await assistant.call("schedule_run", { schedule: "sales-weekly", computer: name }),
    );
    check(run["state"] === "succeeded", `the run ${String(run["state"])}: ${String(run["reason"])}`);
    check(run["woke"] === "asleep", `it woke ${String(run["woke"])}`);
    await checkCharts(address, key);
    return "a page with charts";
  });
  await assistant.step("another, every second: each slot is one run", async () => {
    const command = "date +%s.%N >> /work/slots";
    await assistant.call("schedule_create", {
      computer: name,
      name: "often",
      every_ms: 1000,
      command,
      idempotency_key: `${name}-often`,
    });
    let runs: readonly Fields[] = [];
    while (runs.length < 3) {
      await pause(500);
      const listed = await assistant.call("run_list", { schedule: "often", computer: name });
      runs = (listed["runs"] as Fields[]).filter(({ state }) => state === "succeeded");
    }
    await assistant.call("schedule_delete", { schedule: "often", computer: name });
    const slots = new Set(runs.map(({ slot }) => slot));
    check(slots.size === runs.length, "a slot has two runs");
    const { stdout } = await assistant.exec(name, "wc -l < /work/slots");
    check(Number(stdout) >= runs.length, `${stdout.trim()} lines of ${runs.length} runs`);
    return `${runs.length} slots, ${runs.length} runs`;
  });
  await assistant.step("a snapshot, before something goes wrong", async () => {
    const snapshot = await assistant.call("snapshot_create", {
      computer: name,
      name: "before",
      note: "While all was well",
      idempotency_key: `${name}-before`,
    });
    await assistant.exec(name, "rm -r /work/sales/data /work/sales/server.mjs");
    const { differences } = await assistant.call("snapshot_diff", {
      computer: name,
      snapshot: "before",
      path: "/work/sales",
    });
    const removed = (differences as Fields[]).filter(({ change }) => change === "removed");
    check(
      removed.some(({ path }) => path === "/work/sales/server.mjs"),
      `removed: ${removed.map(({ path }) => path).join(", ")}`,
    );
    return `${String(snapshot["schedules"])} schedule and ${String(snapshot["projects"])} project are written down with it`;
  });
  await assistant.step(`a fork of it, to look at: ${trial}`, async () => {
    const fork = await assistant.call("computer_fork", {
      computer: name,
      name: trial,
      snapshot: "before",
      lifetime_ms: 3_600_000,
      idempotency_key: trial,
    });
    check(fork["state"] === "awake", `its state is ${String(fork["state"])}`);
    const [own, copied] = [
      await assistant.exec(name, "cat /etc/machine-id"),
      await assistant.exec(trial, "cat /etc/machine-id && ls /work/sales/server.mjs"),
    ];
    check(copied.exitCode === 0, `the file is not in the fork: ${copied.stderr}`);
    check(!copied.stdout.includes(own.stdout.trim()), "the fork has the machine id of the other");
    const { schedules } = await assistant.call("schedule_list", { computer: trial });
    check(
      (schedules as Fields[]).every(({ state }) => state === "paused"),
      "a schedule of the fork is not paused",
    );
    await assistant.call("computer_destroy", { computer: trial });
    return "the files are there, its identity is its own, its schedules are paused";
  });
  await assistant.step("back to the snapshot", async () => {
    const restored = await assistant.call("snapshot_restore", {
      computer: name,
      snapshot: "before",
      wait_ms: 45_000,
      idempotency_key: `${name}-back`,
    });
    await checkCharts(address, key);
    const { snapshots } = await assistant.call("snapshot_list", { computer: name });
    check(
      (snapshots as Fields[]).some(({ id, name: called }) => [id, called].includes(restored["before"])),
      "what was replaced is no snapshot",
    );
    return "the page is back, and what was replaced is kept";
  });
  if (!values.keep)
    await assistant.step("destroyed, when it is no longer needed", () =>
      assistant.call("computer_destroy", { computer: name }).then(() => name),
    );
  await assistant.close();
  process.stdout.write("The story succeeded.\n");
};

/** The run at its end, however long that takes. */
const ended = async (assistant: Assistant, run: Fields): Promise<Fields> => {
  let now = run;
  while (now["ended_at"] === null) now = await assistant.call("run_get", { run: run["id"], wait_ms: 20_000 });
  return now;
};

/** The page of the newest digest, shown to whoever has the key. */
const checkCharts = async (address: string, key: string): Promise<void> => {
  const { status, body } = await visit(address, "/", { key });
  check(status === 200, `it answered ${status}`);
  check(body.includes('aria-label="Visits, day by day"'), "there is no chart on the page");
};

function check(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Error(otherwise);
}

await main().catch((error: unknown) => {
  process.stderr.write(`The story failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
