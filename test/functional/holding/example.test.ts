import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { root } from "../../../tools/node24.mjs";
import { temporaryDirectory } from "../../support/temporary.ts";
import { useAssistant } from "../../support/use.ts";

const { instance, assistant } = await useAssistant();
const scratch = temporaryDirectory("holding-example");
after(() => scratch.remove());

test("the example's story of held work holds: a schedule that wakes, slots, a snapshot, a fork, and the way back", async () => {
  const keyFile = join(scratch.path, "key");
  await writeFile(keyFile, assistant.secret, { mode: 0o600 });
  const program = join(root, "examples/holding/main.ts");
  const call = [program, "--url", `${instance.url}/mcp`, "--key-file", keyFile];
  const { stdout } = await promisify(execFile)(process.execPath, call);
  assert.match(stdout, /\nThe story succeeded\.\n$/);
  const { computers } = await assistant.client.computers.list({});
  assert.deepEqual(computers, [], "it leaves nothing");
});
