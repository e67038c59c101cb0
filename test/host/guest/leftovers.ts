/** Runs in the guest: prints what is on the host and belongs to none of the computers that are there, as a JSON list. */
import { readFile } from "node:fs/promises";
import process from "node:process";
import { createClient } from "@holdfast/sdk";
import { leftovers } from "../../support/leaks.ts";

const data = "/var/lib/holdfast";
const settings = JSON.parse(await readFile(`${data}/instance.json`, "utf8")) as {
  readonly instance: string;
  readonly short_id: string;
  readonly uid_base: number;
  readonly uid_count: number;
  readonly listen: readonly string[];
};
const token = (await readFile(`${data}/assistant-key`, "utf8")).trim();
const client = createClient({ baseUrl: `http://${settings.listen[0]}`, token });
const { computers } = await client.computers.list({ limit: 200 });
const left = await leftovers(
  {
    instance: settings.instance,
    shortId: settings.short_id,
    pool: `${data}/pool/fs`,
    run: `/run/holdfast/${settings.instance}`,
    uidBase: settings.uid_base,
    uidCount: settings.uid_count,
  },
  { computers: computers.map(({ id }) => id) },
);
process.stdout.write(`${JSON.stringify(left)}\n`);
