import { spawnSync } from "node:child_process";
import { chmod, copyFile, cp, mkdir, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { command } from "@holdfast/launcher";
import { root } from "../../tools/node24.mjs";
import { readRecipe } from "../../tools/setup/image/recipe.ts";
import { ensureAgent } from "../../tools/setup/steps/agent.ts";
import { ensureArchive } from "../../tools/setup/steps/image.ts";
import type { GuestBase } from "./guest-base.ts";

const guestFiles = join(import.meta.dirname, "guest");

/** Where the clone stands in the guest: in root's home, which the programs' users cannot read. */
export const cloneInGuest = "/root/holdfast";

/**
 * The disk of one run: a copy of the base with the committed tree, its installed packages, the built agent and the packed base image put
 * in place, because the guest has no network and no compiler. Answers the commit.
 */
export const makeDisk = async (
  base: GuestBase,
  directory: string,
  note: (text: string) => void,
): Promise<{ readonly disk: string; readonly commit: string; readonly uncommitted: number }> => {
  const disk = join(directory, "disk.img");
  const stage = join(directory, "stage");
  const clone = join(stage, cloneInGuest);
  await mkdir(clone, { recursive: true, mode: 0o755 });
  await chmod(join(stage, "root"), 0o700);
  const commit = git("rev-parse", "HEAD");
  note("the tree");
  const tree = join(directory, "tree.tar");
  git("archive", "--format=tar", `--output=${tree}`, commit);
  await command(["tar", "--extract", "--file", tree, "--directory", clone]);
  await rm(tree);
  await cp(join(root, "node_modules"), join(clone, "node_modules"), {
    recursive: true,
    verbatimSymlinks: true,
  });
  const { value: agent } = await ensureAgent(clone, note);
  const archive = await ensureArchive(await readRecipe(clone, "base"), clone, note);
  for (const file of [agent, archive]) {
    await mkdir(dirname(join(stage, file)), { recursive: true, mode: 0o755 });
    await copyFile(file, join(stage, file));
  }
  await placeHand(stage);
  note("the disk");
  await command(["cp", "--sparse=always", "--reflink=auto", base.disk, disk]);
  const point = join(directory, "mnt");
  await mkdir(point);
  await command([
    "unshare",
    "--mount",
    "--propagation",
    "private",
    join(guestFiles, "fill.sh"),
    disk,
    point,
    stage,
  ]);
  await rm(stage, { recursive: true });
  return { disk, commit, uncommitted: git("status", "--porcelain").split("\n").filter(Boolean).length };
};

/** What the test speaks to in the guest; see `hand.ts`. */
const placeHand = async (stage: string): Promise<void> => {
  const units = join(stage, "etc/systemd/system");
  const unit = "holdfast-test.service";
  const programs = join(stage, "usr/local/lib/holdfast-test");
  for (const directory of [join(units, "multi-user.target.wants"), programs])
    await mkdir(directory, { recursive: true, mode: 0o755 });
  await copyFile(join(guestFiles, unit), join(units, unit));
  await symlink(`../${unit}`, join(units, "multi-user.target.wants", unit));
  await copyFile(join(guestFiles, "hand.mjs"), join(programs, "hand.mjs"));
};

const git = (...argv: readonly string[]): string => {
  const { status, stdout, stderr } = spawnSync("git", argv, { cwd: root, encoding: "utf8" });
  if (status !== 0)
    throw new Error(
      `git ${argv[0]} failed in ${basename(root)}: ${stderr.trim()}. The committed tree is tested.`,
    );
  return stdout.trim();
};
