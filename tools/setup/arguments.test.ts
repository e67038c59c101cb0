import assert from "node:assert/strict";
import { test } from "node:test";
import { parseHostArguments, parseSize } from "./arguments.ts";
import { choosePoolBytes } from "./steps/pool.ts";

const gibibyte = 1024 ** 3;

test("without options it is the instance default in /var/lib/holdfast", () => {
  const { instance, data, listen, bare } = parseHostArguments([]);
  assert.deepEqual(
    { instance, data, listen, bare },
    { instance: "default", data: "/var/lib/holdfast", listen: undefined, bare: false },
  );
  assert.equal(parseHostArguments(["--instance", "second"]).data, "/var/lib/holdfast-second");
});

test("what does not fit is refused with an example", () => {
  assert.throws(() => parseHostArguments(["--instance", "../x"]), /An instance name/);
  assert.throws(() => parseHostArguments(["--listen", "localhost:80"]), /like 127\.0\.0\.1:7300/);
  assert.throws(() => parseHostArguments(["--listen", "127.0.0.1:70000"]), /like 127\.0\.0\.1:7300/);
  assert.throws(() => parseHostArguments(["--pool-size", "lots"]), /like 20G/);
  assert.throws(() => parseHostArguments(["--data", "/a b"]), /data directory/);
  assert.throws(() => parseHostArguments(["--nonsense"]), /nonsense/);
});

test("sizes are binary", () => {
  assert.equal(parseSize("20G"), 20 * gibibyte);
  assert.equal(parseSize("1.5GiB"), 1.5 * gibibyte);
  assert.equal(parseSize("4096M"), 4 * gibibyte);
});

test("a pool is half of what is free, at most 50 GiB, and never takes the host's last", () => {
  assert.equal(choosePoolBytes(30 * gibibyte, undefined), 15 * gibibyte);
  assert.equal(choosePoolBytes(900 * gibibyte, undefined), 50 * gibibyte);
  assert.throws(() => choosePoolBytes(3 * gibibyte, undefined), /too small/);
  assert.throws(() => choosePoolBytes(21 * gibibyte, 20 * gibibyte), /leaves less than/);
});
