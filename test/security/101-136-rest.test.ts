import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { test } from "node:test";
import { createComputer, python } from "../support/computer.ts";
import { raw } from "../support/raw.ts";
import { useComputer } from "../support/use.ts";

const { instance, assistant, computer } = await useComputer();

const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}';
const mcp = (headers: Readonly<Record<string, string>>, body = list): Promise<string> => {
  const all = {
    host: `127.0.0.1:${instance.port}`,
    authorization: `Bearer ${assistant.secret}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return raw(instance.port, `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
};
const statusOf = (reply: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(reply)?.[1] ?? 0);

test("101: MCP refuses foreign origins and hosts, and every token that is not a key of this place", async () => {
  assert.equal(statusOf(await mcp({})), 200);
  for (const origin of [
    "https://evil.test",
    "http://127.0.0.1.evil.test",
    `http://localhost:${instance.port + 1}`,
    "null",
  ])
    assert.equal(statusOf(await mcp({ origin })), 403, origin);
  for (const host of ["evil.test", `evil.test:${instance.port}`, "127.0.0.1.evil.test"])
    assert.equal(statusOf(await mcp({ host })), 403, host);
  const foreign = [
    "Bearer hf_" + "0".repeat(52),
    "Bearer eyJhbGciOiJub25lIn0.eyJhdWQiOiJvdGhlciJ9.",
    `Bearer ${assistant.secret}x`,
    `Basic ${assistant.secret}`,
    "Bearer",
    `Bearer ${assistant.secret.slice(0, -1)}`,
  ];
  for (const authorization of foreign)
    assert.equal(statusOf(await mcp({ authorization })), 401, authorization);
});

test("101: a header that contradicts the body is refused with -32020", async () => {
  const meta =
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}';
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{${meta}}}`;
  const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
  assert.equal(statusOf(await mcp(headers, body)), 200);
  const reply = await mcp({ ...headers, "mcp-method": "tools/call" }, body);
  assert.equal(statusOf(reply), 400);
  assert.match(reply, /-32020/);
});

test("102: another assistant's computer, processes and files are not there", async () => {
  const other = await instance.assistant();
  const process = await assistant.client.processes.start({ computer, command: "sleep 60" });
  const calls = [
    () => other.client.computers.get({ computer }),
    () => other.client.processes.exec({ computer, command: "id" }),
    () => other.client.processes.output({ computer, process: process.id }),
    () => other.client.files.read({ computer, path: "/etc/hostname" }),
    () => other.client.computers.destroy({ computer }),
  ];
  for (const call of calls) await assert.rejects(call, { code: "not_found", status: 404 });
  const own = await createComputer(other);
  await assert.rejects(other.client.processes.get({ computer: own, process: process.id }), { status: 404 });
  await assistant.client.processes.signal({ computer, process: process.id, signal: "KILL" });
});

test("127: btrfs requests for subvolumes and snapshots are refused, with and without bit 32", async () => {
  const out = await python(
    assistant,
    computer,
    `
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(b"\\0" * 8 + b"mine".ljust(4088, b"\\0"), 4096)
sizes = {1: 4096, 14: 4096, 15: 4096, 23: 4096, 24: 4096, 26: 8, 63: 4096}
for place in ("/work", "/root", "/"):
    fd = os.open(place, os.O_RDONLY)
    for number, size in sizes.items():
        for direction in (0, 1, 2, 3):
            for high in (0, 1 << 32, 0xffffffff << 32):
                request = direction << 30 | size << 16 | 0x94 << 8 | number | high
                result = libc.syscall(ctypes.c_long(16), ctypes.c_long(fd), ctypes.c_ulong(request), buffer)
                if result >= 0 or ctypes.get_errno() != errno.EPERM: print(place, number, hex(request), result, ctypes.get_errno())
print("done", os.path.exists("/work/mine"))
a = os.open("/work/a", os.O_RDWR | os.O_CREAT); os.write(a, b"x" * 65536)
b = os.open("/work/b", os.O_RDWR | os.O_CREAT)
print("sharing blocks", libc.ioctl(b, 0x40049409, a), os.stat("/work/b").st_size)
`,
  );
  assert.equal(out, "done False\nsharing blocks 0 65536\n");
  const volumes = join(instance.data, "pool/fs/supervisor/computers");
  const nested = spawnSync("btrfs", ["subvolume", "list", "-o", join(volumes, computer)], {
    encoding: "utf8",
  });
  assert.equal(nested.status, 0, nested.stderr);
  assert.equal(nested.stdout, "");
});

test("128: a device node that the host puts into a volume cannot be opened from the cell", async () => {
  const work = join(instance.data, "pool/fs/supervisor/computers", computer, "work");
  const name = `node-${randomBytes(4).toString("hex")}`;
  for (const [suffix, kind, major, minor] of [
    ["b", "b", "7", "0"],
    ["c", "c", "1", "1"],
  ] as const) {
    assert.equal(spawnSync("mknod", ["-m", "666", join(work, name + suffix), kind, major, minor]).status, 0);
  }
  const out = await python(
    assistant,
    computer,
    `
import errno, os
for suffix in "bc":
    for flags in (os.O_RDONLY, os.O_RDWR):
        try: os.open("/work/${name}" + suffix, flags); print("opened")
        except OSError as error: print(errno.errorcode[error.errno])
`,
  );
  assert.match(out, /^((EPERM|EACCES)\n){4}$/);
});

test("136: a cell cannot ask by mincore or cachestat what the page cache holds", async () => {
  const out = await python(
    assistant,
    computer,
    `
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/usr/bin/python3", os.O_RDONLY)
span = (ctypes.c_uint64 * 2)(0, 4096); counts = (ctypes.c_uint64 * 5)()
vector = ctypes.create_string_buffer(8)
libc.mmap.restype = ctypes.c_void_p
where = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, fd, ctypes.c_long(0))
for name, number, arguments in (("mincore", 27, (ctypes.c_void_p(where), ctypes.c_size_t(4096), vector)), ("cachestat", 451, (fd, span, counts, 0))):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    print(name, "ok" if result == 0 else errno.errorcode[ctypes.get_errno()])
`,
  );
  assert.match(out, /^mincore EPERM\ncachestat EPERM\n$/);
});
