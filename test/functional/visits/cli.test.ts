import assert from "node:assert/strict";
import { test } from "node:test";
import { createCliUser } from "../../support/cli.ts";
import { usePostgres } from "../../support/postgres.ts";
import { startVisiting } from "../../support/visits.ts";

const postgres = usePostgres();

test("what `projects open` opens stays open when the command has ended", async (context) => {
  const visiting = await startVisiting(context, postgres);
  const { control } = visiting;
  const project = await visiting.project("shop");
  const user = await createCliUser(context, control.url);
  const words = await user.secret("passphrase", "a few words of mine\n");
  const { code } = await control.app.host.loginCode();
  const enrolled = await user.run(
    ["owners", "enrol", "--code-file", "-", "--passphrase-file", words, "--json"],
    `${code}\n`,
  );
  assert.equal(enrolled.code, 0, enrolled.stderr);
  const signedIn = async (): Promise<number> =>
    (await visiting.sql("select id from sessions where ended_at_ms is null")).length;
  const before = await signedIn();
  const opened = await user.run(["projects", "open", "shop", "--passphrase-file", words, "--json"]);
  assert.equal(opened.code, 0, opened.stderr);
  const { url } = JSON.parse(opened.stdout) as { readonly url: string };
  const ticket = new URL(url).searchParams.get("t") ?? "";
  const cookie = (await visiting.trade("ticket", project, ticket)) ?? "";
  assert.equal((await visiting.right("cookie", project, cookie))?.who, "owner");
  // All other verbs leave nobody signed in.
  const listed = await user.run(["shares", "list", "shop", "--passphrase-file", words, "--json"]);
  assert.equal(listed.code, 0, listed.stderr);
  assert.equal(await signedIn(), before + 1);
});
