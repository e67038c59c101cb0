import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { desire } from "../../../packages/control/src/store/computers.ts";
import { playComputers, type PlayedComputers } from "../../support/played-computers.ts";
import { usePostgres } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";

const postgres = usePostgres();
const { signal } = new AbortController();
const packed = { digest: "d".repeat(64), bytes: 4096 };

const want = async (
  played: PlayedComputers,
  id: string,
  desired: "stopped" | "archived" | "awake",
): Promise<void> => {
  await desire(played.store.db, id, desired, played.now());
  played.reconciler.nudge(id, { urgent: true });
};
const isState = (played: PlayedComputers, id: string, state: string): Promise<void> =>
  until(`it is ${state}`, async () => (await played.get(id)).state === state);
const since = (played: PlayedComputers, from: number): readonly string[] =>
  played.did.slice(from).map((one) => one.split(" ")[0] ?? "");

test("what it is packed into is written down before the disk goes, and on the way back what is unpacked is looked at before the archive goes", async (context) => {
  const order: string[] = [];
  const played = await playComputers(context, postgres, {
    trees: {
      pack: async () => packed,
      unpack: async (_agent, digest) => void order.push(digest),
    },
  });
  const { id } = await played.awake("one");
  const rowAt = new Map<string, unknown>();
  played.before = async (method) => void rowAt.set(method, (await played.get(id)).archive);
  const from = played.did.length;
  await want(played, id, "archived");
  await isState(played, id, "archived");
  assert.deepEqual(since(played, from), ["cell.stop", "archive.drop", "archive.open", "archive.seal"]);
  assert.deepEqual([rowAt.get("archive.open"), rowAt.get("archive.seal")], [null, packed]);
  const back = played.did.length;
  const reached = await played.computers.reach(await played.get(id), signal);
  assert.equal(reached.state, "awake");
  assert.deepEqual(since(played, back), [
    "archive.unpack",
    "cell.start",
    "cell.stop",
    "archive.unpacked",
    "cell.start",
  ]);
  assert.deepEqual(order, [packed.digest]);
  assert.equal((await played.get(id)).archive, null);
  assert.deepEqual(await played.told(id), [
    "awake asked",
    "stopped asked",
    "archived asked",
    "unarchived needed",
    "awake needed",
  ]);
});

test("an archive that is not what was packed fails its computer with a reason, the archive stays, and it may be tried again", async (context) => {
  let spoilt = true;
  const played = await playComputers(context, postgres, {
    trees: {
      pack: async () => packed,
      unpack: async () => {
        if (spoilt)
          throw new HoldfastError("computer_failed", "its archive is not what was packed", {
            reason: "digest",
          });
      },
    },
  });
  const { id } = await played.awake("one");
  await want(played, id, "archived");
  await isState(played, id, "archived");
  await assert.rejects(played.computers.reach(await played.get(id), signal), { code: "computer_failed" });
  const failed = await played.get(id);
  assert.deepEqual([failed.state, failed.reason], ["failed", "its archive is not what was packed"]);
  assert.ok(!played.did.some((one) => one.startsWith("archive.unpacked")));
  assert.equal(played.cells.has(id), false, "nothing of it is left running");
  spoilt = false;
  await want(played, id, "awake");
  await isState(played, id, "awake");
});

test("packing is given up when it is wanted awake, or cannot be: the disk is what counts", async (context) => {
  let begun = Promise.withResolvers<void>();
  let ends: "when it is told to" | "in failure" = "when it is told to";
  const played = await playComputers(context, postgres, {
    trees: {
      unpack: async () => {},
      pack: (_id, over) =>
        new Promise((_resolve, reject) => {
          begun.resolve();
          const failure = new HoldfastError("computer_failed", "it has subvolumes of its own", {});
          if (ends === "in failure") reject(failure);
          else over.addEventListener("abort", () => reject(over.reason as Error));
        }),
    },
  });
  const { id } = await played.awake("one");
  await want(played, id, "archived");
  await begun.promise;
  await want(played, id, "awake");
  await isState(played, id, "awake");
  assert.ok(!played.did.some((one) => one.startsWith("archive.seal")));
  assert.equal((await played.get(id)).archive, null);

  ends = "in failure";
  begun = Promise.withResolvers();
  await want(played, id, "archived");
  await until("it is given up", async () => (await played.get(id)).failureCode === "computer_failed");
  const row = await played.get(id);
  assert.deepEqual(
    [row.state, row.desiredState, row.reason],
    ["stopped", "stopped", "it has subvolumes of its own"],
  );
  assert.equal((await played.computers.reach(row, signal)).state, "awake");
});

test("a restoring stops it, keeps what was there, replaces it, and brings it back; who wants it meanwhile waits for that", async (context) => {
  const restored: string[] = [];
  const played = await playComputers(context, postgres, {
    restorer: { restored: async (_transaction, { restoring }) => void restored.push(restoring?.id ?? "") },
  });
  const { id } = await played.awake("one");
  const begin = (then: string, desired: string) =>
    played.sql(
      "update computers set restore_snapshot_id = 'snp_a', restore_id = 'snp_b', restore_then = $2, desired_state = $3 where id = $1",
      [id, then, desired],
    );
  let from = played.did.length;
  await begin("awake", "stopped");
  const reached = await played.computers.reach(await played.get(id), signal);
  assert.deepEqual(since(played, from), ["cell.stop", "snapshot.create", "volume.restore", "cell.start"]);
  assert.deepEqual([reached.state, reached.restoring, restored], ["awake", null, ["snp_b"]]);

  from = played.did.length;
  await begin("asleep", "stopped");
  played.reconciler.nudge(id);
  await until("it is restored", async () => (await played.get(id)).restoring === null);
  await isState(played, id, "stopped");
  assert.equal((await played.get(id)).desiredState, "stopped", "memory is gone: it cannot be asleep");

  // What cannot be restored is left as it is, and it is told why.
  played.before = (method) => {
    if (method === "volume.restore")
      throw new HoldfastError("computer_failed", "there is no such snapshot", {});
  };
  await begin("awake", "stopped");
  played.reconciler.nudge(id);
  await until("it is given up", async () => (await played.get(id)).restoring === null);
  const row = await played.get(id);
  assert.deepEqual([row.desiredState, restored.length], ["awake", 2]);
  assert.ok((await played.told(id)).some((one) => one.startsWith("not_restored")));
});

test("one that is being filled runs and does not count as awake; a copy becomes itself before anything of it runs", async (context) => {
  const order: string[] = [];
  const played = await playComputers(context, postgres, {
    agents: {
      of: () => ({
        plain: async (method: string, { path }: { readonly path: string }) => {
          order.push(`${method} ${path}`);
          const names = ["ssh_host_ed25519_key", "ssh_host_ed25519_key.pub", "ssh_config"];
          return method === "files.list"
            ? { entries: names.map((name) => ({ name })), next: null }
            : { deleted: 1 };
        },
      }),
    } as never,
    observer: {
      started: async () => void order.push("started"),
      stopping: async () => {},
      gone: async () => {},
      forget: () => {},
    },
    origins: { ready: async ({ originSnapshotId }) => void order.push(`ready ${originSnapshotId}`) },
  });
  const copy = await played.awake("copy", { originSnapshotId: "snp_a" });
  assert.deepEqual(order, [
    "ready snp_a",
    "files.list /etc/ssh",
    "files.delete /etc/ssh/ssh_host_ed25519_key",
    "files.delete /etc/ssh/ssh_host_ed25519_key.pub",
    "files.delete /var/lib/systemd/random-seed",
    "files.delete /var/lib/dbus/machine-id",
    "started",
  ]);
  assert.ok(played.did.includes(`volume.fork ${copy.id}`));
  order.length = 0;
  await want(played, copy.id, "stopped");
  await isState(played, copy.id, "stopped");
  await want(played, copy.id, "awake");
  await isState(played, copy.id, "awake");
  assert.deepEqual(order, ["started"], "once");

  const made = played.awake("filled", { filling: true });
  await until("its cell runs", async () => {
    const [row] = await played.sql("select state, cell_id from computers where name = 'filled'");
    return row?.["cell_id"] !== null && row?.["state"] === "creating";
  });
  await played.sql("update computers set filling = false where name = 'filled'");
  const [{ id }] = (await played.sql("select id from computers where name = 'filled'")) as [{ id: string }];
  played.reconciler.nudge(id);
  assert.equal((await made).state, "awake");
});
