import assert from "node:assert/strict";
import { test } from "node:test";
import { parseGroups } from "./btrfs.ts";
import { growthLimitBytes } from "./space.ts";

const table = `Qgroupid    Referenced    Exclusive   Path
--------    ----------    ---------   ----
0/5              16384        16384   <toplevel>
0/256        215162880    215162880   images/dev0
0/258         52412416     52412416   supervisor/computers/cmp_0123456789abcdefghjk
0/259            16384        16384   <stale>
0/260                0            0   <stale>
1/5           52412416     52412416   <1 member qgroups>
2/1           52412416     52412416   <1 member qgroups>
`;

test("quota groups are read with what they belong to", () => {
  const groups = parseGroups(table);
  assert.deepEqual(
    groups.map((group) => group.id),
    ["0/5", "0/256", "0/258", "0/259", "0/260", "1/5", "2/1"],
  );
  assert.deepEqual(
    groups.filter((group) => group.volume).map((group) => group.id),
    ["0/258"],
  );
  assert.deepEqual(
    groups.filter((group) => group.stale).map((group) => group.id),
    ["0/260"],
    "one that still counts is left to the kernel",
  );
  assert.equal(groups.find((group) => group.id === "1/5")?.bytes, 52_412_416);
});

test("volumes together stop before the pool is full", () => {
  const space = { totalBytes: 10_000_000_000, usedBytes: 4_000_000_000, growthRefused: false };
  assert.equal(
    growthLimitBytes(space, 1_000_000_000),
    6_000_000_000,
    "what they hold and what is left up to 90 %",
  );
  assert.equal(
    growthLimitBytes({ ...space, usedBytes: 9_500_000_000 }, 1_000_000_000),
    1_000_000_000,
    "no growth",
  );
  assert.ok(growthLimitBytes({ ...space, usedBytes: 9_500_000_000 }, 0) > 0, "0 would be no limit");
});
