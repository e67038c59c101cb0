import assert from "node:assert/strict";
import { test } from "node:test";
import { python, run } from "../support/computer.ts";
import { hangMs } from "../support/until.ts";
import { useComputer } from "../support/use.ts";

const { assistant, computer } = await useComputer();

/** Runs Python as the cell's root. */
const inside = (program: string): Promise<string> => python(assistant, computer, program);

const boot = async (): Promise<string> => (await run(assistant, computer, "stat -c %Y.%Z /proc/1")).stdout;

test("no signal from inside ends PID 1, also not one that claims to come from outside", async () => {
  const before = await boot();
  await inside(`
import ctypes, os, signal
libc = ctypes.CDLL(None)
for number in range(1, 65):
    try: os.kill(1, number)
    except OSError: pass
# siginfo: signal, errno, code -1 (queued), then a sender's pid and uid of 0.
for code in (-1, -6, 0):
    info = (ctypes.c_int * 32)()
    info[0], info[2] = signal.SIGTERM, code
    libc.syscall(129, 1, signal.SIGTERM, ctypes.byref(info))
    libc.syscall(297, 1, 1, signal.SIGTERM, ctypes.byref(info))
`);
  await assistant.client.processes.start({ computer, command: "sleep 100" });
  assert.equal(await boot(), before);
});

/** The child that the agent keeps ready: PID 1's only child of its name. */
const spares =
  "[int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) != 1 and open(f'/proc/{p}/comm').read() == open('/proc/1/comm').read()]";

test("the child that is kept ready shows nothing of the agent and is no process of the computer", async () => {
  const seen = await inside(`
import ctypes, os, time
end = time.time() + 5
while not (found := ${spares}) and time.time() < end: time.sleep(0.01)
assert len(found) == 1, found
pid = found[0]
for name in ("mem", "environ", "maps", "fd/0", "fd/3", "exe", "cwd", "root"):
    try:
        path = f"/proc/{pid}/{name}"
        open(path, "rb").read(1) if name in ("mem", "environ", "maps") else os.readlink(path)
        print("open", name)
    except OSError: pass
libc = ctypes.CDLL(None)
if libc.ptrace(16, pid, 0, 0) == 0: print("traced")
`);
  assert.equal(seen, "");
  const { processes: listed } = await assistant.client.processes.list({ computer });
  assert.ok(listed.every(({ command }) => !JSON.stringify(command).includes(".holdfast/agent")));
});

test("whatever the cell does to it, a command runs once and is answered", async () => {
  for (const signal of ["SIGKILL", "SIGSTOP", "SIGTERM", "SIGABRT"]) {
    await inside(`
import os, signal, time
end = time.time() + 5
while not (found := ${spares}) and time.time() < end: time.sleep(0.01)
for pid in found: os.kill(pid, signal.${signal})
`);
    const begin = performance.now();
    const ran = await run(assistant, computer, `echo ${signal} >> /work/ran-${signal}; echo answered`);
    assert.equal(ran.stdout, "answered\n");
    assert.ok(performance.now() - begin < hangMs, `${signal}: ${Math.round(performance.now() - begin)} ms`);
    assert.equal((await run(assistant, computer, `cat /work/ran-${signal}`)).stdout, `${signal}\n`);
  }
});
