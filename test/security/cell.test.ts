import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { execFileSync } from "node:child_process";
import {
  chownSync,
  chmodSync,
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { computerSizes } from "@holdfast/contract";
import { type Outcome, useCellHost } from "../support/cell-host.ts";
import { hangMs } from "../support/until.ts";

const host = await useCellHost();
const id = await host.newComputer();

const shell = (line: string, waitMs?: number): Promise<Outcome> =>
  host.exec(id, ["/bin/sh", "-c", line], waitMs === undefined ? {} : { waitMs });
const python = (code: string): Promise<Outcome> => host.exec(id, ["/usr/bin/python3", "-c", code]);
const volume = (): string => join(host.places.pool, "supervisor/computers", id);
const restart = async (): Promise<void> => {
  await host.control.call("cell.stop", { computer_id: id });
  await host.control.call("cell.start", { computer_id: id, size: "small", lease_ms: 600_000 });
};

test("51: a process has 0, 1 and 2 and nothing else; what PID 1 holds cannot be reached", async () => {
  const listed = await shell("ls /proc/self/fd | tr '\\n' ' '");
  assert.equal(listed.stdout, "0 1 2 3 ", "3 is the listing itself");
  const reached = await python(`
import os
for name in os.listdir("/proc/1/fd"):
    for path in (f"/proc/1/fd/{name}", f"/proc/1/fd/{name}/..", f"/proc/1/cwd/..", "/proc/1/root"):
        try:
            os.close(os.open(path, os.O_PATH))
            print(path, "opened")
        except OSError: pass
`);
  assert.equal(reached.stdout, "", reached.stderr);
});

test("55, 56: the host's switches cannot be turned", async () => {
  const files = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/kernel/hostname",
  ];
  const before = files.map((file) => readFileSync(file, "utf8"));
  for (const file of [
    ...files,
    "/proc/sysrq-trigger",
    "/sys/fs/cgroup/memory/release_agent",
    "/sys/kernel/uevent_helper",
  ]) {
    const written = await shell(`echo x > ${file}`);
    assert.notEqual(written.code, 0, file);
  }
  assert.deepEqual(
    files.map((file) => readFileSync(file, "utf8")),
    before,
  );
  const mounted = await shell("mkdir -p /tmp/m && mount -t cgroup -o devices x /tmp/m");
  assert.notEqual(mounted.code, 0);
});

test("64, 65: a setuid program gains nothing inside and is nobody's outside", async () => {
  const made = await shell(
    "cp /bin/sh /work/suid && chown 0:0 /work/suid && chmod 4755 /work/suid && grep NoNewPrivs /proc/self/status",
  );
  assert.match(made.stdout, /NoNewPrivs:\s+1/);
  const inside = await host.exec(id, [
    "/usr/bin/python3",
    "-c",
    "import os; os.setgid(1000); os.setuid(1000); os.execv('/work/suid', ['sh', '-p', '-c', 'id -u'])",
  ]);
  assert.equal(inside.stdout.trim(), "1000");
  const onPool = join(volume(), "work/suid");
  assert.equal(statSync(onPool).uid, 0, "ids on disk are 0-based, so nobody else may get there");
  const reached = execFileSync(
    "setpriv",
    ["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", `ls ${onPool} 2>&1 || true`],
    { encoding: "utf8" },
  );
  assert.match(reached, /Permission denied/);
});

test("63, 128: a device node that got into the volume stays shut", async () => {
  const node = join(volume(), "work/disk");
  execFileSync("mknod", [node, "b", "7", "0"]);
  try {
    const opened = await shell("cat /work/disk | head -c1");
    assert.match(opened.stderr, /Operation not permitted|Permission denied/);
    const mapped = await shell("mknod /work/null c 1 3");
    assert.notEqual(mapped.code, 0);
  } finally {
    unlinkSync(node);
  }
});

test("67, 69: nothing of the host's kernel or programs can be read", async () => {
  const sockets = await shell(
    "find / -xdev -type s 2>/dev/null; find /run /var/run -name '*.sock' 2>/dev/null; dmesg 2>&1 | head -1",
  );
  assert.doesNotMatch(sockets.stdout, /\.sock/);
  assert.doesNotMatch(sockets.stdout, /^\[/m);
});

test("70: the agent's binary cannot be replaced from inside", async () => {
  const digest = (): string => createHash("sha256").update(readFileSync(host.agent)).digest("hex");
  const before = digest();
  for (const file of ["/proc/1/exe", "/.holdfast/agent"]) {
    assert.notEqual((await shell(`echo x > ${file}`)).code, 0, file);
    assert.notEqual((await shell(`rm -f ${file}`)).code, 0, file);
  }
  await shell(
    "mv /.holdfast /moved; mkdir -p /.holdfast; echo '#!/bin/sh' > /.holdfast/agent; chmod 755 /.holdfast/agent",
  );
  await restart();
  assert.equal(
    (await host.exec(id, ["/.holdfast/agent", "view"])).code,
    0,
    "ours again after the next start",
  );
  assert.equal(digest(), before);
});

test("a mount target that the computer turned into a link leads nowhere", async () => {
  const outside = join(host.places.data, "outside");
  execFileSync("mkdir", [outside]);
  await host.control.call("cell.stop", { computer_id: id });
  for (const name of ["proc", "work", ".holdfast"]) {
    const place = join(volume(), "root", name);
    rmSync(place, { recursive: true, force: true });
    symlinkSync(outside, place);
  }
  await host.control.call("cell.start", { computer_id: id, size: "small", lease_ms: 600_000 });
  const works = await shell(
    "test -d /proc/1 && test -d /work && test ! -L /work && test -f /.holdfast/agent && echo whole",
  );
  assert.equal(works.stdout.trim(), "whole");
  assert.equal(execFileSync("ls", ["-A", outside], { encoding: "utf8" }), "");
});

test("83: a fork bomb meets the limit, and the cell can be stopped", async () => {
  const bomb = await shell("b() { b | b & }; b; sleep 1; true", 5_000);
  assert.ok(bomb.code !== undefined || bomb.signal !== undefined);
  const { usage } = await host.control.call("usage.read", { computer_id: id });
  assert.ok(usage && usage.pids <= usage.pids_limit);
  assert.ok(usage.refused_forks > 0, "what the kernel refused in groups of the cell's own is counted");
  const began = performance.now();
  await restart();
  assert.ok(performance.now() - began < hangMs);
});

test("84: memory ends inside the cell, is counted and told", async () => {
  const { next } = await host.control.call("events.wait", { after: 0, wait_ms: 0 });
  const hog = await python("x = bytearray(3 << 30); print(len(x))");
  assert.equal(hog.signal, 9);
  const shm = await shell("head -c 2G /dev/zero > /dev/shm/x; rm -f /dev/shm/x; echo after");
  assert.ok(shm.code !== undefined || shm.signal !== undefined);
  const { usage } = await host.control.call("usage.read", { computer_id: id });
  assert.ok((usage?.oom_kills ?? 0) > 0);
  const { events } = await host.control.call("events.wait", { after: next, wait_ms: 10_000 });
  assert.ok(events.some((event) => event.kind === "out_of_memory" && event.computer_id === id));
});

test("usage tells what is on the disk, and nothing of a computer that is not here", async () => {
  const read = async (computerId: string) =>
    (await host.control.call("usage.read", { computer_id: computerId })).usage;
  const before = await read(id);
  const write = "dd if=/dev/urandom of=/work/measured bs=1M count=32 2>/dev/null && sync";
  assert.equal((await shell(write)).code, 0);
  const after = await read(id);
  const grown = ((after?.disk_bytes ?? 0) - (before?.disk_bytes ?? 0)) / 2 ** 20;
  assert.ok(grown >= 32 && grown < 36, `${grown} MiB more`);
  assert.equal(after?.disk_limit_bytes, computerSizes.small.disk_bytes);
  assert.equal((await shell("rm /work/measured && sync")).code, 0);
  assert.equal(await read("cmp_00000000000000000000"), null);
});

test("85: computers that fill their disks stop before the pool is full, and deleting works", async () => {
  // Its output would need room too, so the status alone tells.
  const filled = await shell(
    "dd if=/dev/urandom of=/work/big bs=1M count=4000 2>/dev/null || exit 7",
    60_000,
  );
  assert.equal(filled.code, 7);
  const { pool } = await host.control.call("info", {});
  assert.ok(pool.used_bytes < pool.total_bytes * 0.96, `${pool.used_bytes} of ${pool.total_bytes}`);
  assert.equal(
    (await shell("ls /work && rm /work/big && sync && echo again > /work/small && cat /work/small")).code,
    0,
  );
  assert.equal((await host.exec(id, ["/bin/true"])).code, 0);
});

test("71: a layer that cannot be proven keeps everything shut, and says which", async () => {
  await host.kill();
  const broken = join(host.places.data, "policy");
  execFileSync("cp", ["-r", new URL("../../policy", import.meta.url).pathname, broken]);
  const seccomp = JSON.parse(readFileSync(join(broken, "seccomp.json"), "utf8")) as {
    allowed: { allow: string[]; reason: string }[];
    denied: { deny: string[] }[];
  };
  seccomp.allowed.push({ allow: ["mincore"], reason: "a mistake that a reviewer missed" });
  seccomp.denied = seccomp.denied.filter((line) => !line.deny.includes("mincore"));
  execFileSync("tee", [join(broken, "seccomp.json")], {
    input: JSON.stringify(seccomp),
    stdio: ["pipe", "ignore", "inherit"],
  });
  await assert.rejects(
    host.start({ flags: ["--policy", broken] }),
    /cell: in a cell on this host mincore ended with/,
  );
  await assert.rejects(host.control.call("cell.list", {}), { code: "unavailable" });
  await host.kill();

  const runtime = join(host.places.data, "no-runtime");
  copyFileSync("/bin/true", runtime);
  chownSync(runtime, 0, 0);
  chmodSync(runtime, 0o755);
  await assert.rejects(host.start({ flags: ["--runtime", runtime] }), /runtime: .*does not say its version/);
  await host.kill();
  await host.start();
  assert.ok(existsSync(volume()));
});
