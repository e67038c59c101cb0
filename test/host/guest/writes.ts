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
  if (n % 6 === 3) {
    const made = await client.computers.create({ name: `power-${n}`, wait_ms: 50_000 }, options);
    say({ kind: "created", n, id: made.id });
    if (n % 12 !== 3) return;
    await client.computers.destroy({ computer: made.id });
    say({ kind: "destroyed", n, id: made.id });
  } else if (n % 2 === 0) {
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
await Promise.all([work(), work(), work()]);
