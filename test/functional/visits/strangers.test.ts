import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { HoldfastError, limits } from "@holdfast/contract";
import { usePostgres } from "../../support/postgres.ts";
import { startVisiting } from "../../support/visits.ts";

const postgres = usePostgres();

const guess = (prefix: string): string => `${prefix}${randomBytes(32).toString("base64url")}`;

test("unknown tokens are counted at each address; who was there before, or has a new ticket, gets in all the same", async (context) => {
  const visiting = await startVisiting(context, postgres);
  const { owner, right, trade } = visiting;
  const [flooded, quiet] = [await visiting.project("flooded"), await visiting.project("quiet")];
  const cookie = (await trade("ticket", flooded, await visiting.ticket(owner, flooded))) ?? "";
  const codes = new Set<string>();
  for (let sent = 0; sent < limits.unknownCredentialsPerWindow + 50; sent += 1)
    await right("cookie", flooded, guess("hfv_")).catch((error: unknown) =>
      codes.add(error instanceof HoldfastError ? error.code : String(error)),
    );
  assert.deepEqual([...codes], ["rate_limited"]);
  await assert.rejects(right("header", flooded, guess("hf_")), { code: "rate_limited" });
  await assert.rejects(trade("share", flooded, guess("hfl_")), { code: "rate_limited" });

  assert.equal((await right("cookie", flooded, cookie))?.who, "owner");
  const fresh = (await trade("ticket", flooded, await visiting.ticket(owner, flooded))) ?? "";
  assert.equal((await right("cookie", flooded, fresh))?.who, "owner");
  const share = await visiting.share(flooded);
  assert.notEqual(await trade("share", flooded, share.token), null);
  assert.equal(await right("cookie", quiet, guess("hfv_")), null);
  assert.equal((await right("header", quiet, visiting.key.secret))?.who, "assistant");
});

test("the same wrong token again, and what is no token, costs nothing", async (context) => {
  const visiting = await startVisiting(context, postgres);
  const project = await visiting.project("shop");
  const wrong = guess("hfv_");
  for (let sent = 0; sent < 2 * limits.unknownCredentialsPerWindow; sent += 1) {
    assert.equal(await visiting.right("cookie", project, wrong), null);
    assert.equal(await visiting.right("header", project, "no token"), null);
  }
  assert.equal(await visiting.right("cookie", project, guess("hfv_")), null);
});

test("no project, a destroyed one and a wrong token are one answer", async (context) => {
  const visiting = await startVisiting(context, postgres);
  const gone = await visiting.project("gone");
  const share = await visiting.share(gone);
  await visiting.sql("update projects set state = 'destroyed'");
  const here = await visiting.project("here");
  const tries = [
    [here, guess("hf_")],
    [gone, visiting.key.secret],
    ["prj_00000000000000000000", visiting.key.secret],
  ] as const;
  for (const [project_id, token] of tries) {
    assert.deepEqual(await visiting.gateway.call("right.find", { project_id, kind: "header", token }), {
      right: null,
    });
    assert.deepEqual(
      await visiting.gateway.call("right.trade", { project_id, kind: "share", token: share.token }),
      { session: null },
    );
  }
});
