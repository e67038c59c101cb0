import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createCliUser } from "../support/cli.ts";
import { call, passphrase, startControl } from "../support/control.ts";
import { usePostgres } from "../support/postgres.ts";

const postgres = usePostgres();

/**
 * An assistant that runs as the user of the command line reads everything this user can: nothing of it makes it an owner without the
 * passphrase.
 */
test("132: nothing the command line leaves behind opens an owner's door", async (context) => {
  const control = await startControl(context, postgres);
  const user = await createCliUser(context, control.url);
  const { code } = await control.app.host.loginCode();
  // The passphrase comes through a pipe, as a person's typing does; the code is used up.
  const enrolled = await user.run(
    ["owners", "enrol", "--code-file", await user.secret("code", code), "--passphrase-file", "-"],
    passphrase,
  );
  assert.equal(enrolled.code, 0, enrolled.stderr);
  for (const argv of [
    ["owners", "login", "owner"],
    ["owners", "confirm"],
    ["keys", "create", "helper", "--save", join(user.home, "helper.key")],
    ["owners", "invite", "second"],
  ]) {
    const reply = await user.run([...argv, "--passphrase-file", "-"], passphrase);
    assert.equal(reply.code, 0, reply.stderr);
  }
  const words = await everythingIn(user.home);
  assert.ok(words.size > 5);
  assert.ok(![...words].some((word) => word.startsWith("hfs_")), "a session's token is on the disk");
  for (const word of words) {
    const keys = await call(control.url, word, "GET", "/v1/keys");
    assert.ok(
      keys.status === 401 || keys.status === 404 || keys.status === 403,
      `${keys.status} with a word of ${word.length} characters`,
    );
    const again = await call(control.url, undefined, "POST", "/v1/sessions/enrol", {
      code: word,
      passphrase: "another passphrase",
      public_key: Buffer.alloc(32).toString("base64url"),
      sealed_key: "c2VhbGVk",
    });
    assert.notEqual(again.status, 200);
    if (again.status === 429) break;
  }
});

/** Words that might be credentials: of all files, and of single lines and JSON values in them. */
const everythingIn = async (directory: string): Promise<Set<string>> => {
  const words = new Set<string>();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const text = await readFile(join(entry.parentPath, entry.name), "utf8");
    for (const word of text.match(/[\w-]+/g) ?? []) if (word.length >= 4) words.add(word);
  }
  return words;
};
