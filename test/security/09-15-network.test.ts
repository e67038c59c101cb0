import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { after, test } from "node:test";
import { refusedPackets } from "../support/cellnet.ts";
import { pidsOf, python } from "../support/computer.ts";
import { useComputer } from "../support/use.ts";

const { instance, assistant, computer } = await useComputer();

/** What a call answers in the cell: `ok`, or the name of the error. */
const attempts = `
import errno, socket
def attempt(work):
    try:
        work()
        return "ok"
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as s:
        s.settimeout(3)
        s.connect(address)
        if kind == socket.SOCK_DGRAM:
            s.send(b"x")
            s.recv(1)
`;

test("9: there is no IPv6 in a cell, and a packet of it would be dropped", async () => {
  const out = await python(
    assistant,
    computer,
    `${attempts}
print(open("/proc/net/if_inet6").read() == "")
print(open("/proc/sys/net/ipv6/conf/all/disable_ipv6").read().strip(), open("/proc/sys/net/ipv6/conf/eth0/disable_ipv6").read().strip())
print(attempt(lambda: connect(socket.AF_INET6, ("2001:db8::1", 443))), attempt(lambda: connect(socket.AF_INET6, ("::1", 443))))
print(attempt(lambda: connect(socket.AF_INET6, ("::ffff:1.1.1.1", 443))), attempt(lambda: connect(socket.AF_INET6, ("fe80::1", 443, 0, 2))))
print(attempt(lambda: open("/proc/sys/net/ipv6/conf/all/disable_ipv6", "w").write("0")))
`,
  );
  const [addresses, disabled, ...refused] = out.trim().split("\n");
  assert.equal(addresses, "True");
  assert.equal(disabled, "1 1");
  assert.equal(refused[0], "EADDRNOTAVAIL EADDRNOTAVAIL");
  assert.equal(refused[1]?.split(" ")[0], "ENETUNREACH");
  assert.notEqual(refused[1]?.split(" ")[1], "ok");
  assert.match(refused[2] ?? "", /^(EROFS|EACCES)$/);
});

test("9: with IPv6 switched on from outside, on both ends, its packets are dropped and counted", async (context) => {
  const [pid = ""] = await pidsOf(computer);
  const inCell = (...argv: readonly string[]) => spawnSync("nsenter", ["-t", pid, "-n", ...argv]);
  const inCellnet = (...argv: readonly string[]) =>
    spawnSync("ip", ["netns", "exec", `hf${instance.shortId}-cellnet`, ...argv]);
  const set = (value: number): void => {
    // Above `all` each link has its own switch, which its value at that moment sets.
    for (const inside of [inCell, inCellnet])
      assert.equal(inside("sysctl", "-q", "-w", `net.ipv6.conf.all.disable_ipv6=${value}`).status, 0);
  };
  context.after(() => {
    inCell("ip", "address", "del", "fd00::1/64", "dev", "eth0");
    set(1);
  });
  const before = refusedPackets(instance)["ipv6"] ?? 0;
  set(0);
  assert.equal(inCell("ip", "address", "add", "fd00::1/64", "dev", "eth0", "nodad").status, 0);
  const out = await python(
    assistant,
    computer,
    `${attempts}
print(attempt(lambda: connect(socket.AF_INET6, ("fd00::2", 443))))
`,
  );
  assert.match(out, /^(EHOSTUNREACH|TimeoutError|EADDRNOTAVAIL)\n$/);
  assert.ok((refusedPackets(instance)["ipv6"] ?? 0) > before, "dropped without being counted");
});

test("10: every port of the gateway's address answers with a reset, and each try is counted", async () => {
  const before = refusedPackets(instance)["refused"] ?? 0;
  const out = await python(
    assistant,
    computer,
    `${attempts}
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
def one(port):
    return attempt(lambda: connect(socket.AF_INET, ("198.18.0.1", port)))
with ThreadPoolExecutor(16) as pool:
    print(dict(Counter(pool.map(one, range(1, 65536)))))
`,
  );
  assert.equal(out, "{'ECONNREFUSED': 65535}\n");
  assert.ok((refusedPackets(instance)["refused"] ?? 0) - before >= 65_535);
});

test("10: what the host listens on cannot be reached, by whichever of the host's addresses", async (context) => {
  const reached: Socket[] = [];
  const server = createServer((socket) => reached.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  after(() => server.close());
  context.after(() => reached.forEach((socket) => socket.destroy()));
  const address = server.address();
  assert.ok(typeof address === "object" && address);
  const hosts = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const targets = [
    "198.18.0.1",
    "100.96.1.0",
    ...hosts.filter(({ family, internal }) => family === "IPv4" && !internal).map((host) => host.address),
  ];
  const out = await python(
    assistant,
    computer,
    `${attempts}
for host in ${JSON.stringify(targets)}:
    for port in (${address.port}, ${instance.port}):
        print(attempt(lambda: connect(socket.AF_INET, (host, port))))
print(attempt(lambda: connect(socket.AF_INET, ("127.0.0.1", ${address.port}))))
`,
  );
  for (const line of out.trim().split("\n")) assert.match(line, /^(ECONNREFUSED|ENETUNREACH)$/);
  assert.equal(reached.length, 0);
});

test("12: inside the reachable range every host and port is refused at once and counted", async () => {
  const before = refusedPackets(instance)["refused"] ?? 0;
  const out = await python(
    assistant,
    computer,
    `${attempts}
import time
begin = time.monotonic()
for host in ("198.18.0.1", "198.18.7.7", "198.19.255.254"):
    for port in (22, 25, 53, 80, 443, 853, 3306, 5432, 6379):
        print(attempt(lambda: connect(socket.AF_INET, (host, port))))
assert time.monotonic() - begin < 3, "refused, but slowly"
`,
  );
  assert.deepEqual(new Set(out.trim().split("\n")), new Set(["ECONNREFUSED"]));
  assert.ok((refusedPackets(instance)["refused"] ?? 0) - before >= 27);
});

test("13: without any proxy variable an address outside the range has no route, at once", async () => {
  const out = await python(
    assistant,
    computer,
    `${attempts}
import os, time
print([name for name in os.environ if "proxy" in name.lower()])
begin = time.monotonic()
for host in ("1.1.1.1", "10.0.0.1", "169.254.169.254", "168.63.129.16", "100.100.100.200", "100.96.1.5", "192.168.1.1", "224.0.0.1", "240.0.0.1", "0.0.0.0"):
    print(host, attempt(lambda: connect(socket.AF_INET, (host, 80))))
assert time.monotonic() - begin < 2, "slow"
`,
  );
  const [variables, ...lines] = out.trim().split("\n");
  assert.equal(variables, "[]");
  for (const line of lines) {
    // 0.0.0.0 is this host itself: the cell's own loopback.
    assert.match(line, line.startsWith("0.0.0.0") ? / ECONNREFUSED$/ : / ENETUNREACH$/);
  }
});

test("13: a cell cannot take a foreign source address; given one, its packets are dropped and counted", async () => {
  const bind = `${attempts}
def take():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
        s.setsockopt(socket.SOL_IP, 15, 1) # IP_FREEBIND
        s.bind(("100.96.200.200", 0))
        s.settimeout(0.5)
        s.connect(("198.18.0.1", 80))
print(attempt(take))
`;
  const before = refusedPackets(instance)["spoofed"] ?? 0;
  assert.equal(await python(assistant, computer, bind), "ENETUNREACH\n");
  assert.equal(refusedPackets(instance)["spoofed"] ?? 0, before);
  const [pid = ""] = await pidsOf(computer);
  const add = ["-t", pid, "-n", "ip", "address", "add", "100.96.200.200/32", "dev", "eth0"];
  assert.equal(spawnSync("nsenter", add).status, 0);
  assert.equal(await python(assistant, computer, bind), "TimeoutError\n");
  assert.ok((refusedPackets(instance)["spoofed"] ?? 0) > before);
});

test("14: UDP is refused and counted; ICMP, raw and packet sockets cannot be made", async () => {
  const before = refusedPackets(instance)["refused"] ?? 0;
  const out = await python(
    assistant,
    computer,
    `${attempts}
for port in (53, 123, 443, 4433):
    print("udp", attempt(lambda: connect(socket.AF_INET, ("198.18.0.1", port), socket.SOCK_DGRAM)))
print("outside", attempt(lambda: connect(socket.AF_INET, ("1.1.1.1", 53), socket.SOCK_DGRAM)))
print("icmp", attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)))
for protocol in (1, 6, 17, 255):
    print("raw", attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, protocol)))
print("packet", attempt(lambda: socket.socket(17, socket.SOCK_RAW, 0x0300)), attempt(lambda: socket.socket(17, socket.SOCK_DGRAM, 0x0300)))
`,
  );
  assert.match(
    out,
    /^(udp ECONNREFUSED\n){4}outside ENETUNREACH\nicmp (EACCES|EPERM)\n(raw EPERM\n){4}packet EPERM EPERM\n$/,
  );
  assert.ok((refusedPackets(instance)["refused"] ?? 0) - before >= 4);
});

test("15: of 64 socket families only UNIX, INET, INET6 and route NETLINK can be made", async () => {
  const out = await python(
    assistant,
    computer,
    `${attempts}
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def allowed(family, protocol):
    for kind in (1, 2, 3, 5):
        fd = libc.socket(family, kind, protocol)
        # Refused by the kernel for its kind or protocol, not by us, also means that the family may be asked for.
        if fd >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.EAFNOSUPPORT, errno.EACCES):
            return True
    return False
print([family for family in range(64) if allowed(family, 0)])
print([protocol for protocol in range(32) if libc.socket(16, 3, protocol) >= 0])
print(libc.socketpair(1, 1, 0, (ctypes.c_int * 2)()), [f for f in range(64) if f != 1 and libc.socketpair(f, 1, 0, (ctypes.c_int * 2)()) == 0])
`,
  );
  assert.equal(out, "[1, 2, 10, 16]\n[0]\n0 []\n");
});
