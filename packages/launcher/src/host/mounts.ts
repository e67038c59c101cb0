import { readFile } from "node:fs/promises";

export interface Mount {
  readonly target: string;
  /** Path within the mounted file system that is shown at the target. */
  readonly root: string;
  readonly type: string;
  readonly source: string;
  readonly options: readonly string[];
}

export const readMounts = async (): Promise<readonly Mount[]> =>
  (await readFile("/proc/self/mountinfo", "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map(parseMount);

/** The topmost mount exactly at `path`. */
export const findMount = async (path: string): Promise<Mount | undefined> =>
  (await readMounts()).findLast((mount) => mount.target === path);

const parseMount = (line: string): Mount => {
  const [before = "", after = ""] = line.split(" - ");
  const fields = before.split(" ");
  const [type = "", source = "", superOptions = ""] = after.split(" ");
  return {
    root: decode(fields[3] ?? ""),
    target: decode(fields[4] ?? ""),
    type,
    source: decode(source),
    options: [...(fields[5] ?? "").split(","), ...superOptions.split(",")],
  };
};

/** The kernel writes space, tab, newline and backslash as octal. */
const decode = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_all, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
