/**
 * `npm run bench`: an instance of its own, peers on the same image, interleaved; prints a table with ratios and keeps the raw figures.
 *
 * usage: main.ts [--rounds n] [--idle n] [--out FILE]     (root; about five minutes)
 */
import { spawnSync } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { cpus, loadavg, release } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { root } from "../../tools/node24.mjs";
import { openInstance } from "../support/instance.ts";
import { measure } from "./measure.ts";
import { table } from "./table.ts";

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "12" },
      idle: { type: "string", default: "100" },
      out: { type: "string", default: join(root, "bench-results/latest.json") },
    },
  });
  const instance = await openInstance(`b${process.pid.toString(36)}`);
  try {
    const [archive] = (await readdir("/var/cache/holdfast/images")).filter((name) =>
      name.endsWith(".tar.zst"),
    );
    const results = await measure(instance, {
      rounds: Number(values.rounds),
      idleComputers: Number(values.idle),
      imageArchive: `/var/cache/holdfast/images/${archive ?? "none"}`,
    });
    const commit = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).stdout.trim();
    const host = { kernel: release(), cpus: cpus().length, load: loadavg()[0] };
    await mkdir(dirname(values.out), { recursive: true });
    await writeFile(values.out, `${JSON.stringify({ commit, host, ...results }, undefined, 1)}\n`);
    process.stdout.write(`${table(results)}\nraw figures: ${values.out} (commit ${commit.slice(0, 12)})\n`);
  } finally {
    await instance.down({ deleteData: true });
  }
};

await main();
