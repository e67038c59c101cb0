/**
 * Runs in the guest until the power goes: changes of every kind that Holdfast acknowledges, each said on standard output only once it is
 * acknowledged, one JSON object a line. The reader keeps them outside the guest.
 *
 * usage: writes.ts <address> <key file> <computer>
 */
import { readFile } from "node:fs/promises";
import process from "node:process";
import { createClient } from "@holdfast/sdk";
import type { Acknowledged } from "./acknowledged.ts";

const [address = "", keyFile = "", computer = ""] = process.argv.slice(2);
const client = createClient({ baseUrl: address, token: (await readFile(keyFile, "utf8")).trim() });

const say = (done: Acknowledged): void => {
  process.stdout.write(`${JSON.stringify(done)}\n`);
};

const operate = async (n: number): Promise<void> => {
  const options = { idempotencyKey: `power-${n}` };
  if (n % 2 === 0) {
    await client.files.write({ computer, path: `/work/files/${n}`, content: `${n}\n`.repeat(500) });
    say({ kind: "file", n });
  } else {
    // A command's own writes are as durable as it makes them, as on any computer.
    const command = `echo ${n} >> /work/lines && sync /work/lines`;
    const { process: ran } = await client.processes.exec({ computer, command, wait_ms: 50_000 }, options);
    if (ran.exit_code !== 0) throw new Error(`${n}: ${JSON.stringify(ran)}`);
    say({ kind: "line", n, id: ran.id });
  }
};

let next = 0;
const work = async (): Promise<void> => {
  for (;;) {
    next += 1;
    await operate(next);
  }
};

/** One at a time, each destroyed once the next is there: the assistant's ceiling leaves room for two. */
const makeComputers = async (): Promise<void> => {
  let before: { readonly n: number; readonly id: string } | undefined;
  for (let n = 1; ; n += 1) {
    const name = `power-${n}`;
    const { id } = await client.computers.create({ name, wait_ms: 50_000 }, { idempotencyKey: `made-${n}` });
    say({ kind: "created", n, id });
    if (before) {
      say({ kind: "leaving", ...before });
      await client.computers.destroy({ computer: before.id });
      say({ kind: "destroyed", ...before });
    }
    before = { n, id };
  }
};

// Room below the ceiling: of the computers that are there only the one that is written to is needed from here on.
for (const { id, name } of (await client.computers.list({ limit: 200 })).computers)
  if (name !== computer) await client.computers.destroy({ computer: id });
await client.processes.exec({ computer, command: "mkdir -p /work/files", wait_ms: 50_000 });
await Promise.all([work(), work(), makeComputers()]);
