import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, type HoldfastClient } from "@holdfast/sdk";
import { createComputer, run } from "../../support/computer.ts";
import { refused, servedProject } from "../../support/projects.ts";
import { useAssistant } from "../../support/use.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;
const wait_ms = 50_000;

interface Family {
  readonly parent: string;
  readonly child: string;
  /** The helper's own client: it has the child alone. */
  readonly helper: HoldfastClient;
}

let families = 0;
const family = async (prepare = "true"): Promise<Family> => {
  families += 1;
  const parent = await createComputer(assistant);
  await run(assistant, parent, prepare);
  const made = await client.children.create({
    computer: parent,
    name: `child-n${families}-${parent.slice(-4).replaceAll(/\d/g, "x")}`,
    wait_ms,
  });
  assert.equal(made.computer.state, "awake", made.computer.reason ?? "");
  return {
    parent,
    child: made.computer.id,
    helper: createClient({ baseUrl: instance.url, token: made.secret, retries: 0 }),
  };
};
const on = (computer: string, line: string): Promise<string> =>
  run(assistant, computer, line).then(({ stdout, stderr, process }) => {
    assert.equal(process.exit_code, 0, stderr);
    return stdout;
  });

test("what a child offers is reviewed as a difference, and accepting copies exactly that as a commit of the project", async () => {
  const parent = await createComputer(assistant);
  const project = await servedProject(assistant, parent, "site");
  await on(parent, "cd /work/site; printf 'one\\ntwo\\nthree\\n' > words; echo own > untracked-before");
  const made = await client.children.create({ computer: parent, name: "writer", wait_ms });
  const helper = createClient({ baseUrl: instance.url, token: made.secret, retries: 0 });
  const child = made.computer.id;
  await on(
    child,
    "cd /work/site; printf 'one\\n2\\nthree\\n' > words; mkdir new; echo fresh > new/file; chmod 750 new/file; ln -s file new/link; head -c 100000 /dev/urandom > new/bytes; git commit -qam child 2> /dev/null; true",
  );
  const paths = ["/work/site/words", "/work/site/new"];
  const offer = await helper.offers.create({ computer: child, paths, note: "Numbers for words" });
  assert.equal(offer.state, "open");
  assert.equal(offer.entries, 5);
  assert.match(offer.digest, /^[0-9a-f]{64}$/);

  // The child goes on; what was offered does not.
  await on(child, "echo evil > /work/site/words; rm -r /work/site/new");
  const sums =
    "cd /work/site; sha256sum words new/file new/bytes; stat -c '%a %F' new/file; readlink new/link";
  const review = await client.offers.diff({ offer: offer.id });
  assert.deepEqual(
    review.differences.map(({ path, change, kind }) => [path, change, kind]),
    [
      ["/work/site/new", "added", "directory"],
      ["/work/site/new/bytes", "added", "file"],
      ["/work/site/new/file", "added", "file"],
      ["/work/site/new/link", "added", "link"],
      ["/work/site/words", "changed", "file"],
    ],
  );
  assert.match(
    review.text,
    /--- a\/work\/site\/words\n\+\+\+ b\/work\/site\/words\n@@ -1,3 \+1,3 @@\n one\n-two\n\+2\n three\n/,
  );
  assert.match(review.text, /\+fresh\n/);
  assert.equal(review.next_cursor, null);
  const words = review.differences.find(({ path }) => path === "/work/site/words");
  assert.match(words?.digest ?? "", /^[0-9a-f]{64}$/);

  // Only the parent's side decides, and only about what it saw.
  await refused(helper.offers.accept({ offer: offer.id, digest: offer.digest }), "forbidden");
  await refused(helper.offers.diff({ offer: offer.id }), "not_found");
  await refused(client.offers.accept({ offer: offer.id, digest: "0".repeat(64) }), "version_mismatch");
  assert.equal(await on(parent, "cat /work/site/words"), "one\ntwo\nthree\n");

  const accepted = await client.offers.accept({ offer: offer.id, digest: offer.digest });
  assert.equal(accepted.offer.state, "accepted");
  assert.equal(accepted.offer.decided_by, assistant.id);
  assert.equal(await on(parent, "cat /work/site/words"), "one\n2\nthree\n");
  const said = await on(parent, sums);
  assert.match(said, new RegExp(`^${words?.digest ?? "none"}  words\n`));
  assert.match(said, /\n750 regular file\nfile\n$/);
  const { commits } = await client.projects.history({ project: project.id });
  assert.equal(commits[0]?.commit, accepted.commit);
  assert.match(commits[0]?.message ?? "", /Numbers for words/);
  assert.equal(await on(parent, "cd /work/site; git status --porcelain; ls -A /work"), "site\n");
  await refused(client.offers.accept({ offer: offer.id, digest: offer.digest }), "wrong_state");
  assert.deepEqual(
    (await client.offers.list({ computer: parent })).offers.map(({ id, state }) => [id, state]),
    [[offer.id, "accepted"]],
  );
});

test("devices, sockets, setuid files, links out of the way and what is not below /work are not offered", async () => {
  const { child, helper } = await family();
  await on(
    child,
    "cd /work; mkdir pipes set through ok; mkfifo pipes/p; cp /bin/true set/uid; chmod 4755 set/uid; ln -s /etc through/etc; echo fine > ok/file; ln -s /etc/passwd ok/passwd",
  );
  const offer = (...paths: string[]) => helper.offers.create({ computer: child, paths });
  await refused(offer("/work/pipes"), "archive_refused");
  await refused(offer("/work/set"), "archive_refused");
  await refused(offer("/work/through/etc/passwd"), "archive_refused");
  await refused(offer("/etc/passwd"), "invalid_input");
  await refused(offer("/work/../etc/passwd"), "invalid_input");
  await refused(offer("/work/missing"), "file_not_found");
  assert.deepEqual((await helper.offers.list({ computer: child })).offers, []);
  // A link is offered as a link, wherever it points.
  const made = await offer("/work/ok");
  assert.equal(made.entries, 3);
  await refused(helper.offers.create({ computer: child, paths: [] }), "invalid_input");
});

test("an acceptance that cannot be made whole leaves the parent as it was, and the offer open", async () => {
  const { parent, child, helper } = await family(
    "mkdir /work/dir; echo old > /work/dir/a; echo old > /work/b",
  );
  await on(child, "cd /work; echo new > dir/a; echo new > b; mkdir -p dir/deep; echo deep > dir/deep/file");
  const { id: offer, digest } = await helper.offers.create({
    computer: child,
    paths: ["/work/dir/a", "/work/dir/deep/file", "/work/b"],
  });
  // A link where the way was: it would end up elsewhere.
  await on(parent, "mv /work/dir /work/elsewhere; ln -s elsewhere /work/dir");
  await refused(client.offers.accept({ offer, digest }), "wrong_state");
  assert.equal(
    await on(parent, "cat /work/elsewhere/a /work/b; ls -A /work"),
    "old\nold\nb\ndir\nelsewhere\n",
  );
  // A file where a directory has to be made is found in the middle, after others were placed.
  await on(parent, "rm /work/dir; mv /work/elsewhere /work/dir; chattr +i /work/dir/a 2> /dev/null; true");
  const accepted = await client.offers
    .accept({ offer, digest })
    .catch((error: { code: string }) => error.code);
  if (typeof accepted === "string") {
    assert.equal(await on(parent, "cat /work/dir/a /work/b"), "old\nold\n", accepted);
    await on(parent, "chattr -i /work/dir/a");
    await client.offers.accept({ offer, digest });
  }
  assert.equal(
    await on(parent, "cat /work/dir/a /work/b /work/dir/deep/file; ls -A /work"),
    "new\nnew\ndeep\nb\ndir\n",
  );
});

test("an offer is rejected by the parent's side and withdrawn by the child's; decided ones stay decided", async () => {
  const { parent, child, helper } = await family();
  await on(child, "echo one > /work/one");
  const first = await helper.offers.create({ computer: child, paths: ["/work/one"] });
  const rejected = await client.offers.reject({ offer: first.id, note: "no" });
  assert.equal(rejected.state, "rejected");
  assert.equal((await client.offers.reject({ offer: first.id })).state, "rejected");
  await refused(client.offers.accept({ offer: first.id, digest: first.digest }), "wrong_state");
  const second = await helper.offers.create({ computer: child, paths: ["/work/one"] });
  assert.equal(second.digest, first.digest, "equal content has an equal digest");
  assert.equal((await helper.offers.reject({ offer: second.id })).state, "withdrawn");
  await refused(client.offers.diff({ offer: second.id }), "wrong_state");
  const third = await helper.offers.create({ computer: child, paths: ["/work/one"] });
  const other = await instance.assistant();
  await refused(other.client.offers.diff({ offer: third.id }), "not_found");
  await refused(other.client.offers.accept({ offer: third.id, digest: third.digest }), "not_found");
  assert.equal(await on(parent, "ls -A /work"), "");
  await refused(client.offers.create({ computer: parent, paths: ["/work/one"] }), "wrong_state");
});
