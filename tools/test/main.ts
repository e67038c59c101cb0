/**
 * `npm test`: the files of every group of `groups.ts` side by side, and the agent's own tests. The last line is the sum, `N passed, N failed`.
 *
 * usage: main.ts [--long] [--except group]… [group or part of a file name]…
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { root } from "../node24.mjs";
import { run } from "../check/run.ts";
import { runAgentTests } from "./agent.ts";
import { prepareHost } from "./prepare-host.ts";
import { groups, runLimitMs, type Group } from "./groups.ts";
import { isShared, type TestFile } from "./lanes.ts";
import { reportOf, sumOf } from "./report.ts";
import type { Tally } from "./run-file.ts";
import { runFiles } from "./run-files.ts";
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
  // The files that need a running Holdfast share an instance (test/support/instance.ts), one for each lane of files that do; the first file
  // of a lane brings it up.
  const instance = (lane: number): string => `t${process.pid.toString(36)}${lane === 0 ? "" : `-${lane}`}`;
  const down = async (name: string): Promise<void> => {
    if (!(await takeDown(name))) add({ passed: 0, failed: 1 });
  };
  const onlyRepo = positionals.length === 1 && positionals[0] === "repo";
  if (!onlyRepo) await prepareHost();
  const takeAway = onlyRepo ? undefined : await shareAmongFiles();
  const files: TestFile[] = [];
  for (const group of groups) {
    if (values.except.includes(group.name) || (group.long ?? false) !== values.long) continue;
    const ofGroup = chosen(group, positionals);
    files.push(...ofGroup);
    if (positionals.length === 0 && ofGroup.length < group.atLeast) {
      process.stdout.write(
        `✖ ${group.name}: ${ofGroup.length} test files where at least ${group.atLeast} belong\n`,
      );
      add({ passed: 0, failed: 1 });
    }
  }
  const wantsAgent =
    (positionals.length === 0 ? !values.long : positionals.includes("agent")) &&
    !values.except.includes("agent");
  if (wantsAgent) add(await runAgentTests(signal));
  else if (files.length === 0) {
    process.stdout.write(
      `✖ no test file matches ${positionals.join(" ")}; groups: ${groups.map(({ name }) => name).join(", ")}, agent\n`,
    );
    add({ passed: 0, failed: 1 });
  }
  const results = await runFiles({ files, long: values.long, instance, takeDown: down, signal });
  process.stdout.write(`\n${reportOf(results).join("\n")}\n`);
  for (const ofGroup of results.values()) add(sumOf(ofGroup));
  if (signal.aborted) {
    process.stdout.write("✖ the run was ended before its time\n");
    add({ passed: 0, failed: 1 });
  }
  await takeAway?.();
  await down(instance(0));
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
const chosen = (group: Group, words: readonly string[]): readonly TestFile[] => {
  const all = globSync([...group.files], { cwd: root, exclude: ["**/node_modules/**"] }).toSorted();
  const every = words.length === 0 || words.includes(group.name);
  return all
    .filter((file) => every || words.some((word) => file.includes(word)))
    .map((file) => ({
      path: join(root, file),
      group: group.name,
      shared: isShared(readFileSync(join(root, file), "utf8")),
      alone: group.alone?.includes(file) ?? false,
    }));
};

await main();
