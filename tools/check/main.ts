/** `npm run check`: format, lint, types, the agent's lint, repository rules. Prints what failed and how to mend it; status 1 then. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { root } from "../node24.mjs";
import { lint } from "./lint.ts";
import { run, tool, type Outcome } from "./run.ts";

interface Stage {
  readonly name: string;
  readonly check: () => Promise<Outcome>;
  readonly mend: string;
}

const crate = join(root, "native/agent");

const stages: readonly Stage[] = [
  {
    name: "format",
    check: () => run(tool("biome"), ["format", "--max-diagnostics=20", "."]),
    mend: "npm run format",
  },
  {
    name: "lint",
    check: lint,
    mend: "mend each finding; a rule is switched off for a line only with its reason",
  },
  { name: "types", check: () => run(tool("tsc"), ["--noEmit", "--project", root]), mend: "mend the types" },
  {
    name: "agent format",
    check: () => run("cargo", ["fmt", "--check"], crate),
    mend: "cargo fmt in native/agent",
  },
  {
    name: "agent lint",
    check: () =>
      run(
        "cargo",
        [
          "clippy",
          "--locked",
          "--quiet",
          "--all-targets",
          "--target",
          "x86_64-unknown-linux-gnu",
          "--",
          "-D",
          "warnings",
        ],
        crate,
      ),
    mend: "mend each finding",
  },
  {
    name: "repository rules",
    check: () => run(process.execPath, [join(root, "tools/test/main.ts"), "repo"]),
    mend: "each failure names its rule",
  },
];

const main = async (): Promise<void> => {
  let failed = 0;
  for (const stage of stages) {
    if (stage.name.startsWith("agent") && !existsSync(join(crate, "Cargo.toml"))) continue;
    const since = performance.now();
    const { ok, output } = await stage.check();
    const seconds = ((performance.now() - since) / 1000).toFixed(1);
    process.stdout.write(`${ok ? "✔" : "✖"} ${stage.name} (${seconds} s)\n`);
    if (ok) continue;
    failed += 1;
    process.stdout.write(`${output.trimEnd()}\n  → ${stage.mend}\n`);
  }
  process.exit(failed === 0 ? 0 : 1);
};

await main();
