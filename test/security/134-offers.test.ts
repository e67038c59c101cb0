import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, type HoldfastApiError, type HoldfastClient } from "@holdfast/sdk";
import { createComputer, run } from "../support/computer.ts";
import { servedProject } from "../support/projects.ts";
import { useAssistant } from "../support/use.ts";

const { instance, assistant } = await useAssistant();
const { client } = assistant;

interface Family {
  readonly parent: string;
  readonly child: string;
  /** Who works in the child. */
  readonly helper: HoldfastClient;
  readonly folder: string;
  readonly project: string;
}

const makeFamily = async (name: string): Promise<Family> => {
  const parent = await createComputer(assistant);
  const { id: project, folder } = await servedProject(assistant, parent, "site");
  const made = await client.children.create({ computer: parent, name, wait_ms: 50_000 });
  const helper = createClient({ baseUrl: instance.url, token: made.secret });
  return { parent, child: made.computer.id, helper, folder, project };
};

const inside = async (of: HoldfastClient, computer: string, command: string): Promise<string> => {
  const { stdout, stderr, process } = await of.processes.exec({ computer, command, wait_ms: 50_000 });
  assert.equal(process.exit_code, 0, `${command}: ${stderr}`);
  return stdout;
};

test("134: accept copies what was shown, however the child writes on between offer, review and accept", async () => {
  const { parent, child, helper, folder, project } = await makeFamily("writes-on");
  await inside(
    helper,
    child,
    `cd ${folder} && mkdir new && echo good > new/page && ln -s page new/link && ln -s /etc/passwd new/out && chmod 755 new/page && echo changed > server.js`,
  );
  // From now on it changes all of it, all the time.
  const offer = await helper.offers.create({
    computer: child,
    paths: [`${folder}/new`, `${folder}/server.js`],
    note: "a page",
  });
  const command = `cd ${folder}; while :; do echo evil > new/page; echo evil > server.js; ln -sfn /etc new/dir; touch new/extra$RANDOM; rm -f new/link; ln -s /root new/link; done`;
  await helper.processes.start({ computer: child, command, keep_awake: true });
  await inside(helper, child, "sleep 0.2");
  const shown = await client.offers.diff({ offer: offer.id });
  const paths = shown.differences
    .map(({ path, change, kind }) => `${path.slice(folder.length)} ${change} ${kind}`)
    .sort();
  assert.ok(paths.includes("/new/page added file"), paths.join("; "));
  assert.ok(paths.includes("/server.js changed file"), paths.join("; "));
  const of = (path: string) => shown.differences.find((one) => one.path === `${folder}${path}`);
  assert.deepEqual([of("/new/out")?.target, of("/new/page")?.mode], ["/etc/passwd", "0755"]);
  assert.ok(shown.text.includes("+good") && !shown.text.includes("evil"), shown.text);
  await assert.rejects(client.offers.accept({ offer: offer.id, digest: "0".repeat(offer.digest.length) }), {
    code: "version_mismatch",
  });
  assert.equal(
    await inside(client, parent, `ls ${folder}`),
    "README.md\nserver.js\n",
    "a refused one changes nothing",
  );

  const options = { idempotencyKey: `accept-${offer.id}` };
  const both = await Promise.all(
    [1, 2].map(() =>
      client.offers
        .accept({ offer: offer.id, digest: shown.offer.digest }, options)
        .catch((error: unknown) => error),
    ),
  );
  for (const one of both)
    if (one instanceof Error) assert.equal((one as HoldfastApiError).code, "operation_running", one.message);
  const accepted = await client.offers.accept({ offer: offer.id, digest: shown.offer.digest }, options);
  assert.equal(accepted.offer.state, "accepted");
  const look = `cd ${folder} && ls new && cat new/page && readlink new/link new/out && stat -c %a new/page && cat server.js && git status --porcelain`;
  assert.equal(
    await inside(client, parent, look),
    "link\nout\npage\ngood\npage\n/etc/passwd\n755\nchanged\n",
  );
  const { commits } = await client.projects.history({ project });
  assert.equal(commits.filter(({ commit }) => commit === accepted.commit).length, 1);
  assert.equal((await client.offers.list({ computer: parent })).offers[0]?.state, "accepted");
});

test("134: what an offer may not hold is refused when it is made: devices, sockets, pipes, setuid, places outside /work", async () => {
  const { child, helper, folder } = await makeFamily("may-not");
  for (const [make, path] of [
    [`mkfifo ${folder}/pipe`, `${folder}/pipe`],
    [`cp /bin/true ${folder}/setuid && chmod u+s ${folder}/setuid`, `${folder}/setuid`],
    [
      `mkdir ${folder}/deep && cp /bin/true ${folder}/deep/setgid && chmod g+s ${folder}/deep/setgid`,
      `${folder}/deep`,
    ],
    [
      `cd ${folder} && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'`,
      `${folder}/sock`,
    ],
  ] as const) {
    await inside(helper, child, make);
    await assert.rejects(
      helper.offers.create({ computer: child, paths: [path] }),
      { code: "archive_refused" },
      path,
    );
  }
  await inside(helper, child, `ln -s /etc ${folder}/etc; ln -s / /work/all`);
  for (const path of [
    "/etc/passwd",
    `${folder}/../../etc/passwd`,
    "/work/../etc",
    `${folder}/etc/passwd`,
    "/work/all/etc/passwd",
    "/root",
  ])
    await assert.rejects(
      helper.offers.create({ computer: child, paths: [path] }),
      (error: HoldfastApiError) => {
        assert.ok(
          ["archive_refused", "invalid_input", "file_not_found"].includes(error.code),
          `${path}: ${error.code}`,
        );
        return true;
      },
    );
  await assert.rejects(helper.offers.create({ computer: child, paths: [`${folder}/none`] }), {
    code: "file_not_found",
  });
});

test("134: nothing is written through links that are in the parent, and what cannot be taken whole is not taken at all", async () => {
  const { parent, child, helper, folder } = await makeFamily("through-links");
  await inside(
    helper,
    child,
    `cd ${folder} && mkdir -p data/sub && echo one > data/sub/a && echo two > data/b && echo three > plain`,
  );
  const offer = await helper.offers.create({ computer: child, paths: [`${folder}/data`, `${folder}/plain`] });
  // The parent has a link where the offer has a directory.
  await inside(client, parent, `mkdir -p /root/target/sub && ln -s /root/target ${folder}/data`);
  const { offer: shown } = await client.offers.diff({ offer: offer.id });
  const accepted = await client.offers.accept({ offer: offer.id, digest: shown.digest }).then(
    () => true,
    () => false,
  );
  assert.equal(
    await inside(client, parent, "find /root/target -type f | wc -l"),
    "0\n",
    "written through a link",
  );
  const after = await inside(
    client,
    parent,
    `cd ${folder} && ls plain data/sub/a data/b 2> /dev/null | wc -l; readlink data || true`,
  );
  assert.ok(
    accepted ? after === "3\n" : after === "0\n/root/target\n",
    `${accepted ? "accepted" : "refused"}, and there is: ${after}`,
  );
});

test("134: only the parent's side accepts, only once, and a rejected or withdrawn offer copies nothing", async () => {
  const { parent, child, helper, folder } = await makeFamily("who-decides");
  await inside(helper, child, `echo x > ${folder}/x`);
  const make = () => helper.offers.create({ computer: child, paths: [`${folder}/x`] });
  const [first, second, third] = [await make(), await make(), await make()];
  const stranger = await instance.assistant();
  await assert.rejects(stranger.client.offers.accept({ offer: first.id, digest: first.digest }), {
    code: "not_found",
  });
  await assert.rejects(
    helper.offers.accept({ offer: first.id, digest: first.digest }),
    (error: HoldfastApiError) => {
      assert.ok(["not_found", "forbidden"].includes(error.code), error.code);
      return true;
    },
  );
  assert.equal((await client.offers.reject({ offer: first.id, note: "no" })).state, "rejected");
  assert.equal((await helper.offers.reject({ offer: second.id })).state, "withdrawn");
  for (const { id, digest } of [first, second])
    await assert.rejects(client.offers.accept({ offer: id, digest }), { code: "wrong_state" });
  assert.equal(await inside(client, parent, `ls ${folder}`), "README.md\nserver.js\n");
  await client.offers.accept({ offer: third.id, digest: third.digest });
  await assert.rejects(client.offers.accept({ offer: third.id, digest: third.digest }), {
    code: "wrong_state",
  });
  assert.equal((await run(assistant, parent, `cat ${folder}/x`)).stdout, "x\n");
});
