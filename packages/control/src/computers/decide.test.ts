import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CellView } from "@holdfast/contract";
import type { Computer, ComputerState, DesiredState } from "../domain/computer.ts";
import { decide, type Move, type Seen } from "./decide.ts";
import { awayDelay, judge, judgeEnd } from "./failures.ts";

const computer = (
  state: ComputerState,
  desiredState: DesiredState,
  more: Partial<Computer> = {},
): Computer => ({
  id: "cmp_00000000000000000000",
  accountId: "acc_00000000000000000000",
  principalId: "asst_00000000000000000000",
  name: "one",
  description: "",
  size: "small",
  environment: {},
  state,
  desiredState,
  cause: "asked",
  reason: null,
  failureCode: null,
  attempts: 0,
  crashes: 0,
  image: state === "creating" ? null : "image",
  cellId: state === "awake" || state === "asleep" ? "cel_1" : null,
  appliedSize: state === "creating" ? null : "small",
  servicesRevision: 1,
  version: 1,
  createdAtMs: 0,
  updatedAtMs: 0,
  awakeSinceMs: null,
  sleepAfterMs: null,
  stopAfterMs: null,
  archiveAfterMs: 0,
  keepAwake: false,
  keepHourly: 0,
  keepDaily: 0,
  keepWeekly: 0,
  activeAtMs: 0,
  stateSinceMs: 0,
  expiresAtMs: null,
  parentId: null,
  delegatorId: null,
  originSnapshotId: null,
  identityDue: false,
  filling: false,
  restoring: null,
  archive: null,
  ...more,
});

const cell = (state: CellView["state"], cellId = "cel_1"): Seen => ({
  computer_id: "cmp_00000000000000000000",
  cell_id: cellId,
  state,
  size: "small",
  started_at_ms: 0,
  lease_ends_in_ms: 0,
  warm: false,
  exit: state === "exited" ? { reason: "agent_ended", at_ms: 0 } : null,
});

describe("what the reconciler does next", () => {
  const rows: readonly [ComputerState, DesiredState, Seen, Move][] = [
    ["creating", "awake", "unknown", "wake"],
    ["creating", "destroyed", "unknown", "destroy"],
    ["awake", "awake", "unknown", "none"],
    ["awake", "awake", cell("running"), "none"],
    ["awake", "awake", cell("running", "cel_2"), "wake"],
    ["awake", "awake", cell("frozen"), "wake"],
    ["awake", "awake", cell("exited"), "record_end"],
    ["awake", "awake", "none", "record_end"],
    ["awake", "asleep", "unknown", "sleep"],
    ["awake", "stopped", "unknown", "stop"],
    ["awake", "stopped", cell("exited"), "record_end"],
    ["asleep", "asleep", "unknown", "none"],
    ["asleep", "asleep", cell("frozen"), "none"],
    ["asleep", "asleep", cell("running"), "sleep"],
    ["asleep", "asleep", "none", "record_end"],
    ["asleep", "awake", cell("frozen"), "wake"],
    ["stopped", "awake", "unknown", "wake"],
    ["stopped", "stopped", "none", "none"],
    ["stopped", "stopped", cell("exited"), "none"],
    ["stopped", "stopped", cell("running"), "stop"],
    ["stopped", "asleep", "unknown", "none"],
    ["awake", "archived", "unknown", "stop"],
    ["asleep", "archived", "unknown", "stop"],
    ["stopped", "archived", "none", "archive"],
    ["stopped", "archived", cell("running"), "stop"],
    ["archived", "archived", "none", "none"],
    ["archived", "awake", "none", "unarchive"],
    ["archived", "stopped", "unknown", "unarchive"],
    ["archived", "destroyed", "unknown", "destroy"],
    ["failed", "archived", "unknown", "none"],
    ["failed", "awake", cell("running"), "none"],
    ["failed", "destroyed", "unknown", "destroy"],
    ["destroyed", "destroyed", "none", "none"],
  ];
  for (const [state, desired, seen, move] of rows) {
    const word = typeof seen === "string" ? seen : `${seen.state} ${seen.cell_id}`;
    it(`${state}, wanted ${desired}, cell ${word}: ${move}`, () => {
      assert.equal(decide(computer(state, desired), seen), move);
    });
  }

  const archive = { digest: "d", bytes: 1 };
  it("seals what is packed first, whatever is wanted by then: the disk may be gone", () => {
    assert.equal(decide(computer("stopped", "awake", { archive }), "unknown"), "archive");
    assert.equal(decide(computer("stopped", "destroyed", { archive }), "unknown"), "destroy");
    assert.equal(decide(computer("archived", "awake", { archive, size: "large" }), "none"), "unarchive");
  });

  it("restores a stopped computer only, and gets it there first", () => {
    const restoring = { id: "snp_b", snapshotId: "snp_a", definitions: false, afterwards: "awake" } as const;
    const move = (state: ComputerState, desired: DesiredState, seen: Seen): Move =>
      decide(computer(state, desired, { restoring }), seen);
    assert.equal(move("awake", "stopped", "unknown"), "stop");
    assert.equal(move("asleep", "awake", "unknown"), "stop");
    assert.equal(move("stopped", "awake", "none"), "restore");
    assert.equal(move("stopped", "awake", cell("running")), "stop");
    assert.equal(move("archived", "archived", "none"), "unarchive");
    assert.equal(move("awake", "stopped", "none"), "record_end");
    assert.equal(move("creating", "awake", "unknown"), "wake");
  });

  it("runs a computer that is being filled, and no more, until it is whole", () => {
    const filling = (cellId: string | null): Computer =>
      computer("creating", "awake", { filling: true, cellId });
    assert.equal(decide(filling(null), "unknown"), "wake");
    assert.equal(decide(filling("cel_1"), "unknown"), "none");
    assert.equal(decide(filling("cel_1"), cell("running")), "none");
    assert.equal(decide(filling("cel_1"), cell("exited")), "wake");
    assert.equal(decide({ ...filling("cel_1"), filling: false }, "unknown"), "wake");
  });

  it("applies a new size before anything but an end or a destruction", () => {
    const grown = { size: "large" } as const;
    assert.equal(decide(computer("stopped", "awake", grown), "unknown"), "resize");
    assert.equal(decide(computer("awake", "awake", grown), "unknown"), "resize");
    assert.equal(decide(computer("awake", "destroyed", grown), "unknown"), "destroy");
    assert.equal(decide(computer("creating", "awake", grown), "unknown"), "wake");
  });
});

describe("what the reconciler makes of a failure", () => {
  it("gives up archiving and restoring what cannot be, and never the sealing of what is packed", () => {
    const stopped = computer("stopped", "archived");
    assert.equal(judge(stopped, "archive", "computer_failed").kind, "give_up");
    assert.equal(judge(stopped, "archive", "host_full").kind, "retry");
    assert.equal(judge({ ...stopped, attempts: 4 }, "archive", "internal").kind, "give_up");
    assert.equal(judge({ ...stopped, attempts: 99 }, "archive", "limit_reached").kind, "retry");
    const packed = { ...stopped, archive: { digest: "d", bytes: 1 }, attempts: 99 };
    assert.equal(judge(packed, "archive", "computer_failed").kind, "retry");
    assert.equal(judge(stopped, "restore", "computer_failed").kind, "give_up");
    assert.equal(judge(stopped, "restore", "unavailable").kind, "retry");
  });

  it("fails a computer whose archive is not what was packed", () => {
    assert.equal(judge(computer("archived", "awake"), "unarchive", "computer_failed").kind, "fail");
    assert.equal(judge(computer("archived", "awake"), "unarchive", "host_full").kind, "retry");
  });

  it("undoes a creation that the host has no room for, and only waits while the supervisor is away", () => {
    assert.equal(judge(computer("creating", "awake"), "wake", "host_full").kind, "undo");
    assert.equal(judge(computer("creating", "awake", { attempts: 99 }), "wake", "unavailable").kind, "retry");
    assert.equal(judge(computer("creating", "awake", { attempts: 4 }), "wake", "internal").kind, "undo");
  });

  it("fails a computer that does not start, after a few tries; never gives up taking one down", () => {
    assert.equal(judge(computer("stopped", "awake"), "wake", "internal").kind, "retry");
    assert.equal(judge(computer("stopped", "awake", { attempts: 4 }), "wake", "internal").kind, "fail");
    assert.equal(judge(computer("stopped", "awake"), "wake", "computer_failed").kind, "fail");
    assert.equal(judge(computer("awake", "stopped", { attempts: 99 }), "stop", "internal").kind, "retry");
    assert.equal(
      judge(computer("awake", "destroyed", { attempts: 99 }), "destroy", "computer_failed").kind,
      "retry",
    );
  });

  it("asks an agent that does not answer ever less often, and never gives its computer up for that", () => {
    const verdicts = [0, 3, 20].map((attempts) =>
      judge(computer("stopped", "awake", { attempts }), "wake", "cell_unreachable", 0),
    );
    assert.deepEqual(
      verdicts,
      [200, 1600, 30_000].map((delayMs) => ({ kind: "retry", delayMs, tell: false })),
    );
  });

  it("restarts a cell that ended at once, then slower, and gives up on one that ends again and again", () => {
    const young = computer("awake", "awake", { awakeSinceMs: 1_000_000 });
    assert.deepEqual(judgeEnd(young, 1_000_500), { crashes: 1, delayMs: 0, failed: false });
    assert.ok(judgeEnd({ ...young, crashes: 2 }, 1_000_500).delayMs > 0);
    assert.equal(judgeEnd({ ...young, crashes: 5 }, 1_000_500).failed, true);
    assert.equal(judgeEnd({ ...young, crashes: 5 }, 2_000_000).crashes, 1);
  });
});

it("a supervisor that stays away is waited for ever longer, within bounds", () => {
  const delays = Array.from({ length: 40 }, (_, times) => awayDelay(times + 1));
  assert.deepEqual(delays.slice(0, 6), [250, 250, 250, 250, 500, 1000]);
  assert.equal(delays.at(-1), 5000);
});
