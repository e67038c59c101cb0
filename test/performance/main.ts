/**
 * `npm run bench`: an instance of its own, peers beside it, interleaved; prints a table with ratios and keeps the raw figures.
 *
 * usage: main.ts [--only computers|addresses|holding] [--rounds n] [--idle n] [--seconds n] [--projects n] [--sockets n] [--out FILE]
 *                [--part starts|wakes|copies|slots|restarts|crowd]… [--snapshots n] [--schedules n] [--cells n] [--sleeping n] [--stopped n]
 *        (root; about twenty minutes. `crowd` only where --sleeping or --stopped says how many)
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
import { measureHolding } from "./holding/measure.ts";
import { holdingTable } from "./holding/table.ts";
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
      part: { type: "string", multiple: true, default: [] },
      snapshots: { type: "string", default: "100" },
      schedules: { type: "string", default: "10000" },
      cells: { type: "string", default: "200" },
      sleeping: { type: "string", default: "0" },
      stopped: { type: "string", default: "0" },
      out: { type: "string", default: join(root, "bench-results/latest.json") },
    },
  });
  const instance = await openInstance(`b${process.pid.toString(36)}`);
  try {
    const rounds = Number(values.rounds);
    const wanted = (what: string): boolean => values.only === "" || values.only === what;
    const computers = wanted("computers")
      ? await measure(instance, {
          rounds,
          idleComputers: Number(values.idle),
          imageArchive: await newestImage(),
        })
      : undefined;
    const addresses = wanted("addresses")
      ? await measureAddresses(instance, {
          rounds,
          seconds: Number(values.seconds),
          projects: Number(values.projects),
          sockets: Number(values.sockets),
        })
      : undefined;
    const holding = wanted("holding")
      ? await measureHolding(instance, {
          rounds,
          parts: values.part,
          snapshots: Number(values.snapshots),
          schedules: Number(values.schedules),
          cells: Number(values.cells),
          sleeping: Number(values.sleeping),
          stopped: Number(values.stopped),
        })
      : undefined;
    const commit = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).stdout.trim();
    const host = { kernel: release(), cpus: cpus().length, load: loadavg()[0] };
    await mkdir(dirname(values.out), { recursive: true });
    await writeFile(
      values.out,
      `${JSON.stringify({ commit, host, computers, addresses, holding }, undefined, 1)}\n`,
    );
    const tables = [
      computers && table(computers),
      addresses && addressesTable(addresses),
      holding && holdingTable(holding),
    ];
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
