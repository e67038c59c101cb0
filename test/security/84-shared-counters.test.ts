import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { computerSizes } from "@holdfast/contract";
import { useCellHost } from "../support/cell-host.ts";
import { pidsOf } from "../support/computer.ts";

const host = await useCellHost();

/** Runs `take` in a cell, which counts `taken` up, and keeps what it took until the cell ends. How much that was. */
const take = async (id: string, code: string): Promise<number> => {
  const program = `
import ctypes, errno, os, resource, socket, time
libc = ctypes.CDLL(None, use_errno=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
taken, held = 0, []
${code}
print(taken, flush=True)
if os.fork() == 0:
    null = os.open("/dev/null", os.O_RDWR)
    for standard in range(3): os.dup2(null, standard)
    os.setsid()
    time.sleep(600)
`;
  const { stdout, stderr, code: status } = await host.exec(id, ["/usr/bin/python3", "-c", program]);
  assert.equal(status, 0, stderr);
  return Number(stdout);
};

const inotify = "while taken < 1000 and libc.inotify_init() >= 0: taken += 1";

test("84: what one cell takes of inotify is missing nowhere else, and keeps no supervisor from serving", async () => {
  const [greedy, other] = [await host.newComputer(), await host.newComputer()];
  const taken = await take(greedy, inotify);
  assert.ok(taken >= 100 && taken < 1000, `${taken} instances`);
  assert.equal(await take(other, inotify), taken, "the other has as many");
  watch(tmpdir(), { persistent: false }).close();
  await host.kill();
  await host.start();
  const { cells } = await host.control.call("cell.list", {});
  assert.equal(cells.length, 2);
});

test("84: message queues of one cell leave another its own", async () => {
  const [greedy, other] = [await host.newComputer(), await host.newComputer()];
  const queues = `
while taken < 200 and libc.mq_open(b"/q%d" % taken, os.O_CREAT | os.O_RDWR, 0o600, None) >= 0: taken += 1`;
  const taken = await take(greedy, queues);
  assert.ok(taken > 0 && taken < 200, `${taken} queues`);
  assert.equal(await take(other, queues), taken, "the other has as many");
});

test("84: one cell cannot have all terminals of the host", async () => {
  const taken = await take(
    await host.newComputer(),
    `
try:
    while taken < 400: held.append(os.openpty()); taken += 1
except OSError: pass`,
  );
  assert.equal(taken, 256);
});

test("84: the kernel's own queue of disk work, one for the whole host, is not there", async () => {
  const taken = await take(
    await host.newComputer(),
    `
context = ctypes.c_ulong(0)
if libc.syscall(206, 1, ctypes.byref(context)) < 0: taken = ctypes.get_errno()`,
  );
  assert.equal(taken, 38, "ENOSYS, on which programs go on without");
});

test("84: network buffers of a cell count as its memory does, and end", async () => {
  const held = async (): Promise<number> =>
    Number(/^TCP: .* mem (\d+)/m.exec(await readFile("/proc/net/sockstat", "utf8"))?.[1]) * 4096;
  const id = await host.newComputer();
  const before = await held();
  await take(
    id,
    `
listener = socket.create_server(("127.0.0.1", 0), backlog=256)
for _ in range(100):
    sender = socket.create_connection(listener.getsockname())
    held += [sender, listener.accept()[0]]
    sender.setblocking(False)
    full = 0
    while full < 20:
        try: taken += sender.send(bytes(64 * 1024)); full = 0
        except BlockingIOError: full += 1; time.sleep(0.0005)`,
  );
  const grown = (await held()) - before;
  const { usage } = await host.control.call("usage.read", { computer_id: id });
  const most = computerSizes.small.memory_bytes / 4;
  assert.ok(grown < most * 1.25, `${grown} bytes in buffers, ${usage?.memory_bytes} counted`);
});

test("60: a cell's sockets speak what everybody speaks, and load no further protocol into the host's kernel", async () => {
  const outcomes = await host.exec(await host.newComputer(), [
    "/usr/bin/python3",
    "-c",
    `
import errno, socket
for family in (2, 10):
    for kind, protocol in ((1, 0), (1, 6), (2, 0), (2, 17), (1, 132), (1, 262), (2, 136), (6, 33), (2, 115)):
        try: socket.socket(family, kind, protocol).close(); said = "ok"
        except OSError as error: said = errno.errorcode[error.errno]
        print(family, kind, protocol, said)
`,
  ]);
  const lines = (family: number): string[] => [
    ...["1 0", "1 6", "2 0", "2 17"].map((what) => `${family} ${what} ok`),
    ...["1 132", "1 262", "2 136", "6 33", "2 115"].map((what) => `${family} ${what} EPERM`),
  ];
  assert.deepEqual(outcomes.stdout.trim().split("\n"), [...lines(2), ...lines(10)]);
});

test("84: a cell's sockets look for no neighbours, of which the kernel keeps one table for the whole host", async () => {
  const id = await host.newComputer();
  await take(
    id,
    `
for flag in (0, socket.MSG_DONTROUTE):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, 25, b"eth0")
    for number in range(1, 41):
        try: sender.sendto(b"x", flag, ("10.9.%d.%d" % (8 + (flag != 0), number), 9))
        except OSError: pass
        taken += 1`,
  );
  const [pid = ""] = await pidsOf(id);
  const listed = execFileSync("nsenter", [`--net=/proc/${pid}/ns/net`, "ip", "-4", "neigh", "show"], {
    encoding: "utf8",
  });
  const lookedFor = listed.split("\n").filter((line) => /INCOMPLETE|PROBE|REACHABLE/.test(line));
  assert.deepEqual(lookedFor, []);
  assert.match(listed, /^198\.18\.0\.1 dev eth0 lladdr \S+ PERMANENT/m);
});
