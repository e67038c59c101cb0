import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { limits, type OperationOutput } from "@holdfast/contract";
import { run } from "../../support/computer.ts";
import { useComputer } from "../../support/use.ts";

/** What a computer may do to the git in it: repository, configuration and program are its own. It harms itself, and is not believed. */
const { assistant, computer } = await useComputer();
const { client } = assistant;

const inside = async (command: string): Promise<string> => {
  const { process, stdout, stderr } = await run(assistant, computer, command);
  assert.equal(process.exit_code, 0, `${command}: ${stdout}${stderr}`);
  return stdout;
};
const made = (name: string): Promise<OperationOutput<"project.get">> =>
  client.projects.create({ computer, name });
/** Whatever looks for git finds this from now on. */
const fakeGit = async (program: string): Promise<void> => {
  await client.files.write({
    computer,
    path: "/usr/local/bin/git",
    content: `#!/usr/bin/env node\n${program}\n`,
    mode: "0755",
  });
};
const refused = (work: Promise<unknown>, code: string): Promise<void> => assert.rejects(work, { code });

describe("a repository that its computer has turned against git", () => {
  test("what was deployed is known outside, whatever the history says by now", async () => {
    const project = await made("rewrites");
    await inside("cd /work/rewrites && echo 1 > a");
    const { deployment } = await client.projects.deploy({ project: project.id, message: "Honest work" });
    await inside(
      "cd /work/rewrites && git -c user.name=mallory -c user.email=m@x commit -q --amend -m 'Honest work' --date 2001-01-01T00:00:00Z",
    );
    const { commits } = await client.projects.history({ project: project.id });
    assert.equal(commits[0]?.message, "Honest work");
    assert.notEqual(commits[0]?.commit, deployment.commit);
    assert.equal(commits[0]?.deployment, null, "nobody deployed that one");
    const seen = await client.projects.get({ project: project.id });
    assert.equal(seen.deployment?.commit, deployment.commit);
    // Taken apart altogether: said so, and mended from inside.
    await inside("rm -rf /work/rewrites/.git");
    await refused(client.projects.deploy({ project: project.id }), "git_failed");
    await refused(client.projects.history({ project: project.id }), "git_failed");
    await inside("cd /work/rewrites && git init -q");
    const mended = await client.projects.deploy({ project: project.id, message: "Mended" });
    assert.equal((await client.projects.history({ project: project.id })).commits.length, 1);
    assert.equal(mended.deployment.message, "Mended");
  });

  test("no hook, monitor, filter of pagers or signer of its configuration is run by a deploy", async () => {
    const project = await made("hooks");
    await inside(`cd /work/hooks && mkdir -p .git/hooks ../evil && for hook in pre-commit commit-msg post-commit post-checkout post-index-change reference-transaction post-rewrite; do
  printf '#!/bin/sh\\ntouch /work/evil/%s\\n' $hook > .git/hooks/$hook; done; chmod +x .git/hooks/*
printf '#!/bin/sh\\ntouch /work/evil/program\\nexit 1\\n' > ../evil.sh; chmod +x ../evil.sh
for key in core.fsmonitor core.pager core.editor gpg.program diff.external core.sshCommand core.askPass credential.helper interactive.diffFilter; do git config $key /work/evil.sh; done
git config commit.gpgSign true; git config core.hooksPath .git/hooks; git config log.showSignature true; git config core.worktree /etc; git config core.bare true
echo 1 > a`);
    const { deployment, project: deployed } = await client.projects.deploy({ project: project.id });
    await client.projects.diff({ project: project.id, from: project.deployment?.commit ?? "" });
    const { commits } = await client.projects.history({ project: project.id });
    await client.projects.restore({ project: project.id, commit: project.deployment?.commit ?? "" });
    assert.equal(await inside("ls /work/evil"), "");
    assert.equal(commits[0]?.commit, deployment.commit);
    assert.equal(deployed.state, "no_service");
    assert.equal(
      await inside(
        "git --git-dir=/work/hooks/.git --work-tree=/work/hooks ls-tree --name-only HEAD~1 | tail -1",
      ),
      "a\n",
    );
  });

  test("links in place of the repository or the folder lead nowhere but inside the computer", async () => {
    const project = await made("linked");
    const other = await made("target");
    await inside(
      "rm -rf /work/linked/.git && ln -s /work/target/.git /work/linked/.git && echo x > /work/linked/x",
    );
    const { deployment } = await client.projects.deploy({ project: project.id });
    const { commits } = await client.projects.history({ project: other.id });
    assert.equal(commits[0]?.commit, deployment.commit);
    assert.equal(commits[0]?.deployment, null, "deployed by the one, it is no deployment of the other");
    await inside("mv /work/linked /work/away && ln -s /etc /work/linked");
    await refused(client.projects.deploy({ project: project.id }), "git_failed");
    await inside("rm /work/linked && ln -s / /work/linked");
    await refused(client.projects.history({ project: project.id }), "git_failed");
    assert.ok(!existsSync("/work/linked"), "nothing of it is on the host");
    await inside("rm /work/linked");
    await refused(client.projects.deploy({ project: project.id }), "git_failed");
  });

  test("an answer without end is cut or refused, and the computer serves on", async () => {
    const project = await made("endless");
    await inside(`cd /work/endless && head -c 3000000 /dev/urandom | base64 > big.txt`);
    const { diff, truncated } = await client.projects.diff({ project: project.id });
    assert.ok(truncated && diff.length <= limits.replyTextBytes, String(diff.length));
    await fakeGit(`for (;;) require("fs").writeSync(1, Buffer.alloc(65536))`);
    await refused(client.projects.history({ project: project.id }), "git_failed");
    await refused(client.projects.deploy({ project: project.id }), "git_failed");
    assert.equal(await inside("pgrep -f '/usr/local/bin/[g]it' || true"), "", "nothing of it runs on");
  });

  test("commit ids that are none, and answers that git does not give, are not taken", async () => {
    const project = await made("liar").catch((error: { code: string }) => error);
    assert.equal(
      (project as { code: string }).code,
      "git_failed",
      "the git of the test before is still there",
    );
    await inside("rm /usr/local/bin/git");
    const { id, slug } = await made("liar");
    assert.equal(slug, "liar", "what was refused has left no slug");
    for (const said of [
      "HEAD",
      "deadbeef",
      "0123456789012345678901234567890123456789; rm -rf /",
      "<script>alert(1)</script>",
      "0123456789012345678901234567890123456789\n0123456789012345678901234567890123456789",
      "\u001b[2J\u001b]0;x\u0007",
      "A123456789012345678901234567890123456789",
    ]) {
      await fakeGit(`process.stdout.write(${JSON.stringify(`${said}\n`)})`);
      await refused(client.projects.deploy({ project: id }), "git_failed");
      await refused(client.projects.history({ project: id }), "git_failed");
    }
    // An id of the right form is written down as what git said: that is all it is.
    const fake = "0123456789012345678901234567890123456789";
    await fakeGit(`console.log("${fake}")`);
    assert.equal((await client.projects.deploy({ project: id })).deployment.commit, fake);
    await fakeGit(`process.stderr.write("\\u001b[31mno\\u001b[0m\\n"); process.exit(3)`);
    await assert.rejects(
      client.projects.deploy({ project: id }),
      (error: { details: { output: string; exit_code: number } }) => {
        assert.equal(error.details.exit_code, 3);
        assert.match(error.details.output, /no/);
        assert.doesNotMatch(error.details.output, /[^\P{C}\n\t]/u);
        return true;
      },
    );
    await inside("rm /usr/local/bin/git");
    await refused(client.projects.restore({ project: id, commit: fake }), "not_found");
    const { commits } = await client.projects.history({ project: id });
    assert.equal(commits.length, 1);
  });

  test("a computer without git says so, and what is deployed stays", async () => {
    const project = await made("bare");
    await inside("mv /usr/bin/git /usr/bin/git.away");
    await refused(client.projects.deploy({ project: project.id }), "spawn_failed");
    await refused(client.projects.create({ computer, name: "gitless" }), "spawn_failed");
    assert.equal(await inside("ls -A /work | grep -c gitless || true"), "0\n");
    await inside("mv /usr/bin/git.away /usr/bin/git");
    await client.projects.create({ computer, name: "gitless" });
    assert.ok((await client.projects.get({ project: project.id })).deployment);
  });
});
