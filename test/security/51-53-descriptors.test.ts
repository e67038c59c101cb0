import assert from "node:assert/strict";
import { test } from "node:test";
import { python, run } from "../support/computer.ts";
import { useComputer } from "../support/use.ts";

const { instance, assistant, computer } = await useComputer();

test("51: a process has descriptors 0, 1 and 2 alone, and `..` from what it holds stays inside", async () => {
  const out = await python(
    assistant,
    computer,
    `
import os
mine = os.listdir("/proc/self/fd")
kept = []
for fd in mine:
    try: kept.append((int(fd), os.readlink("/proc/self/fd/" + fd)))
    except FileNotFoundError: pass
print(sorted(fd for fd, target in kept))
print([target for fd, target in kept if not (target == "/dev/null" or target.startswith("pipe:"))])
`,
  );
  assert.equal(out, "[0, 1, 2]\n[]\n");
});

test("51: PID 1 shows nothing of its descriptors to the cell's root; no path through it leads out", async () => {
  const out = await python(
    assistant,
    computer,
    `
import os
def look(path):
    try: return sorted(os.listdir(path))[:3]
    except OSError as error: return type(error).__name__
print(look("/proc/1/root"), look("/proc/1/cwd"), look("/proc/1/map_files"), look("/proc/1/ns/../root"))
for fd in range(0, 64):
    try: print("told", os.readlink("/proc/1/fd/%d" % fd))
    except OSError: pass
    for base in ("/proc/1/fd/%d" % fd, "/proc/1/fd/%d/../../../../../../etc/hostname" % fd):
        try:
            os.open(base, os.O_RDONLY | os.O_NONBLOCK)
            print("opened", base)
        except OSError: pass
`,
  );
  assert.equal(out, "PermissionError PermissionError PermissionError PermissionError\n");
});

test("52: a working directory below /proc/…/fd, /proc/…/cwd or /proc/…/root is refused", async () => {
  const places = [
    "/proc/1/cwd",
    "/proc/1/root",
    "/proc/self/cwd",
    "/proc/self/root",
    "/proc/thread-self/cwd",
  ];
  for (let fd = 3; fd <= 20; fd += 1)
    places.push(`/proc/self/fd/${fd}`, `/proc/1/fd/${fd}`, `/proc/self/fd/${fd}/..`);
  for (const cwd of places) {
    const outcome = await assistant.client.processes.exec({ computer, argv: ["/bin/ls"], cwd }).then(
      (result) => result.stdout,
      (error: { code: string }) => error.code,
    );
    assert.equal(outcome, "spawn_failed", cwd);
  }
  await run(assistant, computer, "ln -sfn /proc/self/cwd /work/around && ln -sfn /work /work/fine");
  await assert.rejects(
    assistant.client.processes.exec({ computer, argv: ["/bin/ls"], cwd: "/work/around" }),
    {
      code: "spawn_failed",
    },
  );
  assert.equal((await run(assistant, computer, "pwd -P", { cwd: "/work/fine" })).stdout, "/work\n");
});

test("53: a user is two numbers within the computer's own ids; anything else is refused", async () => {
  const { url } = instance;
  const users = [
    "root",
    "0",
    "0:0",
    { uid: "0", gid: 0 },
    { uid: "root", gid: "root" },
    { uid: "0 -o /", gid: 0 },
    { uid: -1, gid: 0 },
    { uid: 65_535, gid: 0 },
    { uid: 65_536, gid: 0 },
    { uid: 4_294_967_295, gid: 0 },
    { uid: 4_294_967_296, gid: 0 },
    { uid: 0.5, gid: 0 },
    { uid: 0 },
    [0, 0],
    null,
  ];
  for (const user of users) {
    const response = await fetch(`${url}/v1/computers/${computer}/exec`, {
      method: "POST",
      headers: { authorization: `Bearer ${assistant.secret}`, "content-type": "application/json" },
      body: JSON.stringify({ argv: ["/usr/bin/id"], user }),
    });
    assert.equal(response.status, 400, `${JSON.stringify(user)}: ${await response.text()}`);
  }
  const result = await run(assistant, computer, "id -u; id -g; id -G; cat /proc/self/uid_map", {
    user: { uid: 1234, gid: 65_534 },
  });
  const [uid, gid, groups, map = ""] = result.stdout.split("\n");
  assert.deepEqual([uid, gid, groups], ["1234", "65534", "65534"]);
  const { uids } = instance;
  const [inside, outside, count] = map.trim().split(/\s+/).map(Number);
  assert.deepEqual([inside, count], [0, 65_536]);
  assert.ok(outside !== undefined && outside >= uids.base && outside < uids.base + uids.count, map);
});
