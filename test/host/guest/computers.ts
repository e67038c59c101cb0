/**
 * Runs in the guest, before and after the host's reboot. `make`: computers in every state that outlasts a host. `look`: what each is and
 * holds now. Prints one JSON object.
 *
 * usage: computers.ts <address> <key file> make|look
 */
import { readFile } from "node:fs/promises";
import process from "node:process";
import { createClient } from "@holdfast/sdk";

const [address = "", keyFile = "", verb = ""] = process.argv.slice(2);
const client = createClient({ baseUrl: address, token: (await readFile(keyFile, "utf8")).trim() });
const path = "/work/note.txt";

const make = async (): Promise<void> => {
  for (const name of ["box", "sleeper", "resting"]) {
    await client.computers.create({ name, wait_ms: 50_000 });
    await client.files.write({ computer: name, path, content: `kept in ${name}` });
  }
  await client.services.create({
    computer: "box",
    name: "web",
    port: 8080,
    command: "python3 -m http.server 8080 --directory /work",
    wait_ms: 50_000,
  });
  await client.computers.sleep({ computer: "sleeper", wait_ms: 50_000 });
  await client.computers.stop({ computer: "resting", wait_ms: 50_000 });
};

/** Without the service's answer when there is none within a minute. */
const answerOfService = async (): Promise<string> => {
  const { stdout } = await client.processes.exec({
    computer: "box",
    command: `for i in $(seq 60); do curl -sS --max-time 10 http://127.0.0.1:8080/note.txt && exit; sleep 1; done`,
    wait_ms: 50_000,
  });
  return stdout;
};

if (verb === "make") await make();
const { computers } = await client.computers.list({ limit: 200 });
const seen = computers
  .map(({ id, name, state }) => `${name} ${id} ${state}`)
  .toSorted((a, b) => a.localeCompare(b));
const service = await answerOfService();
const notes: Record<string, string> = {};
// Looked at last: reading wakes the ones that sleep or are stopped.
if (verb === "look")
  for (const name of ["box", "sleeper", "resting"])
    notes[name] = (await client.files.read({ computer: name, path })).content;
process.stdout.write(`${JSON.stringify({ computers: seen, service, notes })}\n`);
