import assert from "node:assert/strict";
import { test } from "node:test";
import { usePrivateInstance } from "../support/instance.ts";
import { hangMs, until, untilValue } from "../support/until.ts";
import { crashFiles } from "./rounds.ts";
import { struck } from "./struck.ts";

/** Control is killed at each named point of a run's way; each slot then has one run, and each run ran once. */
const { files, environment } = crashFiles("schedules");
const instance = await usePrivateInstance("crash-sch", environment);
const assistant = await instance.assistant({ computers: 20 });
const { ask, killedAt, repeat } = struck(instance, assistant, files.control);
type Run = Readonly<Record<string, unknown>>;

const runs = async (schedule: string): Promise<readonly Run[]> =>
  ((await ask("GET", `/v1/runs?schedule=${schedule}&limit=200`)).body["runs"] as Run[]).toReversed();
const isOver = ({ state }: Run): boolean =>
  !["queued", "running", "waiting_to_retry"].includes(String(state));
const settled = (schedule: string): Promise<readonly Run[]> =>
  untilValue(
    "its runs have ended",
    async () => {
      const all = await runs(schedule);
      return all.length > 0 && all.every(isOver) ? all : undefined;
    },
    2 * hangMs,
  );
const ran = async (computer: string): Promise<number> => {
  const { body } = await ask("POST", `/v1/computers/${computer}/exec`, { command: "cat /work/ran | wc -l" });
  return Number(body["stdout"]);
};

for (const point of [
  "schedule-before-claimed",
  "schedule-claimed",
  "run-before-started",
  "run-handed-over",
  "run-started",
  "run-before-ended",
  "run-ended",
])
  test(`killed at ${point}: each slot has one run that ran once, and none is left out`, async () => {
    const computer = point;
    await ask("POST", "/v1/computers", { name: computer });
    const fields = {
      computer,
      name: "often",
      command: "echo ran >> /work/ran",
      every_ms: 1000,
      overlap: "queue",
    };
    let schedule = "";
    await killedAt(point, async () => {
      const made = await ask("POST", "/v1/schedules", fields);
      schedule = String(made.body["id"]);
      return made;
    });
    await until("slots go on", async () => (await runs(schedule)).length >= 4, { withinMs: hangMs });
    await ask("POST", `/v1/schedules/${schedule}/pause`, {});
    const all = await settled(schedule);
    assert.deepEqual(
      all.filter(({ state }) => state !== "succeeded"),
      [],
    );
    const slots = all.map(({ slot }) => Date.parse(String(slot)));
    assert.deepEqual(
      slots,
      slots.map((_, index) => (slots[0] ?? 0) + 1000 * index),
    );
    assert.equal(await ran(computer), all.length);
    await ask("DELETE", `/v1/computers/${computer}`);
  });

for (const point of ["run-before-fork", "run-fork-written", "run-handed-over", "run-ended"])
  test(`killed at ${point} of a run in a fork: it ran, and no fork is left`, async () => {
    const computer = `aside-${point}`;
    await ask("POST", "/v1/computers", { name: computer });
    const made = await ask("POST", "/v1/schedules", {
      computer,
      name: "aside",
      command: "cat /etc/hostname; exit 3",
      event: true,
      place: "fork",
    });
    const path = `/v1/schedules/${String(made.body["id"])}/run`;
    await killedAt(point, () => ask("POST", path, {}, point));
    await repeat(path, {}, point);
    const [run, ...more] = await settled(String(made.body["id"]));
    assert.deepEqual(more, []);
    assert.deepEqual(
      [run?.["state"], run?.["exit"]],
      ["failed", { kind: "exited", code: 3 }],
      JSON.stringify(run),
    );
    const output = await ask("GET", `/v1/runs/${String(run?.["id"])}/output`);
    assert.match(String(output.body["text"]), /\S/);
    await until(
      "the computers are those that were made",
      async () => {
        const { body } = await ask("GET", "/v1/computers");
        return (body["computers"] as { name: string }[]).every(({ name }) => name === computer);
      },
      { withinMs: hangMs },
    );
    await ask("DELETE", `/v1/computers/${computer}`);
    assert.deepEqual(await instance.leftovers([]), []);
  });
