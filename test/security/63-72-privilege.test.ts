import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, readdir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pidsOf, python, run } from "../support/computer.ts";
import { root } from "../../tools/node24.mjs";
import { useComputer } from "../support/use.ts";

const { instance, assistant, computer } = await useComputer();

test("63: no device node can be made, and no disk of the host opened", async () => {
  const out = await python(
    assistant,
    computer,
    `
import os, stat
for path in ("/work/d", "/dev/d", "/tmp/d", "/dev/shm/d", "/root/d"):
    for kind in (stat.S_IFBLK, stat.S_IFCHR):
        for device in (os.makedev(254, 0), os.makedev(8, 0), os.makedev(7, 0), os.makedev(1, 1), os.makedev(10, 237)):
            try: os.mknod(path, kind | 0o666, device); print("made", path)
            except PermissionError: pass
print([name for name in sorted(os.listdir("/dev"))])
`,
  );
  const [list = "", ...rest] = out.trim().split("\n");
  assert.deepEqual(rest, []);
  assert.doesNotMatch(list, /vd|sd|loop|mem|kmsg|fuse|kvm|mapper|btrfs/);
  assert.equal(
    (await run(assistant, computer, "mkfifo /work/fifo && stat -c %F /work/fifo")).stdout,
    "fifo\n",
  );
});

test("64: a setuid file gives nothing; no_new_privs is set, every mount is nosuid, file capabilities are refused", async () => {
  const result = await run(
    assistant,
    computer,
    `cp /usr/bin/id /work/id && chmod 4755 /work/id && chown 0:0 /work/id && cp /usr/bin/id /usr/local/bin/sid && chmod 6755 /usr/local/bin/sid
python3 - <<'P'
import os
pid = os.fork()
if pid == 0:
    os.setgroups([]); os.setgid(1000); os.setuid(1000)
    os.system("/work/id -u; /usr/local/bin/sid -u; grep NoNewPrivs /proc/self/status")
    os._exit(0)
os.waitpid(pid, 0)
try: os.setxattr("/work/id", "security.capability", bytes.fromhex("0100000200200000000000000000000000000000")); print("capability set")
except OSError as error: print(error.strerror)
for line in open("/proc/self/mounts"):
    where, options = line.split()[1], line.split()[3].split(",")
    if "nosuid" not in options and "ro" not in options: print("without nosuid", where)
P`,
  );
  assert.equal(result.stdout, "1000\n1000\nNoNewPrivs:\t1\nOperation not permitted\n", result.stderr);
});

test("65: a setuid file that root in the cell writes is nobody's on the host: no user there reaches it", async () => {
  await run(
    assistant,
    computer,
    "cp /usr/bin/id /work/suid && chmod 4755 /work/suid && cp /work/suid /root/suid && chmod 4755 /root/suid",
  );
  const pool = join(instance.data, "pool/fs");
  const volume = join(pool, "supervisor/computers", computer);
  for (const path of [join(volume, "work/suid"), join(volume, "root/root/suid")]) {
    const facts = await stat(path);
    assert.equal(facts.mode & 0o4000, 0o4000, "the file is there, with its bit");
    for (const user of ["nobody", "hf-control", "hf-gateway", "hf-postgres"]) {
      const tried = spawnSync(
        "setpriv",
        [`--reuid=${user}`, "--regid=nogroup", "--clear-groups", "/bin/sh", "-c", 'exec "$0"', path],
        { encoding: "utf8" },
      );
      assert.notEqual(tried.status, 0, tried.stdout);
      assert.match(tried.stderr, /[Pp]ermission denied/);
    }
  }
  const guard = await stat(join(instance.data, "pool"));
  assert.deepEqual([guard.uid, guard.mode & 0o777], [0, 0o700]);
  const mounts = await readFile("/proc/self/mounts", "utf8");
  const options =
    mounts
      .split("\n")
      .find((line) => line.split(" ")[1] === pool)
      ?.split(" ")[3]
      ?.split(",") ?? [];
  assert.ok(options.includes("nosuid") && options.includes("nodev"), options.join(","));
  // Through the cell's own mount the same file belongs to the computer's range.
  const [pid = ""] = await pidsOf(computer);
  const seen = await stat(`/proc/${pid}/root/work/suid`);
  assert.ok(
    seen.uid >= instance.uids.base && seen.uid < instance.uids.base + instance.uids.count,
    String(seen.uid),
  );
});

test("67: what tells of the kernel and of neighbours is masked or refused", async () => {
  const paths = [
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/kmsg",
    "/dev/kmsg",
    "/proc/timer_list",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/keys",
    "/proc/key-users",
    "/proc/cmdline",
    "/proc/partitions",
    "/proc/diskstats",
    "/proc/modules",
    "/proc/interrupts",
    "/proc/iomem",
    "/proc/ioports",
    "/proc/kpagecount",
    "/proc/scsi/scsi",
    "/sys/firmware",
    "/sys/block",
    "/sys/fs/btrfs",
    "/sys/module",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/devices/virtual/powercap",
    "/proc/acpi",
    "/proc/asound",
  ];
  const out = await python(
    assistant,
    computer,
    `
import os
def content(path):
    if os.path.isdir(path): return " ".join(os.listdir(path))
    with open(path, "rb") as file: return file.read(4096).hex()
for path in ${JSON.stringify(paths)}:
    try: text = content(path)
    except OSError: text = ""
    if text: print(path, text[:80])
print("dmesg", os.system("dmesg >/dev/null 2>&1") != 0)
`,
  );
  const told = out
    .trim()
    .split("\n")
    // Only zeros: addresses that the kernel hides from everyone without the capability.
    .filter((line) => !/^\/proc\/(iomem|ioports) [0-9a-f]*$/.test(line) || !hidesAddresses(line));
  assert.deepEqual(told, ["dmesg True"]);
});

const hidesAddresses = (line: string): boolean =>
  /^(\s*0+-0+ : .*\n?)*/.test(Buffer.from(line.split(" ")[1] ?? "", "hex").toString());

test("69: no control socket of the host is in the cell, by path, by name or by descriptor", async () => {
  const out = await python(
    assistant,
    computer,
    `
import os, stat
for where, directories, files in os.walk("/"):
    if where.startswith(("/proc", "/sys")): directories[:] = []; continue
    for name in files:
        try:
            if stat.S_ISSOCK(os.lstat(os.path.join(where, name)).st_mode): print(os.path.join(where, name))
        except OSError: pass
for line in open("/proc/net/unix").read().splitlines()[1:]:
    fields = line.split()
    # Without a path, or the agent's own two listening ones, which were made outside.
    if len(fields) > 7: print(fields[7])
`,
  );
  const named = out
    .trim()
    .split("\n")
    .filter((line) => line !== "");
  for (const path of named) assert.match(path, new RegExp(`/cells/${computer}/(control|ingress)\\.sock$`));
  const reach = await python(
    assistant,
    computer,
    `
import socket
for path in ${JSON.stringify([`/run/holdfast/${instance.name}/supervisor/control.sock`, `/run/holdfast/${instance.name}/cells/${computer}/control.sock`, "/run/docker.sock", "/run/containerd/containerd.sock", "/run/systemd/private"])}:
    s = socket.socket(socket.AF_UNIX)
    try: s.connect(path); print("reached", path)
    except OSError: pass
`,
  );
  assert.equal(reach, "");
});

test("70: the runtime and the agent on the host are unchanged after attempts on /proc/…/exe", async () => {
  const settings = JSON.parse(await readFile(join(instance.data, "instance.json"), "utf8")) as {
    agent: string;
  };
  const files = ["/usr/bin/crun", settings.agent, join(root, "node_modules/node/bin/node")];
  const digests = (): Promise<string[]> =>
    Promise.all(
      files.map(async (file) =>
        createHash("sha256")
          .update(await readFile(file))
          .digest("hex"),
      ),
    );
  const before = await digests();
  // The way of CVE-2019-5736: replace what is executed by a link to the runtime, keep a descriptor, write through it.
  const out = await python(
    assistant,
    computer,
    `
import os
wrote = 0
for pid in [p for p in os.listdir("/proc") if p.isdigit()] + ["self"]:
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        try: os.close(os.open("/proc/%s/exe" % pid, flags)); print("opened", pid)
        except OSError: pass
    try:
        held = os.open("/proc/%s/exe" % pid, os.O_PATH)
        os.open("/proc/self/fd/%d" % held, os.O_WRONLY | os.O_TRUNC); print("reopened", pid)
    except OSError: pass
try: os.open("/.holdfast/agent", os.O_WRONLY); print("opened the agent")
except OSError: pass
for work in (lambda: os.rename("/.holdfast/agent", "/.holdfast/a"), lambda: os.unlink("/.holdfast/agent"), lambda: os.chmod("/.holdfast/agent", 0o777)):
    try: work(); print("changed the agent")
    except OSError: pass
`,
  );
  assert.equal(out, "");
  await run(assistant, computer, "rm -f /work/x; ln -s /proc/self/exe /work/x");
  const { code } = await assistant.client.processes.exec({ computer, argv: ["/work/x"] }).then(
    ({ process }) => ({ code: String(process.exit_code) }),
    (error: { code: string }) => error,
  );
  assert.ok(code !== undefined);
  assert.deepEqual(await digests(), before);
});

test("72: LD_PRELOAD into a listed program and interpreter options change nothing about what is refused", async () => {
  const out = await run(
    assistant,
    computer,
    `printf '#!/usr/bin/python3\\nimport socket,sys\\ns=socket.socket()\\ntry:\\n s.connect(("1.1.1.1",443)); print("out")\\nexcept OSError as e: print(e.errno)\\n' > /work/git && chmod 755 /work/git
PATH=/work:$PATH LD_PRELOAD=/lib/x86_64-linux-gnu/libc.so.6 git; PYTHONSTARTUP=/work/git python3 -I /work/git; /lib64/ld-linux-x86-64.so.2 /usr/bin/python3 /work/git`,
  );
  assert.equal(out.stdout, "101\n101\n101\n");
});

test("51, 69: what a cell's processes hold on the host is theirs alone", async () => {
  const held: string[] = [];
  for (const pid of await pidsOf(computer)) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      held.push(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => ""));
    }
  }
  assert.ok(held.length > 3);
  // A detached mount shows paths from its own root: the cell's cgroup, where processes are below `p`.
  const foreign = held.filter(
    (target) =>
      !/^(\/dev\/null|anon_inode:.*|socket:.*|pipe:.*|)$/.test(target) &&
      !target.startsWith("/var/lib/holdfast") &&
      !/^\/(p(\/.*)?)?$/.test(target),
  );
  assert.deepEqual(foreign, []);
});
