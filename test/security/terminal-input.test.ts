import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { createComputer } from "../support/computer.ts";
import { residentBytes } from "../support/memory.ts";
import { until } from "../support/until.ts";
import { useAssistant } from "../support/use.ts";

const { instance, assistant } = await useAssistant();

const mebibyte = 1024 * 1024;

/** A process on a terminal that changes no byte of what is typed; answers its id once that holds. */
const rawTerminal = async (computer: string, command: string): Promise<string> => {
  const { processes } = assistant.client;
  const { id } = await processes.start({
    computer,
    command: `stty raw -echo; echo ready; ${command}`,
    terminal: { columns: 80, rows: 24 },
  });
  await until("the terminal is raw", async () =>
    (await processes.output({ computer, process: id })).stdout.includes("ready"),
  );
  return id;
};

test("terminals whose process reads nothing hold little of what is typed into them", async () => {
  const { client } = assistant;
  const computer = await createComputer(assistant);
  const id = await rawTerminal(computer, "exec sleep 60");
  const control = (await instance.programs())["control"]?.pid ?? 0;
  const before = await residentBytes(control);
  const attachments = await Promise.all(
    Array.from({ length: 6 }, () => client.processes.attach({ computer, process: id })),
  );
  const piece = new Uint8Array(mebibyte);
  for (const attachment of attachments) for (let sent = 0; sent < 40; sent += 1) attachment.write(piece);
  let unsent = -1;
  let still = 0;
  // Until nothing has moved for some looks: what has left by then is what control and the kernel hold.
  await until("input stalls", () => {
    const now = attachments.reduce((sum, attachment) => sum + attachment.unsentBytes, 0);
    still = now === unsent ? still + 1 : 0;
    unsent = now;
    return still >= 15;
  });
  const grown = (await residentBytes(control)) - before;
  assert.ok(grown < 80 * mebibyte, `control grew by ${Math.round(grown / mebibyte)} MiB`);
  for (const attachment of attachments) attachment.close();
  await client.computers.destroy({ computer });
});

test("what is typed faster than it is read arrives whole once it is read", async () => {
  const { client } = assistant;
  const computer = await createComputer(assistant);
  const id = await rawTerminal(computer, "sleep 1; head -c 4194304 | sha256sum");
  const attachment = await client.processes.attach({ computer, process: id });
  const typed = Buffer.alloc(4 * mebibyte, "what is typed ");
  for (let at = 0; at < typed.length; at += 100_000) attachment.write(typed.subarray(at, at + 100_000));
  assert.equal((await attachment.ended)?.exit_code, 0);
  const { stdout } = await client.processes.output({ computer, process: id });
  assert.ok(stdout.includes(createHash("sha256").update(typed).digest("hex")), stdout);
  await client.computers.destroy({ computer });
});
