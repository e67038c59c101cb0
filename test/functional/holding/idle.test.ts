import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createComputer, run } from "../../support/computer.ts";
import { causesUntil, idleHangMs, soonMs, untilState } from "../../support/holding.ts";
import { useAssistant } from "../../support/use.ts";

const { assistant } = await useAssistant();
const { client } = assistant;

const idle = { sleep_after_ms: soonMs };

/** Ways of being busy; each starts it and answers what ends it. */
const busy: Readonly<Record<string, (computer: string) => Promise<() => unknown>>> = {
  "a process that was asked to keep it awake": async (computer) => {
    const command = "sleep 600";
    const { id } = await client.processes.start({ computer, command, keep_awake: true });
    return () => client.processes.signal({ computer, process: id, signal: "KILL" });
  },
  "a hold": async (computer) => {
    const { id } = await client.holds.create({ computer, reason: "a test", for_ms: 600_000 });
    return () => client.holds.release({ computer, hold: id });
  },
  "a hold that is renewed": async (computer) => {
    const { id } = await client.holds.create({ computer, reason: "a heartbeat", for_ms: 3000 });
    const renewed = setInterval(() => {
      client.holds.renew({ computer, hold: id, for_ms: 3000 }).catch(() => {});
    }, 500);
    return () => clearInterval(renewed);
  },
  "a processor in use": async (computer) => {
    const { id } = await client.processes.start({ computer, command: "while :; do :; done" });
    return () => client.processes.signal({ computer, process: id, signal: "KILL" });
  },
  "an output that is followed": async (computer) => {
    const { id } = await client.processes.start({ computer, command: "sleep 600" });
    const enough = new AbortController();
    const follow = async (): Promise<void> => {
      const events = client.processes.follow({ computer, process: id }, { signal: enough.signal });
      for await (const _event of events);
    };
    follow().catch(() => {});
    return () => enough.abort();
  },
  "an attached terminal": async (computer) => {
    const terminal = { columns: 80, rows: 24 };
    const { id } = await client.processes.start({ computer, argv: ["sleep", "600"], terminal });
    const attachment = await client.processes.attach({ computer, process: id });
    return () => attachment.close();
  },
  "a run of a schedule": async (computer) => {
    const { id } = await client.schedules.create({
      computer,
      name: "long",
      command: "sleep 600",
      event: true,
    });
    const { id: started } = await client.schedules.run({ schedule: id, wait_ms: 0 });
    return () => client.runs.cancel({ run: started });
  },
};

describe("what idle time does", { concurrency: true }, () => {
  test("lifecycle 4: an idle reaper never stops a busy computer, and takes it once it is idle", async () => {
    const alone = await createComputer(assistant, idle);
    const ends = new Map<string, () => unknown>();
    const computers = new Map<string, string>();
    for (const [how, begin] of Object.entries(busy)) {
      const computer = await createComputer(assistant, { ...idle, stop_after_ms: soonMs });
      computers.set(how, computer);
      ends.set(how, await begin(computer));
    }
    const kept = await createComputer(assistant, { ...idle, keep_awake: true });
    const never = await createComputer(assistant, { sleep_after_ms: 0 });
    await untilState(assistant, alone, "asleep");
    // As long again: what was busy was idle by now, if it were not for that.
    await new Promise((resolve) => setTimeout(resolve, soonMs));
    for (const [how, computer] of [...computers, ["keep_awake", kept], ["sleep_after_ms 0", never]] as const)
      assert.equal((await client.computers.get({ computer })).state, "awake", how);
    for (const end of ends.values()) await end();
    await Promise.all([...computers.values()].map((computer) => untilState(assistant, computer, "asleep")));
    assert.equal((await client.computers.get({ computer: kept })).state, "awake");
  });

  test("lifecycle 4: a stale heartbeat never kills the next boot: that has its whole idle time, and holds of the one before do not count", async () => {
    const computer = await createComputer(assistant, idle);
    const { id: process } = await client.processes.start({ computer, command: "sleep 600" });
    const hold = await client.holds.create({ computer, reason: "bound", process, for_ms: 600_000 });
    await new Promise((resolve) => setTimeout(resolve, soonMs * 0.7));
    await client.computers.stop({ computer });
    const since = performance.now();
    await client.computers.wake({ computer });
    await new Promise((resolve) => setTimeout(resolve, soonMs * 0.7));
    const { state } = await client.computers.get({ computer });
    // On a host that was away for long it may have been idle for all of it.
    if (performance.now() - since < soonMs) assert.equal(state, "awake");
    await untilState(assistant, computer, "asleep");
    await assert.rejects(client.holds.renew({ computer, hold: hold.id, for_ms: 60_000 }), {
      code: "not_found",
    });
    assert.deepEqual((await client.holds.list({ computer })).holds, []);
  });

  test("state 2: written a moment before idle sleep, without fsync: there after wake, and after stop", async () => {
    const computer = await createComputer(assistant, { ...idle, stop_after_ms: soonMs });
    const write = "head -c 5000000 /dev/zero | tr '\\0' x > /work/late; echo end >> /work/late";
    const look = "tail -c 4 /work/late; wc -c < /work/late";
    await run(assistant, computer, write);
    await untilState(assistant, computer, "asleep");
    assert.equal((await run(assistant, computer, look)).stdout, "end\n5000004\n");
    await run(assistant, computer, `rm /work/late; ${write}`);
    await untilState(assistant, computer, "stopped", 2 * idleHangMs);
    assert.equal((await run(assistant, computer, look)).stdout, "end\n5000004\n");
  });

  test("state 7: a process started just before idle sleep ends properly after wake and blocks nothing", async () => {
    const computer = await createComputer(assistant, idle);
    const command = "for i in $(seq 400); do sleep 0.05; done; echo done; exit 7";
    const { id: process } = await client.processes.start({ computer, command });
    await untilState(assistant, computer, "asleep");
    assert.equal((await client.processes.get({ computer, process })).state, "running");
    assert.equal((await run(assistant, computer, "echo free")).stdout, "free\n");
    const hold = await client.holds.create({ computer, reason: "to see its end" });
    const ended = await client.processes.get({ computer, process, wait_ms: 50_000 });
    assert.deepEqual([ended.state, ended.exit_code], ["ended", 7]);
    assert.equal((await client.processes.output({ computer, process })).stdout, "done\n");
    assert.equal((await client.holds.release({ computer, hold: hold.id })).released, true);
  });

  test("every transition is told with its cause, down to the archive", async () => {
    const computer = await createComputer(assistant, {
      ...idle,
      stop_after_ms: soonMs,
      archive_after_ms: soonMs,
    });
    const told = await causesUntil(assistant, computer, "computer.archived", 3 * idleHangMs);
    const find = (kind: string): string | undefined => told.find((one) => one.startsWith(kind));
    assert.equal(find("computer.asleep"), "computer.asleep idle", told.join("; "));
    assert.equal(find("computer.stopped"), "computer.stopped long_asleep", told.join("; "));
    assert.match(find("computer.archived") ?? "", /^computer\.archived \w+$/, told.join("; "));
  });
});
