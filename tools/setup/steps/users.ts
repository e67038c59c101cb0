import { appendFile, readFile } from "node:fs/promises";
import {
  command,
  imageBuilderRange,
  overlaps,
  readTakenRanges,
  tryCommand,
  userNames,
} from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";

/** The programs' users, without home, shell or password, and the subordinate ids of the one that builds images. */
export const ensureUsers = async (): Promise<StepResult<void>> => {
  const made: string[] = [];
  for (const name of Object.values(userNames)) {
    if ((await tryCommand(["getent", "passwd", name])).status === 0) continue;
    await command([
      "useradd",
      "--system",
      "--user-group",
      "--no-create-home",
      "--home-dir",
      "/nonexistent",
      "--shell",
      "/usr/sbin/nologin",
      name,
    ]);
    made.push(name);
  }
  if (await ensureSubordinateIds(userNames.image)) made.push("subordinate ids");
  return made.length === 0
    ? { outcome: "skipped", detail: Object.values(userNames).join(", "), value: undefined }
    : { outcome: "done", detail: `made ${made.join(", ")}`, value: undefined };
};

/** Whether lines had to be added to /etc/subuid and /etc/subgid. */
const ensureSubordinateIds = async (name: string): Promise<boolean> => {
  let added = false;
  for (const path of ["/etc/subuid", "/etc/subgid"]) {
    const text = await readFile(path, "utf8").catch(() => "");
    if (text.split("\n").some((line) => line.startsWith(`${name}:`))) continue;
    const own = `${name}:${imageBuilderRange.base}:${imageBuilderRange.count}`;
    const taken = (await readTakenRanges()).filter((range) => range.base !== imageBuilderRange.base);
    if (taken.some((range) => overlaps(range, imageBuilderRange))) {
      throw new Error(
        `Ids ${imageBuilderRange.base} and up are taken on this host. Give ${name} 65,536 others: add a line like ` +
          `\`${name}:<first>:65536\` to ${path} and run this again.`,
      );
    }
    await appendFile(path, `${text === "" || text.endsWith("\n") ? "" : "\n"}${own}\n`);
    added = true;
  }
  return added;
};
