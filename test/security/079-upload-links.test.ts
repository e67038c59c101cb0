import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createCliUser } from "../support/cli.ts";
import { createComputer, run } from "../support/computer.ts";
import { useInstance } from "../support/instance.ts";

const instance = await useInstance();

test("79: an upload never follows links of the caller's tree", async (context) => {
  const assistant = await instance.assistant();
  const computer = await createComputer(assistant);
  const user = await createCliUser(context, instance.url, assistant.secret);
  const tree = join(user.home, "tree");
  await mkdir(join(tree, "inside"), { recursive: true });
  await writeFile(join(user.home, "secret.txt"), "a secret of the caller's");
  await writeFile(join(tree, "inside/plain.txt"), "plain");
  await symlink("../secret.txt", join(tree, "inside/relative"));
  await symlink(join(user.home, "secret.txt"), join(tree, "absolute"));
  await symlink("inside", join(tree, "folder"));
  await symlink(tree, join(user.home, "tree-link"));
  await symlink(join(user.home, "secret.txt"), join(user.home, "file-link"));

  for (const given of ["tree-link", "tree-link/", "file-link"]) {
    const refused = await user.run(["files", "upload", computer, join(user.home, given), "/work/refused"]);
    assert.equal(refused.code, 1, given);
    assert.match(refused.stderr, /do not follow links/, given);
  }

  const sent = await user.run(["files", "upload", computer, tree, "/work/tree"]);
  // Links that lead out of the archive may be refused as a whole; what must not happen is that their targets arrive.
  if (sent.code !== 0) assert.match(sent.stderr, /archive/i);
  const found = await run(
    assistant,
    computer,
    "grep -rl 'secret of the caller' /work -s; find /work -type f",
  );
  assert.ok(!found.stdout.includes("secret"), found.stdout);
  if (sent.code === 0) {
    const links = await run(
      assistant,
      computer,
      "cd /work/tree && for f in absolute folder inside/relative; do test -L $f && echo link; done; cat inside/plain.txt",
    );
    assert.equal(links.stdout, "link\nlink\nlink\nplain");
  }
});

test("79: a link that takes the place of a directory while it is read is not followed", {
  timeout: 60_000,
}, async (context) => {
  const assistant = await instance.assistant();
  const computer = await createComputer(assistant);
  const user = await createCliUser(context, instance.url, assistant.secret);
  const tree = join(user.home, "tree");
  await mkdir(join(user.home, "private"), { recursive: true });
  await writeFile(join(user.home, "private/file"), "a secret of the caller's");
  await mkdir(tree);
  await writeFile(
    join(user.home, "flip.sh"),
    `cd ${tree}; while true; do rm -rf d; mkdir d; echo plain > d/file; rm -rf d; ln -s ../private d; rm d; done`,
  );
  const flipping = spawn("sh", [join(user.home, "flip.sh")], { stdio: "ignore" });
  try {
    // Uploads of a tree in motion may fail; what must not happen is that the link's target arrives.
    for (let round = 0; round < 12; round += 1)
      await user.run(["files", "upload", computer, tree, `/work/round-${round}`]);
  } finally {
    flipping.kill("SIGKILL");
  }
  const found = await run(assistant, computer, "grep -rl 'secret of the caller' /work -s; true");
  assert.equal(found.stdout, "");
});
