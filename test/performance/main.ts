/**
 * `npm run bench`: an instance of its own, peers beside it, interleaved; prints a table with ratios and keeps the raw figures.
 *
 * usage: main.ts [--only computers|addresses] [--rounds n] [--idle n] [--seconds n] [--projects n] [--sockets n] [--out FILE]     (root; about ten minutes)
 */
import { spawnSync } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { cpus, loadavg, release } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { root } from "../../tools/node24.mjs";
import { openInstance } from "../support/instance.ts";
import { measureAddresses } from "./addresses/measure.ts";
import { addressesTable } from "./addresses/table.ts";
import { measure } from "./measure.ts";
import { table } from "./table.ts";

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      rounds: { type: "string", default: "12" },
      idle: { type: "string", default: "100" },
      projects: { type: "string", default: "100" },
      sockets: { type: "string", default: "1000" },
      seconds: { type: "string", default: "3" },
      out: { type: "string", default: join(root, "bench-results/latest.json") },
    },
  });
  const instance = await openInstance(`b${process.pid.toString(36)}`);
  try {
    const rounds = Number(values.rounds);
    const computers =
      values.only === "addresses"
        ? undefined
        : await measure(instance, {
            rounds,
            idleComputers: Number(values.idle),
            imageArchive: await newestImage(),
          });
    const addresses =
      values.only === "computers"
        ? undefined
        : await measureAddresses(instance, {
            rounds,
            seconds: Number(values.seconds),
            projects: Number(values.projects),
            sockets: Number(values.sockets),
          });
    const commit = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).stdout.trim();
    const host = { kernel: release(), cpus: cpus().length, load: loadavg()[0] };
    await mkdir(dirname(values.out), { recursive: true });
    await writeFile(values.out, `${JSON.stringify({ commit, host, computers, addresses }, undefined, 1)}\n`);
    const tables = [computers && table(computers), addresses && addressesTable(addresses)];
    process.stdout.write(
      `${tables.filter((text) => text !== undefined).join("\n\n")}\nraw figures: ${values.out} (commit ${commit.slice(0, 12)})\n`,
    );
  } finally {
    await instance.down({ deleteData: true });
  }
};

const newestImage = async (): Promise<string> => {
  const images = "/var/cache/holdfast/images";
  const [archive] = (await readdir(images)).filter((name) => name.endsWith(".tar.zst"));
  return join(images, archive ?? "none");
};

await main();
