/**
 * `npm test`: every group of `groups.ts`, then the agent's own tests. The last line is the sum, `N passed, N failed`.
 *
 * usage: main.ts [--long] [--except group]… [group or part of a file name]…
 */
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { root } from "../node24.mjs";
import { run } from "../check/run.ts";
import { runAgentTests } from "./agent.ts";
import { prepareHost } from "./prepare-host.ts";
import { groups, runLimitMs, type Group } from "./groups.ts";
import { runFiles, type Tally } from "./run-files.ts";
import { shareAmongFiles } from "./shared.ts";

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      long: { type: "boolean", default: false },
      except: { type: "string", multiple: true, default: [] },
    },
  });
  const interrupted = new AbortController();
  // The files under way take away what is theirs; the rest fails, and the instance of the run is taken down below.
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => interrupted.abort());
  const limit = AbortSignal.timeout(values.long ? 10 * runLimitMs : runLimitMs);
  const signal = AbortSignal.any([limit, interrupted.signal]);
  const total: Tally = { passed: 0, failed: 0 };
  const add = ({ passed, failed }: Tally): void => {
    total.passed += passed;
    total.failed += failed;
  };
  // The files that need a running Holdfast share one instance (test/support/instance.ts); the first of them brings it up.
  const instance = `t${process.pid.toString(36)}`;
  const onlyRepo = positionals.length === 1 && positionals[0] === "repo";
  if (!onlyRepo) await prepareHost();
  const takeAway = onlyRepo ? undefined : await shareAmongFiles();
  let matched = 0;
  for (const group of groups) {
    if (values.except.includes(group.name) || (group.long ?? false) !== values.long) continue;
    const files = chosen(group, positionals);
    matched += files.length;
    if (positionals.length === 0 && files.length < group.atLeast) {
      process.stdout.write(
        `✖ ${group.name}: ${files.length} test files where at least ${group.atLeast} belong\n`,
      );
      add({ passed: 0, failed: 1 });
    }
    if (files.length > 0 && !signal.aborted) add(await runFiles(group, files, { instance, signal }));
  }
  if (signal.aborted) {
    process.stdout.write("✖ the run was ended before its time\n");
    add({ passed: 0, failed: 1 });
  }
  const wantsAgent = positionals.length === 0 ? !values.long : positionals.includes("agent");
  if (wantsAgent && !signal.aborted && !values.except.includes("agent")) add(await runAgentTests(signal));
  else if (matched === 0) {
    process.stdout.write(
      `✖ no test file matches ${positionals.join(" ")}; groups: ${groups.map(({ name }) => name).join(", ")}, agent\n`,
    );
    add({ passed: 0, failed: 1 });
  }
  await takeAway?.();
  if (!(await takeDown(instance))) add({ passed: 0, failed: 1 });
  process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
  process.exit(total.failed > 0 || total.passed === 0 ? 1 : 0);
};

/** Takes the run's instance down with its data, if a test brought it up. False when something of it stays. */
const takeDown = async (instance: string): Promise<boolean> => {
  if (!existsSync(`/var/lib/holdfast-${instance}`)) return true;
  const argv = [join(root, "bin/holdfast.mjs"), "down", "--instance", instance, "--delete-data", instance];
  const { ok, output } = await run(process.execPath, argv);
  if (!ok) process.stdout.write(`✖ the instance of the tests did not go down\n${output}\n`);
  return ok;
};

/** The files of a group that the words on the command line select; all of them without words. */
const chosen = (group: Group, words: readonly string[]): string[] => {
  const files = globSync([...group.files], { cwd: root, exclude: ["**/node_modules/**"] }).toSorted();
  if (words.length === 0 || words.includes(group.name)) return files.map((file) => join(root, file));
  return files.filter((file) => words.some((word) => file.includes(word))).map((file) => join(root, file));
};

await main();
