import { test } from "node:test";
import { cutBodies, cutHeads, endlessHead, takenHeads } from "../../../../test/support/gateway/heads.ts";

/** By chance, a second's worth; `test/security/19-22-heads.long.ts` takes its time. */
const runs = 1500;

test("how a head is cut into pieces changes nothing of what is read", () => cutHeads(runs));
test("a head that has not ended within the limit is too large, whatever follows", () => endlessHead());
test("no head makes the parser throw, and what it takes keeps its promises", () => takenHeads(runs));
test("a chunked body is the same in whatever pieces it comes, and gives back what was put in", () =>
  cutBodies(runs));
