import assert from "node:assert/strict";
import { cp, glob, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createIds, systemClock } from "@holdfast/kit";
import { useCellHost } from "../../support/cell-host.ts";
import { compareView } from "../../support/cell-view.ts";

const host = await useCellHost();
const newId = createIds(systemClock);

const startWarm = async (): Promise<{ readonly id: string; readonly cellId: string }> => {
  const id = newId("computer");
  await host.control.call("volume.create", { computer_id: id, size: "small" });
  const { cell } = await host.control.call("cell.start", {
    computer_id: id,
    size: "small",
    lease_ms: 600_000,
    warm: true,
  });
  return { id, cellId: cell.cell_id };
};

const claim = (id: string) =>
  host.control.call("cell.start", { computer_id: id, size: "small", lease_ms: 600_000 });

/** Every limit and weight of its cgroups on the host, by file. */
const limitsOf = async (id: string): Promise<Readonly<Record<string, string>>> => {
  const limits: Record<string, string> = {};
  const names =
    "{cpu.weight,cpu.shares,cpu.cfs_quota_us,cpu.cfs_period_us,cpu.max,memory.max,memory.limit_in_bytes,memory.swap.max,memory.memsw.limit_in_bytes,memory.swappiness,pids.max,cgroup.freeze}";
  for await (const file of glob(`/sys/fs/cgroup/{,*/}holdfast-${host.shortId}/${id}/${names}`))
    limits[file.replaceAll(id, "<id>")] = (await readFile(file, "utf8")).trim();
  return limits;
};

/** What a program in it can tell, with its own id put away. */
const insideOf = async (id: string): Promise<Readonly<Record<string, string>>> => {
  const seen: Record<string, string> = {};
  const questions = {
    environment: "env | sort",
    mounts:
      "sed 's/[0-9]* [0-9]* [0-9]*:[0-9]* //' /proc/self/mountinfo | sed -E 's/(uid|gid|subvolid)=[0-9]+/\\1=n/g'",
    files: "ls -laR /work /root /run /tmp | sed -E 's/[A-Z][a-z]{2} +[0-9]+ [0-9:]+/<time>/'",
    name: "hostname; cat /etc/hostname /etc/hosts",
    network: "cat /proc/net/route | cut -f 1,3- ; cat /proc/net/if_inet6",
    limits: "ulimit -a; cat /proc/self/oom_score_adj; nproc; grep -E 'Cap|Seccomp|NoNew' /proc/self/status",
  };
  for (const [name, command] of Object.entries(questions)) {
    const { code, stdout, stderr } = await host.exec(id, ["/bin/sh", "-c", command]);
    assert.equal(code, 0, `${name}: ${stderr}`);
    const short = id.replace("_", "-");
    seen[name] = stdout
      .replaceAll(id, "<id>")
      .replaceAll(short, "<name>")
      .replaceAll(/198\.1[89]\.\d+\.\d+/g, "<address>")
      .replaceAll(/\b[0-9A-F]{8}\b/g, "<address>");
  }
  return seen;
};

/** All that a program in it sees of the system, and may ask of it; `test/security` holds it to a stored copy. */
const viewOf = async (id: string): Promise<unknown> => {
  const said = await host.exec(id, ["/.holdfast/agent", "view"]);
  assert.equal(said.code, 0, said.stderr);
  return (await compareView(said.stdout)).seen;
};

const identityOf = async (id: string): Promise<readonly string[]> => {
  const { stdout } = await host.exec(id, [
    "/bin/sh",
    "-c",
    "cat /etc/machine-id; hostname; cat /proc/sys/kernel/random/uuid; awk '{print $2}' /proc/self/uid_map",
  ]);
  return stdout.trim().split("\n");
};

test("a claimed cell is what a cold one is: view, limits, labels, mounts, environment, and an identity of its own", async () => {
  const cold = await host.newComputer();
  // The second has the address that `agent view` tries as a stranger's.
  await host.control.call("volume.create", { computer_id: newId("computer"), size: "small" });
  const { id: warm, cellId } = await startWarm();
  const waiting = await limitsOf(warm);
  const claimed = await claim(warm);
  assert.deepEqual([claimed.started, claimed.cell.cell_id], [false, cellId], "it runs already");
  assert.notDeepEqual(await limitsOf(warm), waiting, "while it waits it gets little of the processor");
  assert.ok(Object.keys(waiting).length >= 4, JSON.stringify(waiting));
  assert.deepEqual(await limitsOf(warm), await limitsOf(cold));

  const [ours, usual] = await Promise.all([warm, cold].map(viewOf));
  assert.deepEqual(ours, usual);
  assert.deepEqual(await insideOf(warm), await insideOf(cold));
  const identities = await Promise.all([warm, cold].map(identityOf));
  identities[0]?.forEach((value, index) => assert.notEqual(value, identities[1]?.[index]));

  const views = (await host.control.call("cell.list", {})).cells;
  const [one, other] = [warm, cold].map((id) => views.find(({ computer_id }) => computer_id === id));
  assert.ok(one && other);
  assert.deepEqual(
    [one.state, one.size, one.exit, Object.keys(one)],
    [other.state, other.size, other.exit, Object.keys(other)],
  );
});

test("a supervisor that comes back knows a warm cell from a claimed one, and policy of before from policy of now", async (context) => {
  const [claimed, waiting] = [await startWarm(), await startWarm()];
  await claim(claimed.id);
  await host.kill();
  // Another policy, as an update of the host's programs brings one.
  await host.start({ flags: ["--policy", await anotherPolicy(context)] });
  assert.equal((await claim(claimed.id)).cell.cell_id, claimed.cellId, "a computer's own cell stays");
  const made = await claim(waiting.id);
  assert.deepEqual([made.started, made.cell.cell_id === waiting.cellId], [true, false]);
  assert.equal((await host.exec(waiting.id, ["/bin/true"])).code, 0);
});

/** It says the same in other words. */
const anotherPolicy = async (context: TestContext): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-policy-"));
  context.after(() => rm(directory, { recursive: true }));
  await cp(new URL("../../../policy", import.meta.url), directory, { recursive: true });
  const file = join(directory, "paths.json");
  const policy = JSON.parse(await readFile(file, "utf8")) as { about: string };
  await writeFile(file, JSON.stringify({ ...policy, about: `${policy.about} Another time.` }));
  return directory;
};
