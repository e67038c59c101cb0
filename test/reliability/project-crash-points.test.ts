import assert from "node:assert/strict";
import { test } from "node:test";
import { usePrivateInstance } from "../support/instance.ts";
import { until } from "../support/until.ts";
import { crashFiles } from "./rounds.ts";
import { struck } from "./struck.ts";

/** Control is killed at each named point of what it does to projects: a project is there whole or not at all, and asking again is enough. */
const { files, environment } = crashFiles("projects");
const instance = await usePrivateInstance("project", environment);
const { ask, killedAt, repeat } = struck(instance, await instance.assistant(), files.control);
assert.equal((await ask("POST", "/v1/computers", { name: "box" })).status, 201);

const inside = async (command: string): Promise<string> =>
  String((await ask("POST", "/v1/computers/box/exec", { command })).body["stdout"]);

const schedules = async (): Promise<readonly string[]> =>
  ((await ask("GET", "/v1/schedules?computer=box")).body["schedules"] as { name: string }[]).map(
    ({ name }) => name,
  );

for (const point of [
  "project-create-admitted",
  "project-before-files",
  "project-after-files",
  "project-before-moved",
  "project-after-moved",
  "project-before-deployed",
  "project-deployed",
])
  test(`killed at ${point}: one project is made, with the name, folder and address that were asked for`, async () => {
    const name = point.slice("project-".length);
    const body = { computer: "box", name, template: "scheduled-report" };
    await killedAt(point, () => ask("POST", "/v1/projects", body, name));
    const again = await repeat("/v1/projects", body, name);
    assert.equal(again.status, 201, JSON.stringify(again.body));
    assert.deepEqual([again.body["slug"], again.body["folder"]], [name, `/work/${name}`]);
    await until(
      "it runs",
      async () => (await ask("GET", `/v1/projects/${name}`)).body["state"] === "running",
    );
    const { commits } = (await ask("GET", `/v1/projects/${name}/history`)).body as {
      commits: { deployment: unknown }[];
    };
    assert.equal(commits.length, 1);
    assert.ok(commits[0]?.deployment);
    assert.equal(await inside("ls -A /work"), `${name}\n`);
    assert.deepEqual(
      await schedules(),
      [`${name}-daily`],
      "what it runs at set times is there with it, once",
    );
    await ask("DELETE", `/v1/projects/${name}?delete_files=true`);
    assert.deepEqual(await schedules(), []);
  });

test("killed as a creation that failed is taken back: nothing is left of it", async () => {
  const name = "forgotten";
  await inside("mv /usr/bin/git /usr/bin/git.away");
  const body = { computer: "box", name };
  await killedAt("project-before-forgotten", () => ask("POST", "/v1/projects", body, name));
  await inside("mv /usr/bin/git.away /usr/bin/git");
  const again = await repeat("/v1/projects", body, name);
  assert.equal(again.status, 201, JSON.stringify(again.body));
  assert.equal(again.body["slug"], name);
  assert.equal(await inside("ls -A /work"), `${name}\n`);
  await ask("DELETE", `/v1/projects/${name}?delete_files=true`);
});

for (const point of ["project-committed", "project-before-deployed", "project-deployed"])
  test(`killed at ${point}: the deploy that is asked for again runs what was committed, and is recorded once`, async () => {
    const name = `deploy-${point.slice("project-".length, 18)}`;
    const made = await ask("POST", "/v1/projects", { computer: "box", name });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await inside(`echo change > /work/${name}/change`);
    const path = `/v1/projects/${name}/deploy`;
    await killedAt(point, () => ask("POST", path, { message: "change" }, name));
    const again = await repeat(path, { message: "change" }, name);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    const { commits } = (await ask("GET", `/v1/projects/${name}/history`)).body as {
      commits: { commit: string; message: string; deployment: { id: string } | null }[];
    };
    assert.deepEqual(
      commits.map(({ message }) => message),
      ["change", `Create ${name} from blank`],
    );
    const deployment = again.body["deployment"] as { id: string; commit: string };
    assert.deepEqual([deployment.commit, deployment.id], [commits[0]?.commit, commits[0]?.deployment?.id]);
    await ask("DELETE", `/v1/projects/${name}?delete_files=true`);
  });

test("killed at project-destroyed: its address and services are gone, and the same request takes the files", async () => {
  const name = "destroyed";
  const { body } = await ask("POST", "/v1/projects", { computer: "box", name, template: "api" });
  const path = `/v1/projects/${String(body["id"])}?delete_files=true`;
  await killedAt("project-destroyed", () => ask("DELETE", path));
  assert.equal((await ask("GET", `/v1/projects/${name}`)).status, 404);
  await until(
    "its service is gone from the computer",
    async () => (await inside("pgrep -f '[s]erver.py' || true")) === "",
    { withinMs: 20_000 },
  );
  assert.equal((await ask("DELETE", path)).status, 200);
  assert.equal(await inside("ls -A /work"), "");
});
