import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { pidsOf, run } from "../support/computer.ts";
import type { Assistant } from "../support/instance.ts";
import { until } from "../support/until.ts";
import type { Acknowledged } from "./driver.ts";
import type { Bench } from "./rounds.ts";

/** Looks for everything that was promised, after a round: nothing acknowledged is lost or doubled, no cell ended, nothing is left over. */
export const checkAftermath = async (
  bench: Bench,
  acknowledged: Acknowledged,
  round: number,
): Promise<void> => {
  const [assistant] = bench.assistants;
  assert.ok(assistant);
  const { computer } = bench;
  const lines = await numbersIn(assistant, computer, "/work/lines", round);
  const started = await numbersIn(assistant, computer, "/work/started", round);
  assert.deepEqual(twice(lines), [], "a command ran twice");
  assert.deepEqual(twice(started), [], "a process was started twice");
  assert.deepEqual(
    [...acknowledged.lines].filter((n) => !lines.includes(n)),
    [],
    "acknowledged commands are lost",
  );
  assert.deepEqual(
    [...acknowledged.started].filter((n) => !started.includes(n)),
    [],
    "acknowledged processes are lost",
  );
  assert.deepEqual([...acknowledged.lost], [], "commands are answered as lost though no cell ended");
  const { stdout } = await run(
    assistant,
    computer,
    "cd /work/files && for f in *; do echo $f $(cat $f); done",
  );
  const files = new Map(
    stdout
      .trim()
      .split("\n")
      .map((line) => line.split(" ") as [string, string]),
  );
  for (const n of acknowledged.files) assert.equal(files.get(String(n)), String(n), `file ${n}`);
  for (const [name, content] of files) assert.equal(content, name, `file ${name} is half written`);

  assert.equal(await agentOf(computer), bench.agent, "the cell ended");
  const ticker = await assistant.client.processes.get({ computer, process: bench.ticker });
  assert.equal(ticker.state, "running", "a process of the cell ended");

  const list = await assistant.client.computers.list({ limit: 200 });
  const there = new Map(list.computers.map(({ id, name }) => [id, name]));
  for (const [id, name] of acknowledged.computers)
    assert.equal(there.get(id), name, `computer ${name} is lost`);
  assert.equal(new Set(there.values()).size, there.size, "a name was given twice");
  let left: readonly string[] = [];
  await until(
    "nothing is left of what is not there",
    async () => (left = await bench.instance.leftovers([...there.keys()])).length === 0,
    {
      withinMs: 15_000,
      detail: () => left.join("; "),
    },
  );
  for (const id of there.keys())
    if (id !== computer) await assistant.client.computers.destroy({ computer: id });
};

const numbersIn = async (
  assistant: Assistant,
  computer: string,
  path: string,
  round: number,
): Promise<number[]> => {
  const { stream } = await assistant.client.files.download({ computer, path });
  const numbers = (await new Response(stream).text()).trim().split("\n").map(Number);
  return numbers.filter((n) => Math.floor(n / 100_000) === round);
};

const twice = (numbers: readonly number[]): number[] =>
  numbers.filter((n, index) => numbers.indexOf(n) !== index);

/** The agent's pid with its start time: the same text only while the same process lives. */
export const agentOf = async (computer: string): Promise<string> => {
  const [pid = ""] = await pidsOf(computer);
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return `${pid}@${fields[19]}`;
};
