/**
 * Runs in the guest after the power came back: looks for everything that was acknowledged, and for anything that is there twice or by
 * half. Prints `{"faults": [...], "seen": {...}}`.
 *
 * usage: check-writes.ts <address> <key file> <computer> <file of acknowledged changes>
 */
import { readFile } from "node:fs/promises";
import process from "node:process";
import { createClient, HoldfastApiError } from "@holdfast/sdk";
import { type Acknowledged, acknowledged } from "./acknowledged.ts";

const [address = "", keyFile = "", computer = "", changesFile = ""] = process.argv.slice(2);
const client = createClient({ baseUrl: address, token: (await readFile(keyFile, "utf8")).trim() });
const changes = (await readFile(changesFile, "utf8"))
  .trim()
  .split("\n")
  .map((line) => acknowledged.parse(JSON.parse(line)));
const of = <K extends Acknowledged["kind"]>(kind: K): readonly Extract<Acknowledged, { kind: K }>[] =>
  changes.filter((change): change is Extract<Acknowledged, { kind: K }> => change.kind === kind);

const shell = async (command: string): Promise<string> => {
  const { stdout, process: ran } = await client.processes.exec({ computer, command, wait_ms: 50_000 });
  if (ran.exit_code !== 0) throw new Error(`${command}: ${JSON.stringify(ran)}`);
  return stdout;
};

const files = async (): Promise<readonly string[]> => {
  const listed = await shell("cd /work/files && for f in *; do echo $f $(sort -u $f) $(wc -l < $f); done");
  const there = new Map(
    listed
      .trim()
      .split("\n")
      .map((line) => [line.split(" ")[0], line]),
  );
  return [
    ...of("file")
      .filter(({ n }) => !there.has(String(n)))
      .map(({ n }) => `file ${n} is lost`),
    ...[...there]
      .filter(([name, line]) => line !== `${name} ${name} 500`)
      .map(([, line]) => `a half file: ${line}`),
  ];
};

const lines = async (): Promise<readonly string[]> => {
  const there = (await shell("cat /work/lines")).trim().split("\n").map(Number);
  return [
    ...of("line")
      .filter(({ n }) => !there.includes(n))
      .map(({ n }) => `the command ${n} is lost`),
    ...there.filter((n, index) => there.indexOf(n) !== index).map((n) => `the command ${n} ran twice`),
  ];
};

const processes = async (): Promise<readonly string[]> => {
  const faults: string[] = [];
  for (const { n, id } of of("line")) {
    const now = await client.processes.get({ computer, process: id });
    if (now.state !== "ended" || now.exit_code !== 0) faults.push(`process of ${n}: ${JSON.stringify(now)}`);
  }
  return faults;
};

const computers = async (): Promise<readonly string[]> => {
  const list = (await client.computers.list({ limit: 200 })).computers;
  const leaving = new Set(of("leaving").map(({ id }) => id));
  const destroyed = new Set(of("destroyed").map(({ id }) => id));
  const names = list.map(({ name }) => name);
  return [
    ...of("created")
      .filter(({ id }) => !leaving.has(id) && !list.some((one) => one.id === id && one.state === "awake"))
      .map(({ n, id }) => `computer ${n} (${id}) is not awake`),
    ...list.filter(({ id }) => destroyed.has(id)).map(({ id }) => `${id} was destroyed and is there`),
    ...names.filter((name, index) => names.indexOf(name) !== index).map((name) => `two are called ${name}`),
  ];
};

/** The same request again, as a client sends it that never got its answer: the first result, and nothing done twice. */
const repeats = async (): Promise<readonly string[]> => {
  const faults: string[] = [];
  for (const { n, id } of of("line").slice(-4)) {
    const command = `echo ${n} >> /work/lines && sync /work/lines`;
    const again = await client.processes.exec(
      { computer, command, wait_ms: 50_000 },
      { idempotencyKey: `power-${n}` },
    );
    if (again.process.id !== id) faults.push(`the command ${n} repeated is ${again.process.id}, not ${id}`);
  }
  const gone = new Set(of("leaving").map(({ id }) => id));
  for (const { n, id } of of("created")
    .filter((made) => !gone.has(made.id))
    .slice(-2)) {
    const again = await client.computers
      .create({ name: `power-${n}`, wait_ms: 50_000 }, { idempotencyKey: `made-${n}` })
      .catch((error: unknown) => error);
    if (again instanceof HoldfastApiError) faults.push(`computer ${n} repeated: ${again.code}`);
    else if ((again as { readonly id: string }).id !== id)
      faults.push(`computer ${n} repeated is another one`);
  }
  return faults;
};

const faults = [
  ...(await files()),
  ...(await lines()),
  ...(await processes()),
  ...(await computers()),
  ...(await repeats()),
  ...(await lines()),
];
const seen = Object.fromEntries(
  (["file", "line", "created", "destroyed"] as const).map((kind) => [kind, of(kind).length]),
);
process.stdout.write(`${JSON.stringify({ faults, seen })}\n`);
