import assert from "node:assert/strict";

type Data = Readonly<Record<string, unknown>>;
type Good = (name: string, args: Data) => Promise<{ readonly text: string; readonly data: Data }>;

/** Every tool for work that is held, once, on the awake computer `box`; what is made beside it is gone afterwards. */
export const useHeldWork = async (good: Good): Promise<void> => {
  const on = { computer: "box" };
  const { data: hold } = await good("hold_create", { ...on, reason: "a test", for_ms: 60_000 });
  await good("hold_renew", { ...on, hold: hold["id"], for_ms: 120_000 });
  assert.match((await good("hold_list", on)).text, /keeps cmp_\w+ awake until .*: a test$/);
  await good("hold_release", { ...on, hold: hold["id"] });
  await scheduled(good);

  await good("file_write", { ...on, path: "/work/kept.txt", content: "kept\n" });
  const { data: snapshot } = await good("snapshot_create", { ...on, name: "before", note: "of a test" });
  assert.match(
    (await good("snapshot_list", on)).text,
    /^before \(snp_\w+\) of cmp_\w+, manual, .*: of a test$/,
  );
  await good("snapshot_get", { ...on, snapshot: "before" });
  await good("file_delete", { ...on, path: "/work/kept.txt" });
  const diff = await good("snapshot_diff", { ...on, snapshot: "before", path: "/work" });
  assert.match(diff.text, /^removed \/work\/kept\.txt/m);
  const fork = { ...on, name: "fork", snapshot: snapshot["id"], lifetime_ms: 3_600_000 };
  await good("computer_fork", fork);
  const promoted = await good("computer_promote", { computer: "fork" });
  assert.equal(promoted.data["expires_at"], null);
  await good("computer_archive", { computer: "fork", wait_ms: 50_000 });
  assert.match((await good("exec", { computer: "fork", command: "cat /work/kept.txt" })).text, /^kept$/m);
  await good("computer_destroy", { computer: "fork" });
  const restored = await good("snapshot_restore", { ...on, snapshot: "before", wait_ms: 50_000 });
  assert.match(restored.text, /What was there before is the snapshot/);
  await offered(good);
  await good("snapshot_delete", { ...on, snapshot: "before" });
};

const scheduled = async (good: Good): Promise<void> => {
  const slots = await good("schedule_preview", { cron: "0 3 * * *", time_zone: "Europe/Berlin", count: 2 });
  assert.equal(slots.text.split("\n").length, 2);
  const asked = { computer: "box", name: "nightly", cron: "0 3 * * *", command: "echo run; exit 3" };
  const { data: schedule } = await good("schedule_create", asked);
  const of = { schedule: schedule["id"] };
  const { version } = (await good("schedule_get", of)).data;
  await good("schedule_update", { ...of, time_zone: "Europe/Berlin", if_match: version });
  await good("schedule_pause", of);
  await good("schedule_resume", of);
  assert.match((await good("schedule_list", {})).text, /^nightly \(sch_\w+\) on cmp_\w+ is active, cron 0 3/);
  const { data: run } = await good("schedule_run", { ...of, wait_ms: 0 });
  const ended = await good("run_get", { run: run["id"], wait_ms: 50_000 });
  assert.match(ended.text, /^run_\w+ failed, exit code 3, manual/);
  assert.match((await good("run_list", of)).text, /^run_\w+ failed, exit code 3/);
  assert.equal((await good("run_output", { run: run["id"] })).text, "run\n");
  await good("run_cancel", { run: run["id"] });
  await good("schedule_delete", of);
};

/** One offer is rejected, the other one accepted. The owner of the parent may do what the helper may. */
const offered = async (good: Good): Promise<void> => {
  const child = await good("child_create", { computer: "box", name: "child" });
  assert.match(child.text, /The helper is asst_\w+\. Its key, shown this once: \S+$/);
  await good("file_write", { computer: "child", path: "/work/made.txt", content: "made\n" });
  const make = { computer: "child", paths: ["/work/made.txt"], note: "of a test" };
  const { data: first } = await good("offer_create", make);
  await good("offer_reject", { offer: first["id"] });
  const { data: second } = await good("offer_create", make);
  assert.match((await good("offer_list", { computer: "box" })).text, /^off_\w+ from .* is open, 1 files/);
  const seen = await good("offer_diff", { offer: second["id"] });
  assert.match(seen.text, /^added \/work\/made\.txt, 5 bytes$/m);
  assert.match(seen.text, /offer_accept with digest [0-9a-f]{64}\.$/);
  await good("offer_accept", { offer: second["id"], digest: second["digest"] });
  const read = await good("file_read", { computer: "box", path: "/work/made.txt" });
  assert.match(read.text, /\nmade\n$/);
  await good("computer_destroy", { computer: "child" });
};
