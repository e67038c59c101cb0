import { mkdir, readFile, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { command, tryCommand } from "@holdfast/launcher";
import { pinnedNode, root } from "../../node24.mjs";
import type { HostArguments } from "../arguments.ts";
import { findInstance } from "../find-instance.ts";
import { unitName, unitText } from "../units/unit.ts";

const systemUnits = "/etc/systemd/system";

/**
 * Writes the systemd unit of an instance that exists, has systemd check it, and enables it where systemd runs this host. With
 * `--output` only writes and checks.
 */
export const install = async (options: HostArguments): Promise<number> => {
  const settings = await findInstance(options);
  if (!settings) return 1;
  const directory = options.output ?? systemUnits;
  const path = join(directory, unitName(settings.instance));
  const text = unitText({
    instance: settings.instance,
    data: settings.data,
    node: pinnedNode,
    entry: join(root, "bin/holdfast.mjs"),
  });
  if (/\s/.test(root))
    throw new Error(`systemd units cannot name a program tree with spaces in its path: ${root}`);
  await mkdir(directory, { recursive: true });
  const changed = (await readFile(path, "utf8").catch(() => "")) !== text;
  if (changed) await writeFile(path, text, { mode: 0o644 });
  process.stdout.write(`${changed ? "wrote  " : "skipped"}  ${path}\n`);
  process.stdout.write(`${await verify(path)}\n`);
  if (options.output !== undefined) return 0;
  if (!existsSync("/run/systemd/system")) {
    process.stdout.write("skipped  systemd does not run this host; the unit is there for when it does\n");
    return 0;
  }
  await command(["systemctl", "daemon-reload"]);
  await command(["systemctl", "enable", unitName(settings.instance)]);
  process.stdout.write(`enabled  ${unitName(settings.instance)}: the instance comes up with the host\n`);
  return 0;
};

/** Throws with what systemd found; says so where its tool is missing. */
const verify = async (path: string): Promise<string> => {
  const result = await tryCommand(["systemd-analyze", "verify", "--man=no", path]).catch(() => undefined);
  if (!result) return "skipped  not verified: systemd-analyze is not installed (Debian's package systemd)";
  // Without a running systemd the tool also tells about units of the host; ours decide.
  const ours = `${result.stdout}${result.stderr}`.split("\n").filter((line) => line.includes("holdfast"));
  if (result.status !== 0 || ours.length > 0)
    throw new Error(
      `systemd-analyze verify ${path} (status ${result.status}):\n${ours.join("\n") || result.stderr}`,
    );
  return "verified with systemd-analyze verify";
};
