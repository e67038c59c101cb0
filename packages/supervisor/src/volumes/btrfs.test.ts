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
1/5           52412416     52412416   <1 member qgroups>
2/1           52412416     52412416   <1 member qgroups>
`;

test("quota groups are read with what they belong to", () => {
  const groups = parseGroups(table);
  assert.deepEqual(
    groups.map((group) => group.id),
    ["0/5", "0/256", "0/258", "0/259", "1/5", "2/1"],
  );
  assert.deepEqual(
    groups.filter((group) => group.volume).map((group) => group.id),
    ["0/258"],
  );
  assert.deepEqual(
    groups.filter((group) => group.stale).map((group) => group.id),
    ["0/259"],
  );
  assert.equal(groups.find((group) => group.id === "1/5")?.bytes, 52_412_416);
});

test("volumes together stop before the pool is full", () => {
  const total = 10 * 1024 ** 3;
  assert.equal(growthLimitBytes({ totalBytes: total }, 1024 ** 3), Math.floor(total * 0.9) - 1024 ** 3);
});
