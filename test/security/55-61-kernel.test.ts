import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { python, run } from "../support/computer.ts";
import { useComputer } from "../support/use.ts";

const { assistant, computer } = await useComputer();

/** `call(name, number, …)` prints the name and what the kernel answers to these raw arguments. */
const calls = `
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(name, number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[a if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments])
    print(name, "ok" if result >= 0 else errno.errorcode[ctypes.get_errno()])
`;

/** Every line of the output that is not one of these answers. */
const unlike = (out: string, answers: readonly string[]): string[] =>
  out
    .trim()
    .split("\n")
    .filter((line) => !answers.includes(line.split(" ").at(-1) ?? ""));

const hostSettings = [
  "/proc/sys/kernel/core_pattern",
  "/proc/sys/kernel/modprobe",
  "/proc/sys/kernel/sysrq",
  "/sys/kernel/uevent_helper",
  "/proc/sys/vm/overcommit_memory",
  "/proc/sys/kernel/hostname",
];

test("55: writing settings of the kernel fails, and the host's values stay", async () => {
  const values = (): Promise<string[]> =>
    Promise.all(hostSettings.map((path) => readFile(path, "utf8").catch(() => "absent")));
  const before = await values();
  const paths = [
    ...hostSettings,
    "/proc/sysrq-trigger",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/vm/panic_on_oom",
    "/proc/sys/kernel/panic",
    "/sys/power/state",
    "/proc/irq/default_smp_affinity",
    "/proc/acpi/wakeup",
  ];
  const out = await python(
    assistant,
    computer,
    `
import errno
for path in ${JSON.stringify(paths)}:
    try:
        open(path, "r+b", buffering=0).write(b"|/work/x")
        print(path, "ok")
    except OSError as error: print(path, errno.errorcode[error.errno])
`,
  );
  assert.deepEqual(unlike(out, ["EROFS", "EACCES", "EPERM", "ENOENT"]), []);
  assert.deepEqual(await values(), before);
  // What is not there at all is not proof of anything: at least these are, and are refused.
  assert.match(out, /core_pattern (EROFS|EACCES)/);
  assert.match(out, /overcommit_memory (EROFS|EACCES)/);
});

test("56: a cell cannot mount a cgroup hierarchy, name a release agent or allow itself devices", async () => {
  const out = await python(
    assistant,
    computer,
    `${calls}
os.makedirs("/work/m", exist_ok=True)
for kind in (b"cgroup", b"cgroup2", b"tmpfs", b"proc", b"sysfs"):
    call("mount " + kind.decode(), 165, b"none", b"/work/m", kind, 0, b"memory")
# On the hybrid layout /sys/fs/cgroup itself is an empty file system of the cell's own, where a file means nothing.
is_cgroup = any(line.split()[1:3] == ["/sys/fs/cgroup", "cgroup2"] for line in open("/proc/self/mounts"))
def walk(top):
    for where, directories, files in os.walk(top):
        for name in files: yield where + "/" + name
written = tried = 0
for path in walk("/sys/fs/cgroup"):
    try:
        os.close(os.open(path, os.O_WRONLY)); written += 1; print("opened for writing", path)
    except OSError: tried += 1
for name in ("release_agent", "devices.allow", "notify_on_release", "cgroup.procs"):
    for where in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/pids"):
        if where == "/sys/fs/cgroup" and not is_cgroup: continue
        try: open(where + "/" + name, "w").write("a"); print("wrote", where, name)
        except OSError: tried += 1
try: os.mkdir(("/sys/fs/cgroup" if is_cgroup else "/sys/fs/cgroup/memory") + "/mine"); print("made a group")
except OSError: tried += 1
print("tried", tried >= 10)
`,
  );
  assert.deepEqual(unlike(out, ["EPERM", "True"]), []);
});

test("57: mount, umount, the new mount calls, pivot_root and chroot are refused", async () => {
  const out = await python(
    assistant,
    computer,
    `${calls}
call("mount bind", 165, b"/work", b"/mnt", b"", 4096, 0)
call("mount remount", 165, b"", b"/proc/sys", b"", 32, 0)
call("umount2", 166, b"/proc", 2)
call("fsopen", 430, b"tmpfs", 0)
call("fsconfig", 431, -1, 0, 0, 0, 0)
call("fsmount", 432, -1, 0, 0)
call("fspick", 433, -100, b"/", 0)
call("open_tree", 428, -100, b"/", 1)
call("move_mount", 429, -100, b"/work", -100, b"/mnt", 0)
call("mount_setattr", 442, -100, b"/", 0, 0, 0)
call("pivot_root", 155, b"/work", b"/work")
call("chroot", 161, b"/work")
call("listmount", 458, 0, 0, 0, 0)
call("statmount", 457, 0, 0, 0, 0)
`,
  );
  assert.equal(out.trim().split("\n").length, 14);
  assert.deepEqual(unlike(out, ["EPERM"]), []);
});

test("58: no new namespace by unshare or clone; clone3 is not there", async () => {
  const out = await python(
    assistant,
    computer,
    `${calls}
flags = {"time": 0x80, "mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000}
for name, flag in flags.items():
    call("unshare " + name, 272, flag)
    if name != "time": call("clone " + name, 56, flag | 17, 0, 0, 0, 0)
    call("clone upper bits " + name, 56, flag | 17 | 1 << 40, 0, 0, 0, 0) if name != "time" else None
call("clone all", 56, 0x7e020011, 0, 0, 0, 0)
`,
  );
  assert.deepEqual(unlike(out, ["EPERM"]), []);
  assert.equal(
    await python(assistant, computer, `${calls}\ncall("clone3", 435, 0, 0)\ncall("clone3", 435, 0, 88)\n`),
    "clone3 ENOSYS\nclone3 ENOSYS\n",
  );
  assert.equal((await run(assistant, computer, "unshare -Ur id || echo refused")).stdout, "refused\n");
});

test("59: no namespace of the host is visible, and none can be joined", async () => {
  const host = await Promise.all(
    ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup"].map(
      async (name) => `${name}:[${(await import("node:fs")).statSync(`/proc/self/ns/${name}`).ino}]`,
    ),
  );
  const out = await python(
    assistant,
    computer,
    `${calls}
names = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")
print(*[os.readlink("/proc/self/ns/" + name) for name in names])
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    for name in names:
        try: fd = os.open("/proc/%s/ns/%s" % (pid, name), os.O_RDONLY)
        except OSError: continue
        call("setns " + pid + " " + name, 308, fd, 0)
print(max(int(p) for p in os.listdir("/proc") if p.isdigit()) < 1000)
`,
  );
  const [own = "", ...rest] = out.trim().split("\n");
  for (const name of own.split(" ")) assert.ok(!host.includes(name), `${name} is the host's`);
  assert.equal(rest.at(-1), "True");
  assert.deepEqual(unlike(rest.slice(0, -1).join("\n"), ["EPERM", ""]), []);
  assert.ok(rest.length > 1);
});

const refusedCalls: Readonly<Record<string, number>> = {
  bpf: 321,
  perf_event_open: 298,
  userfaultfd: 323,
  keyctl: 250,
  add_key: 248,
  request_key: 249,
  kexec_load: 246,
  kexec_file_load: 320,
  init_module: 175,
  finit_module: 313,
  delete_module: 176,
  open_by_handle_at: 304,
  fanotify_init: 300,
  fanotify_mark: 301,
  quotactl: 179,
  quotactl_fd: 443,
  syslog: 103,
  acct: 163,
  swapon: 167,
  swapoff: 168,
  reboot: 169,
  iopl: 172,
  ioperm: 173,
  settimeofday: 164,
  clock_settime: 227,
  clock_adjtime: 305,
  adjtimex: 159,
  sethostname: 170,
  setdomainname: 171,
  lookup_dcookie: 212,
  nfsservctl: 180,
  vhangup: 153,
  move_pages: 279,
  mbind: 237,
  kcmp: 312,
  process_vm_writev: 311,
  memfd_secret: 447,
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  mincore: 27,
  cachestat: 451,
};

test("60: what reaches past the cell is refused, number by number", async () => {
  const out = await python(
    assistant,
    computer,
    `${calls}
for name, number in ${JSON.stringify(refusedCalls)}.items(): call(name, number, -1, -1, -1, -1, -1)
`,
  );
  // These two are allowed on one's own processes, and refuse impossible arguments by themselves.
  const own = unlike(out, ["EPERM"]).filter(
    (line) => !/^(kcmp|process_vm_writev) (ESRCH|EINVAL|EBADF)$/.test(line),
  );
  assert.deepEqual(own, []);
});

test("60: the i386 and x32 entries kill who uses them, whatever is called", async () => {
  const program = await compile(`
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
int main(int argc, char **argv) {
  if (argc < 3) return 2;
  long number = atol(argv[2]), result;
  if (argv[1][0] == 'i') __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(-1), "c"(-1), "d"(-1) : "memory");
  else result = syscall(0x40000000 | number, -1, -1, -1);
  return 0;
}`);
  await assistant.client.files.upload({ computer, path: "/work/entry", mode: "0755" }, program);
  // getpid, mount, unshare, bpf, io_uring_setup by their numbers in each table.
  for (const [entry, numbers] of [
    ["i386", [20, 21, 310, 357, 425]],
    ["x32", [39, 165, 272, 321, 425]],
  ] as const) {
    for (const number of numbers) {
      const { process } = await run(assistant, computer, "", {
        command: `exec /work/entry ${entry} ${number}`,
      });
      assert.deepEqual(process.exit, { kind: "signaled", signal: 31, name: "SYS" }, `${entry} ${number}`);
    }
  }
});

test("61: a ring cannot be made, so nothing connects or opens through one", async () => {
  const out = await python(
    assistant,
    computer,
    `${calls}
parameters = ctypes.create_string_buffer(120)
call("setup", 425, 8, ctypes.addressof(parameters))
call("setup sqpoll", 425, 1, ctypes.addressof(parameters))
call("enter", 426, 0, 1, 1, 0, 0)
call("register", 427, 0, 0, 0, 0)
call("setup with bit 32", 425 | 1 << 32, 8, ctypes.addressof(parameters))
`,
  );
  assert.deepEqual(unlike(out, ["EPERM"]), []);
});

/** A static x86-64 program. */
const compile = async (source: string): Promise<Uint8Array> => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-probe-"));
  try {
    const target = join(directory, "probe");
    const built = spawnSync("gcc", ["-O1", "-static", "-o", target, "-x", "c", "-"], {
      input: source,
      encoding: "utf8",
    });
    assert.equal(built.status, 0, built.stderr);
    return await readFile(target);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};
