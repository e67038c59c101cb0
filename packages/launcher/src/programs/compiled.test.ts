import assert from "node:assert/strict";
import { chmod, copyFile, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { ensureCompiled } from "./compiled.ts";

const user = { uid: 54_321, gid: 54_321 };

const temporary = async (context: TestContext): Promise<string> => {
  const parent = await mkdtemp(join(tmpdir(), "hf-test-compiled-"));
  context.after(() => rm(parent, { recursive: true, force: true }));
  // The program's user passes, as it does through a data directory.
  await chmod(parent, 0o711);
  return parent;
};

/** This Node where the program's user reaches it: it may stand in a directory that is shut to others. */
const ownNode = async (parent: string): Promise<string> => {
  const node = join(parent, "node");
  await copyFile(process.execPath, node);
  return node;
};

test("compiled modules are made once, are named for the program's user, belong to root, and replace older ones", async (context) => {
  const parent = await temporary(context);
  const module = join(parent, "module.ts");
  await writeFile(module, "export const answer: number = 42;\nsetInterval(() => {}, 1000);\n");
  const node = await ownNode(parent);
  const plan = (digest: string) => ({
    name: "control",
    argv: [node],
    user,
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
    assert.equal(uid, 0);
    assert.equal(mode & 0o022, 0, "nobody else writes it");
    assert.equal(mode & 0o004, 0o004, "everybody reads it");
  }
  await mkdir(join(parent, "compiled/.control-cut-short.1"));
  assert.equal(await ensureCompiled(plan("two")), true);
  assert.deepEqual(await readdir(join(parent, "compiled")), ["control-two"]);
});

test("a program's modules are imported as its own user, and what they leave in their place is not taken for a file of theirs", async (context) => {
  const parent = await temporary(context);
  const secret = join(parent, "secret");
  await writeFile(secret, "root's alone", { mode: 0o600 });
  await mkdir(join(parent, "seen"));
  await chmod(join(parent, "seen"), 0o777);
  const module = join(parent, "module.ts");
  await writeFile(
    module,
    `import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
    const cache = process.env["NODE_COMPILE_CACHE"] ?? "";
    writeFileSync(${JSON.stringify(join(parent, "seen/ids"))}, [process.getuid?.(), process.getgid?.(), ...(process.getgroups?.() ?? [])].join(" "));
    for (const own of readdirSync(cache)) {
      symlinkSync(${JSON.stringify(secret)}, cache + "/" + own + "/planted");
      mkdirSync(cache + "/" + own + "/directory");
    }
    symlinkSync(${JSON.stringify(parent)}, cache + "/elsewhere");`,
  );
  const compiled = { directory: join(parent, "compiled/control-x"), modules: [module] };
  await ensureCompiled({ name: "control", argv: [await ownNode(parent)], user, compiled });
  assert.match(await readFile(join(parent, "seen/ids"), "utf8"), /^54321( 54321)+$/);
  const owns = await readdir(compiled.directory);
  assert.equal(owns.length, 1);
  const names = await readdir(join(compiled.directory, owns[0] ?? ""));
  assert.ok(names.length > 0 && !names.includes("planted") && !names.includes("directory"));
  assert.equal((await stat(secret)).mode & 0o777, 0o600);
});

test("a module that cannot be imported fails, and leaves nothing that would be taken for whole", async (context) => {
  const parent = await temporary(context);
  const compiled = { directory: join(parent, "control-x"), modules: [join(parent, "none.ts")] };
  await assert.rejects(
    ensureCompiled({ name: "control", argv: [process.execPath], user: undefined, compiled }),
  );
  await assert.rejects(stat(compiled.directory));
});
