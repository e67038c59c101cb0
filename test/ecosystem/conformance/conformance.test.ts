import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { peer } from "../peers.ts";
import { type FixtureInstance, serveFixtures } from "./serve.ts";

let fixtures: FixtureInstance;
let output: string;

before(async () => {
  fixtures = await serveFixtures();
  output = await mkdtemp(join(tmpdir(), "holdfast-conformance-"));
});

after(async () => {
  await fixtures.close();
  await rm(output, { recursive: true, force: true });
});

for (const [revision, scenarios] of [
  ["2026-07-28", 37],
  ["2025-11-25", 30],
] as const) {
  test(`conformance ${revision}: ${scenarios} of ${scenarios} required scenarios`, {
    timeout: 180_000,
  }, async () => {
    const { status, text } = await run(revision);
    const verdict = verdictOf(text);
    assert.equal(verdict.passed, scenarios, text);
    assert.equal(verdict.failed, 0, text);
    assert.equal(status, 0, text);
  });
}

const run = async (revision: string): Promise<{ status: number | null; text: string }> => {
  const program = peer("@modelcontextprotocol/conformance", "dist/index.js");
  const argv = [
    program,
    "server",
    "--url",
    fixtures.url,
    "--requirements",
    revision,
    "-o",
    join(output, revision),
  ];
  const child = spawn(process.execPath, argv, { cwd: output, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { status, text };
};

/**
 * Reads the suite's summary. A scenario counts when every check of it held; the ones it names as not scored (extensions, added after the
 * release) are no part of the figure.
 */
const verdictOf = (text: string): { passed: number; failed: number } => {
  const summary = text.slice(text.indexOf("=== SUMMARY ==="));
  const [scored = "", unscored = ""] = summary.split(/^Not scored for /m);
  const names = (part: string, mark: string): string[] =>
    [...part.matchAll(new RegExp(`^ *${mark} ([\\w/-]+)`, "gm"))].map((match) => match[1] ?? "");
  const ignored = new Set([...names(unscored, "✓"), ...names(unscored, "✗")]);
  const counted = (mark: string): number => names(scored, mark).filter((name) => !ignored.has(name)).length;
  return { passed: counted("✓"), failed: counted("✗") };
};
