import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bodyOf,
  domain,
  everything,
  startBed,
  startTestApp,
  statusOf,
} from "../../../../../test/support/gateway/bed.ts";

test("a published project answers, a private one answers whoever has a right, and nobody else anything", async (context) => {
  const bed = await startBed(context);
  const app = await startTestApp(context);
  const open = await bed.project("open", app.port, everything);
  const shut = await bed.project("shut", app.port);
  shut.allow("header", "hf_key");
  shut.allow("cookie", "session");
  const get = (host: string, more = ""): Promise<string> =>
    bed.raw(`GET /x?y=%20 HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`);

  const answer = await get(open.host);
  assert.equal(statusOf(answer), 200, answer);
  assert.equal((JSON.parse(bodyOf(answer)) as { url: string }).url, "/x?y=%20");
  assert.equal(statusOf(await get(shut.host)), 404);
  assert.equal(statusOf(await get(`none.${domain}`)), 404);
  assert.equal(statusOf(await get(shut.host, "Holdfast-Key: hf_other\r\n")), 401);
  assert.equal(app.seen.length, 1);
  assert.equal(shut.agent.connections, 0);
  assert.equal(statusOf(await get(shut.host, "Holdfast-Key: hf_key\r\n")), 200);
  assert.equal(statusOf(await get(shut.host, "Cookie: a=b; __Host-holdfast=session\r\n")), 200);
  assert.equal(app.seen.length, 3);
});
