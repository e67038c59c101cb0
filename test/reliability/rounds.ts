import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after } from "node:test";
import { createComputer, run } from "../support/computer.ts";
import { type Assistant, type Instance, usePrivateInstance } from "../support/instance.ts";
import { temporaryDirectory } from "../support/temporary.ts";
import { hangMs, until } from "../support/until.ts";
import { visit } from "../support/visit.ts";
import { agentOf, checkAftermath } from "./aftermath.ts";
import { startDriver } from "./driver.ts";
import { say } from "./say.ts";
import { describe, type Program, type Strike } from "./strikes.ts";

export interface Bench {
  readonly instance: Instance;
  readonly assistants: readonly Assistant[];
  /** A computer that every round works on; neither it nor its `ticker` may ever end. */
  readonly computer: string;
  readonly ticker: string;
  /** Slug of a published project on it, whose page says its name. */
  readonly project: string;
  readonly agent: string;
  readonly files: Readonly<Record<Program, string>>;
  /** Of each strike: from the kill until everything served again. */
  readonly tookMs: number[];
}

/** Files into which a strike at a named point is written, and the environment that tells the programs of them. */
export const crashFiles = (label: string) => {
  const { path: directory, remove } = temporaryDirectory(label);
  after(remove);
  chmodSync(directory, 0o755);
  const files = {
    control: join(directory, "control"),
    supervisor: join(directory, "supervisor"),
    launcher: join(directory, "launcher"),
  };
  for (const file of Object.values(files)) {
    writeFileSync(file, "");
    // Control is not root; it takes its own point out.
    chmodSync(file, 0o666);
  }
  const environment = {
    HOLDFAST_CRASH_FILE_CONTROL: files.control,
    HOLDFAST_CRASH_FILE_SUPERVISOR: files.supervisor,
    HOLDFAST_CRASH_FILE_LAUNCHER: files.launcher,
  };
  return { files, environment };
};

/** An instance of the file's own that is kept up, with a computer to work on. Await it at the top of a file. */
export const useBench = async (label: string): Promise<Bench> => {
  const { files, environment } = crashFiles(label);
  const instance = await usePrivateInstance(label, environment);
  const first = await instance.assistant();
  const computer = await createComputer(first);
  // Several clients of one assistant: each may see the computer.
  const assistants = [first, first, first, first];
  await run(first, computer, "mkdir -p /work/files");
  const ticker = await first.client.processes.start({
    computer,
    command: "trap '' HUP; while :; do date +%s%N > /work/tick; sleep 0.2; done",
  });
  const project = await publishPage(instance, first, computer);
  instance.keepUp();
  const agent = await agentOf(computer);
  return { instance, files, assistants, computer, ticker: ticker.id, project, agent, tookMs: [] };
};

const page = "the page of the bench";

const publishPage = async (instance: Instance, assistant: Assistant, computer: string): Promise<string> => {
  const { slug, folder, version } = await assistant.client.projects.create({ computer, name: "page" });
  await run(assistant, computer, `mkdir ${folder}/site && echo ${page} > ${folder}/site/index.html`);
  const argv = ["python3", "-m", "http.server", "--bind", "127.0.0.1", "--directory", "site", "$PORT"];
  const web = { name: "web", argv: ["sh", "-c", `exec ${argv.join(" ")}`] };
  await assistant.client.projects.update({
    project: slug,
    definition: { services: [web], web: "web" },
    if_match: version,
  });
  await assistant.client.projects.deploy({ project: slug });
  await (await instance.owner()).projects.publish({ project: slug });
  return slug;
};

/** How often a strike is tried at a point that the load does not come by in every round. */
const mostTries = 3;

/** Each strike in a round of its own. Throws at the first that never falls: a round without its strike shows nothing. */
export const playRounds = async (bench: Bench, strikes: readonly Strike[]): Promise<void> => {
  let round = 0;
  for (const strike of strikes) {
    let fell = false;
    for (let tries = 0; !fell && tries < mostTries; tries += 1) {
      round += 1;
      fell = await playRound(bench, round, strike);
    }
    assert.ok(fell, `${describe(strike)}: not reached in ${mostTries} rounds`);
  }
  say(summary(bench));
};

/** One round: load, a strike in the middle of it, recovery, and then everything that was promised is looked for. Whether the strike fell. */
const playRound = async (bench: Bench, round: number, strike: Strike): Promise<boolean> => {
  const driver = startDriver(bench.assistants, bench.computer, round);
  await until("the load runs", () => driver.count() >= 5, { withinMs: 20_000 });
  const tookMs = strike.kind === "kill" ? await kill(bench, driver, strike) : await crash(bench, strike);
  if (tookMs !== undefined) bench.tookMs.push(tookMs);
  say(
    `round ${round}: ${describe(strike)}: ${tookMs === undefined ? "not reached" : `serving again after ${Math.round(tookMs)} ms`}`,
  );
  const acknowledged = await driver.finish();
  say(
    `round ${round}: ${acknowledged.lines.size + acknowledged.started.size + acknowledged.files.size} acknowledged, ${acknowledged.repeated} repeated, ${acknowledged.lost.size} never begun`,
  );
  await checkAftermath(bench, acknowledged, round);
  return tookMs !== undefined;
};

const kill = async (
  bench: Bench,
  driver: { readonly count: () => number },
  strike: Extract<Strike, { kind: "kill" }>,
): Promise<number> => {
  const programs = await bench.instance.programs();
  await until("further operations", () => driver.count() >= strike.afterOperations, { withinMs: 20_000 });
  const pids = strike.programs.map((name) => programs[name]?.pid);
  for (const pid of pids) {
    assert.ok(pid, `one of ${strike.programs.join(", ")} does not run`);
    process.kill(pid, "SIGKILL");
  }
  const begin = performance.now();
  await serving(bench);
  return performance.now() - begin;
};

/** Undefined when the load did not come by that point. */
const crash = async (
  bench: Bench,
  strike: Extract<Strike, { kind: "point" }>,
): Promise<number | undefined> => {
  const file = bench.files[strike.program];
  await writeFile(file, strike.point);
  // The launcher passes its points only when there is something to do for it: when it starts, or a program does.
  if (strike.program === "launcher") {
    const programs = await bench.instance.programs();
    const victim = strike.point.startsWith("launcher-") ? programs["launcher"] : programs["control"];
    assert.ok(victim?.pid);
    process.kill(victim.pid, "SIGKILL");
  }
  // The point is taken out by the program that dies there.
  const died = await until("it dies there", async () => (await readFile(file, "utf8")) === "", {
    withinMs: 15_000,
  }).then(
    () => true,
    () => false,
  );
  const begin = performance.now();
  await writeFile(file, "");
  await serving(bench);
  return died ? performance.now() - begin : undefined;
};

const summary = ({ tookMs }: Bench): string => {
  const sorted = tookMs.map(Math.round).sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return `serving again after ${sorted.length} strikes: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, max ${at(1)} ms`;
};

/** What needs every program: a new computer, a command in the one that was there before, and a visit to its page. */
const serving = async ({ assistants, computer, instance, project }: Bench): Promise<void> => {
  const once = assistants[0]?.once;
  assert.ok(once);
  let last = "";
  await until(
    "it serves again",
    async () => {
      try {
        const made = await once.computers.create({ name: `probe-${randomBytes(5).toString("hex")}` });
        const result = await once.processes.exec({ computer, argv: ["true"] });
        const { status, body } = await visit(instance, project);
        last = `the page: ${status} ${body}`;
        return made.state === "awake" && result.process.exit_code === 0 && body === `${page}\n`;
      } catch (error) {
        last = String(error);
        return false;
      }
    },
    { withinMs: hangMs, detail: () => last },
  );
};
