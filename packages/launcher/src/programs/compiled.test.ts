import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ensureCompiled } from "./compiled.ts";

test("compiled modules are made once, are named for the program's user, belong to who made them, and replace older ones", async (context) => {
  const parent = await mkdtemp(join(tmpdir(), "hf-test-compiled-"));
  context.after(() => rm(parent, { recursive: true, force: true }));
  const module = join(parent, "module.ts");
  await writeFile(module, "export const answer: number = 42;\nsetInterval(() => {}, 1000);\n");
  const plan = (digest: string) => ({
    name: "control",
    argv: [process.execPath],
    user: { uid: 54_321, gid: 54_321 },
    compiled: { directory: join(parent, "compiled", `control-${digest}`), modules: [module] },
  });
  assert.equal(await ensureCompiled(plan("one")), true);
  assert.equal(await ensureCompiled(plan("one")), false);
  const [own = ""] = await readdir(join(parent, "compiled/control-one"));
  assert.match(own, /-54321$/);
  const files = await readdir(join(parent, "compiled/control-one", own));
  assert.ok(files.length > 0);
  for (const path of [".", own, ...files.map((file) => join(own, file))]) {
    const { uid, mode } = await stat(join(parent, "compiled/control-one", path));
    assert.equal(uid, process.getuid?.());
    assert.equal(mode & 0o022, 0, "nobody else writes it");
    assert.equal(mode & 0o004, 0o004, "everybody reads it");
  }
  await mkdir(join(parent, "compiled/.control-cut-short.1"));
  assert.equal(await ensureCompiled(plan("two")), true);
  assert.deepEqual(await readdir(join(parent, "compiled")), ["control-two"]);
});

test("a module that cannot be imported fails, and leaves nothing that would be taken for whole", async (context) => {
  const parent = await mkdtemp(join(tmpdir(), "hf-test-compiled-"));
  context.after(() => rm(parent, { recursive: true, force: true }));
  const compiled = { directory: join(parent, "control-x"), modules: [join(parent, "none.ts")] };
  await assert.rejects(
    ensureCompiled({ name: "control", argv: [process.execPath], user: undefined, compiled }),
  );
  await assert.rejects(stat(compiled.directory));
});
