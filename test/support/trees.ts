import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Request } from "../../packages/control/src/throwaway/tool/request.ts";

const tool = fileURLToPath(new URL("../../packages/control/src/throwaway/tool/main.ts", import.meta.url));

/** A tree as a throwaway cell is shown it: `changes` over an image, `root` as a cell would see the two, and `work`. */
export interface TestTree {
  readonly path: string;
  readonly work: string;
  readonly changes: string;
  /** Makes `root` of the image and the changes; directories of the changes in `replaced` hide what the image has in them. */
  merge(replaced?: readonly string[]): void;
}

/** An image of a few files: enough to delete, replace and add to. */
export const makeImage = (path: string): string => {
  for (const directory of ["etc", "usr/bin", "usr/lib/x", "opt/gone/deep", "work", "var/lib"])
    mkdirSync(join(path, directory), { recursive: true });
  for (const file of ["etc/passwd", "etc/old", "usr/bin/a", "usr/bin/b", "usr/lib/x/1", "usr/lib/x/2"])
    writeFileSync(join(path, file), `${file} of the image\n`);
  writeFileSync(join(path, "opt/gone/deep/f"), "gone\n");
  return path;
};

export const makeTree = (path: string, image: string): TestTree => {
  const [work, changes, root] = [join(path, "work"), join(path, "changes"), join(path, "root")];
  for (const directory of [work, changes]) mkdirSync(directory, { recursive: true });
  return {
    path,
    work,
    changes,
    merge: (replaced = []) => {
      rmSync(root, { recursive: true, force: true });
      copy(image, root);
      overlay(changes, root, "", new Set(replaced));
    },
  };
};

/** As `cp -a` does: links stay links, and so do owners, times and holes. */
export const copy = (from: string, to: string): void => {
  must("cp", ["-a", "--sparse=auto", "-T", from, to]);
};

/** A name that was deleted from the image, as it stands in the changes. */
export const whiteout = (path: string): void => must("mknod", [path, "c", "0", "0"]);

export const must = (command: string, args: readonly string[], input?: Buffer): void => {
  const { status, stderr } = spawnSync(command, args, { ...(input && { input }) });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr.toString()}`);
};

const overlay = (changes: string, root: string, path: string, replaced: ReadonlySet<string>): void => {
  if (replaced.has(path))
    for (const name of readdirSync(join(root, path))) rmSync(join(root, path, name), { recursive: true });
  for (const name of readdirSync(join(changes, path), { encoding: "latin1" })) {
    const below = path === "" ? name : `${path}/${name}`;
    const [from, to] = [raw(join(changes, below)), raw(join(root, below))];
    const facts = lstatSync(from);
    const there = lstatSync(to, { throwIfNoEntry: false });
    if (facts.isCharacterDevice()) rmSync(to, { recursive: true, force: true });
    else if (facts.isDirectory() && there?.isDirectory()) overlay(changes, root, below, replaced);
    else {
      rmSync(to, { recursive: true, force: true });
      if (facts.isDirectory()) {
        mkdirSync(to);
        overlay(changes, root, below, replaced);
      } else copy(from.toString(), to.toString());
    }
  }
};

const raw = (path: string): Buffer => Buffer.from(path, "latin1");

export interface Said {
  /** The last line; undefined when the tool failed. */
  readonly answer: unknown;
  readonly lines: readonly string[];
  readonly code: number | null;
  readonly stderr: string;
}

/** Runs the tool as a cell would. `input` is written to it at once, or as `respond` answers its lines. */
export const runTool = async (
  request: Request,
  directory: string,
  options: { readonly input?: Buffer; readonly respond?: (line: string) => Buffer | undefined } = {},
): Promise<Said> => {
  const file = join(directory, `request-${createHash("md5").update(JSON.stringify(request)).digest("hex")}`);
  writeFileSync(file, JSON.stringify(request));
  const child = spawn(process.execPath, [tool, file], { stdio: ["pipe", "pipe", "pipe"] });
  const lines: string[] = [];
  let [rest, stderr] = ["", ""];
  child.stdin.on("error", () => {});
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const line of parts) {
      lines.push(line);
      const reply = options.respond?.(line);
      if (reply) child.stdin.write(reply);
    }
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  if (!options.respond) child.stdin.end(options.input ?? Buffer.alloc(0));
  const [code] = (await once(child, "close")) as [number | null];
  const last = lines.at(-1);
  return { answer: code === 0 && last !== undefined ? JSON.parse(last) : undefined, lines, code, stderr };
};

/** One line for each node: all that a copy of it must have too. Names as they are, bytes as hexadecimal where they are no text. */
export const listing = (root: string, leave: readonly string[] = []): readonly string[] => {
  const lines: string[] = [];
  const first = new Map<bigint, string>();
  const visit = (path: string): void => {
    const place = Buffer.concat([Buffer.from(`${root}/`), raw(path)]);
    const facts = lstatSync(place, { bigint: true });
    const shared = facts.nlink > 1n && facts.isFile() ? first.get(facts.ino) : undefined;
    if (facts.isFile()) first.set(facts.ino, path);
    const what = facts.isFile()
      ? `${createHash("sha256").update(readFileSync(place)).digest("hex").slice(0, 16)} ${facts.size} ${facts.blocks * 512n < facts.size ? "holes" : ""}`
      : facts.isSymbolicLink()
        ? `-> ${readlinkSync(place, "latin1")}`
        : "";
    const mtime = facts.isSymbolicLink() ? "" : facts.mtimeNs;
    lines.push(
      `${JSON.stringify(path)} ${facts.mode.toString(8)} ${facts.uid}:${facts.gid} ${mtime} ${what} ${shared === undefined ? "" : `= ${shared}`}`,
    );
    if (facts.isDirectory()) below(path);
  };
  const below = (path: string): void => {
    const place = path === "" ? Buffer.from(root) : Buffer.concat([Buffer.from(`${root}/`), raw(path)]);
    for (const name of readdirSync(place, { encoding: "latin1" }).sort()) {
      const child = path === "" ? name : `${path}/${name}`;
      if (!leave.includes(child)) visit(child);
    }
  };
  below("");
  return lines;
};
