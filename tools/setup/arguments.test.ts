import assert from "node:assert/strict";
import { test } from "node:test";
import { complaint, parseHostArguments, parseSize, usageOf } from "./arguments.ts";
import { settleWarm } from "./steps/instance.ts";
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
  for (const warm of ["33", "-1", "2.5", "many", ""])
    assert.throws(() => parseHostArguments([`--warm=${warm}`]), /--warm takes a number up to 32/, warm);
  assert.throws(() => parseHostArguments(["--nonsense"]), /nonsense/);
});

test("how many are kept started stays as it is until somebody says a number, or takes it back", () => {
  const { warm } = parseHostArguments([]);
  assert.equal(warm, undefined);
  assert.equal(parseHostArguments(["--warm", "0"]).warm, 0);
  assert.equal(parseHostArguments(["--warm", "default"]).warm, "default");
  const settled = [
    settleWarm(undefined, 3),
    settleWarm(4, 3),
    settleWarm("default", 3),
    settleWarm(undefined, undefined),
  ];
  assert.deepEqual(settled, [{ warm: 3 }, { warm: 4 }, {}, {}]);
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

test("each verb's help has its own options and no other's", () => {
  assert.match(usageOf("up"), /--pool-size[\s\S]*--warm <n>[\s\S]*--projects-domain/);
  assert.doesNotMatch(usageOf("up"), /--delete-data|--json|--output/);
  assert.match(usageOf("down"), /--delete-data/);
  assert.doesNotMatch(usageOf("down"), /--pool-size|--projects-domain/);
  assert.doesNotMatch(usageOf("status"), /--bare|--delete-data|--warm|--projects-domain/);
  for (const verb of ["up", "down", "status", "doctor", "install", "owner login", "run"] as const) {
    assert.match(usageOf(verb), new RegExp(`^usage: holdfast ${verb} `));
    assert.match(usageOf(verb), /--instance <name>/);
  }
});

test("what is deleted is named: without a name nothing is, and the help that is named is that verb's", () => {
  assert.match(
    complaintOf("down", ["--delete-data"]),
    /--delete-data takes the name of the instance, default/,
  );
  assert.match(complaintOf("down", ["--instance", "second", "--delete-data"]), /of the instance, second/);
  assert.match(complaintOf("down", ["--nonsense"]), /See `holdfast down --help`/);
});

const complaintOf = (verb: string, argv: readonly string[]): string => {
  try {
    parseHostArguments(argv);
  } catch (error) {
    return complaint(verb, argv, error as Error).text;
  }
  return "";
};
