import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLogger, systemClock } from "@holdfast/kit";
import { watchCertificate } from "./certificate.ts";

test("a renewed certificate is used, one that cannot be is told of, and the next one is used again", async (context) => {
  const directory = await mkdtemp(join(tmpdir(), "hf-test-certificate-"));
  context.after(() => rm(directory, { recursive: true, force: true }));
  const files = { chainFile: join(directory, "chain.pem"), keyFile: join(directory, "key.pem") };
  await writeFile(files.chainFile, "one");
  await writeFile(files.keyFile, "key");
  const used: string[] = [];
  const said: string[] = [];
  const renewals = ["longer", "bad, and longer", "the longest of all"];
  const ending = new AbortController();
  await watchCertificate({
    files,
    use: ({ chain, key }) => {
      const text = `${chain.toString()} ${key.toString()}`;
      if (text.startsWith("bad")) throw new Error("no certificate");
      used.push(text);
    },
    clock: {
      ...systemClock,
      sleep: async () => {
        const next = renewals.shift();
        if (next === undefined) ending.abort();
        else await writeFile(files.chainFile, next);
      },
    },
    logger: createLogger({ program: "gateway", now: () => 0, write: (line) => void said.push(line) }),
    signal: ending.signal,
  });
  assert.deepEqual(used, ["longer key", "the longest of all key"]);
  assert.equal(said.filter((line) => line.includes("the one before stays")).length, 1);
});
