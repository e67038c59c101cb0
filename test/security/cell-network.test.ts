import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { type Outcome, useCellHost } from "../support/cell-host.ts";

const host = await useCellHost();
const id = await host.newComputer();

const shell = (line: string): Promise<Outcome> => host.exec(id, ["/bin/sh", "-c", line]);
const python = (code: string): Promise<Outcome> => host.exec(id, ["/usr/bin/python3", "-c", code]);
const inCellnet = (...command: string[]): string =>
  execFileSync("ip", ["netns", "exec", `hf${host.shortId}-cellnet`, ...command], { encoding: "utf8" });

interface Listing {
  readonly nftables: readonly {
    readonly set?: {
      readonly elem?: readonly {
        readonly elem: { readonly val: string; readonly counter: { readonly packets: number } };
      }[];
    };
  }[];
}
const refused = (): number => {
  const listing = JSON.parse(
    inCellnet("nft", "--json", "list", "set", "inet", "holdfast", "refused_links"),
  ) as Listing;
  const elements = listing.nftables.flatMap(({ set }) => set?.elem ?? []);
  return elements
    .filter(({ elem }) => elem.val === "c0")
    .reduce((sum, { elem }) => sum + elem.counter.packets, 0);
};

test("10, 12, 13: every port inside the range is refused at once and counted; later cells still start", async () => {
  const before = refused();
  const scan = await python(`
import socket, time
began = time.time()
open_ports = 0
for port in range(1, 65536):
    s = socket.socket()
    s.settimeout(5)
    if s.connect_ex(("198.18.0.1", port)) != 111: open_ports += 1
    s.close()
print(open_ports, time.time() - began < 25)
for address in ("198.18.5.5", "198.19.255.254"):
    for port in (22, 25, 53, 443, 6379):
        print(socket.socket().connect_ex((address, port)))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.connect(("198.18.0.1", 443)); u.send(b"x"); time.sleep(0.2)
try: u.send(b"x"); print("udp taken")
except ConnectionRefusedError: print("udp refused")
`);
  const lines = scan.stdout.trim().split("\n");
  assert.deepEqual(lines, ["0 True", ...Array.from({ length: 10 }, () => "111"), "udp refused"], scan.stderr);
  assert.ok(refused() - before >= 65_535 + 10, "each refusal was counted for this link");
  assert.ok(await host.newComputer(), "counting is no change of the rules");
});

test("cells do not reach each other, nor may one use another's address", async () => {
  const other = await host.newComputer();
  const address = (
    await host.exec(other, [
      "/bin/sh",
      "-c",
      "grep -B1 '/32 host' /proc/net/fib_trie | grep -o '100[.0-9]*' | head -1",
    ])
  ).stdout.trim();
  assert.match(address, /^100\.96\.1\.\d+$/);
  const tried = await python(`import socket; print(socket.socket().connect_ex(("${address}", 22)))`);
  assert.equal(tried.stdout.trim(), "101", "ENETUNREACH");
  const bound = await python(`
import socket
s = socket.socket()
try: s.bind(("${address}", 0)); print("bound")
except OSError as error: print(error.errno)
`);
  assert.equal(bound.stdout.trim(), "99", "EADDRNOTAVAIL");
});

test("9: there is no IPv6 address and none can be made", async () => {
  const seen = await shell(
    "cat /proc/net/if_inet6 2>/dev/null; cat /proc/sys/net/ipv6/conf/all/disable_ipv6; echo 0 > /proc/sys/net/ipv6/conf/all/disable_ipv6",
  );
  assert.equal(seen.stdout.trim(), "1");
  assert.notEqual(seen.code, 0);
});

const rulesOfInput = (): string => inCellnet("nft", "list", "chain", "inet", "holdfast", "input");
const openHole = (): string =>
  inCellnet("nft", "insert", "rule", "inet", "holdfast", "input", "tcp", "dport", "80", "accept");

test("rules changed from outside are the installed ones again before a cell starts", async () => {
  const start = () => host.control.call("cell.start", { computer_id: id, size: "small", lease_ms: 600_000 });
  const stop = () => host.control.call("cell.stop", { computer_id: id });
  const installed = rulesOfInput().replaceAll(/packets \d+ bytes \d+/g, "");
  for (const change of [
    openHole,
    () => inCellnet("nft", "flush", "ruleset"),
    () => inCellnet("nft", "add", "table", "inet", "another"),
  ]) {
    await stop();
    change();
    assert.equal((await start()).started, true);
    assert.equal(rulesOfInput().replaceAll(/packets \d+ bytes \d+/g, ""), installed);
  }
});

test("rules that are changed again and again stop every start, and leave nothing of it", async () => {
  const start = () => host.control.call("cell.start", { computer_id: id, size: "small", lease_ms: 600_000 });
  const refused = async (): Promise<boolean> => {
    await host.control.call("cell.stop", { computer_id: id });
    openHole();
    return start().then(
      () => false,
      (error: unknown) => (error as { readonly code?: string }).code === "computer_failed",
    );
  };
  let tries = 1;
  while (!(await refused())) assert.ok((tries += 1) < 10, "after a few times it is given up");
  assert.ok(tries > 2, "not at once");
  assert.deepEqual(
    (await host.leftovers([])).filter(
      (trace) => trace.includes(id) && !/subvolume|facts|supervisor-state\/cells/.test(trace),
    ),
    [],
  );
  await host.kill();
  await host.start();
  assert.equal((await start()).started, true);
});

test("a supervisor with other rules installs them under cells that run on", async () => {
  const before = await shell("echo $$");
  inCellnet("nft", "flush", "chain", "inet", "holdfast", "input");
  inCellnet("nft", "add", "rule", "inet", "holdfast", "input", "counter", "drop");
  await host.kill();
  await host.start();
  assert.match(rulesOfInput(), /reject with tcp reset/);
  assert.equal(before.code, 0);
  assert.equal((await shell("cat /proc/1/comm")).code, 0, "the cell was adopted");
  const refusedNow = await python(
    "import socket\ntry: socket.create_connection(('198.18.0.1', 80), 5)\nexcept ConnectionRefusedError: print('refused')",
  );
  assert.equal(refusedNow.stdout, "refused\n", refusedNow.stderr);
});
