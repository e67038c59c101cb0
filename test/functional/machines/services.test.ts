import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { useRest } from "../../support/rest.ts";
import { until } from "../../support/until.ts";

describe("services", () => {
  const rest = useRest();
  const { ask } = rest;
  before(async () => {
    const created = await ask("POST", "/v1/computers", { name: "box", environment: { SHARED: "one" } });
    assert.equal(created.status, 201, JSON.stringify(created.body));
  });

  const services = (
    path: string,
    method = "GET",
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => ask(method, `/v1/computers/box/services${path}`, body, headers);
  const web = (text: string) => ({
    argv: [
      "node",
      "-e",
      `require("http").createServer((q, s) => s.end("${text} " + process.env.SHARED)).listen(process.env.PORT, "127.0.0.1")`,
    ],
    cwd: "/tmp",
  });
  /** From inside: a cell's ports are its own. */
  const fetchText = async (port: number): Promise<string> => {
    const { body } = await ask("POST", "/v1/computers/box/exec", {
      argv: ["curl", "-sS", "--fail", `http://127.0.0.1:${port}/`],
    });
    if ((body["process"] as { exit_code: number }).exit_code !== 0) throw new Error(String(body["stderr"]));
    return String(body["stdout"]);
  };

  test("a service becomes ready, is listed, logged, restarted, updated, stopped and deleted", async () => {
    const created = await services("", "POST", { name: "web", ...web("hello"), port: 18_431 });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    assert.equal(created.body["state"], "ready", JSON.stringify(created.body));
    assert.equal(await fetchText(18_431), "hello one");
    assert.equal((await services("", "POST", { name: "web", ...web("x") })).status, 409);

    const listed = (await services("")).body["services"] as { name: string; state: string }[];
    assert.deepEqual(
      listed.map(({ name, state }) => [name, state]),
      [["web", "ready"]],
    );

    // A changed environment restarts nothing by itself; the next start has it.
    const computer = await ask("GET", "/v1/computers/box");
    const updated = await ask(
      "PATCH",
      "/v1/computers/box",
      { environment: { SHARED: "two" } },
      { "if-match": `"${String(computer.body["version"])}"` },
    );
    assert.equal(updated.status, 200, JSON.stringify(updated.body));
    assert.equal(await fetchText(18_431), "hello one");
    const restarted = await services("/web/restart", "POST", {});
    assert.equal(restarted.body["state"], "ready", JSON.stringify(restarted.body));
    assert.equal(await fetchText(18_431), "hello two");

    const version = String(restarted.body["version"]);
    assert.equal((await services("/web", "PATCH", { port: 18_432 })).status, 428);
    assert.equal((await services("/web", "PATCH", { port: 18_432 }, { "if-match": '"0"' })).status, 412);
    const moved = await services("/web", "PATCH", { port: 18_432 }, { "if-match": `"${version}"` });
    assert.equal(moved.body["state"], "ready", JSON.stringify(moved.body));
    assert.equal(await fetchText(18_432), "hello two");

    const stopped = await services("/web/stop", "POST", {});
    assert.equal(stopped.body["state"], "stopped", JSON.stringify(stopped.body));
    await assert.rejects(fetchText(18_432));
    const started = await services("/web/start", "POST", {});
    assert.equal(started.body["state"], "ready", JSON.stringify(started.body));
    assert.equal((await services("/web", "DELETE")).status, 200);
    assert.equal((await services("/web")).status, 404);
    await assert.rejects(fetchText(18_432));
  });

  test("services come back when the computer does, in their order", async () => {
    const first = await services("", "POST", { name: "first", ...web("first"), port: 18_441 });
    assert.equal(first.body["state"], "ready", JSON.stringify(first.body));
    const second = await services("", "POST", {
      name: "second",
      ...web("second"),
      port: 18_442,
      after: ["first"],
    });
    assert.equal(second.body["state"], "ready", JSON.stringify(second.body));
    assert.equal((await ask("POST", "/v1/computers/box/stop", {})).body["state"], "stopped");
    assert.equal((await services("/second")).body["state"], "unknown");
    assert.equal((await ask("POST", "/v1/computers/box/wake", {})).body["state"], "awake");
    await until(
      "the second service is ready",
      async () => (await services("/second")).body["state"] === "ready",
    );
    assert.equal(await fetchText(18_442), "second two");
    await services("/first", "DELETE");
    await services("/second", "DELETE");
  });

  test("services declared at once are each started once, and all answers tell so", async () => {
    const names = ["a", "b", "c", "d", "e", "f"].map((letter) => `at-once-${letter}`);
    // The line is there before the shell could be told to end.
    const command = "trap '' TERM; echo started; exec sleep 1000";
    const created = await Promise.all(
      names.map((name) => services("", "POST", { name, command, cwd: "/tmp", stop_grace_ms: 2000 })),
    );
    for (const { body } of created)
      assert.deepEqual([body["state"], body["reason"]], ["ready", null], JSON.stringify(body));
    for (const name of names)
      await until(`the one line of ${name}`, async () => {
        const { text } = (await services(`/${name}/logs`)).body;
        assert.doesNotMatch(String(text), /started\nstarted/);
        return text === "started\n";
      });
    await Promise.all(names.map((name) => services(`/${name}`, "DELETE")));
  });

  test("logs end with the last lines and go on from a cursor; a failing service says so", async () => {
    const created = await services("", "POST", {
      name: "failing",
      command: "echo started; echo wrong >&2; exit 7",
      cwd: "/tmp",
      restart: { policy: "on_failure", min_backoff_ms: 100, max_backoff_ms: 200, limit: 2 },
      wait_ms: 10_000,
      port: 18_450,
    });
    assert.equal(created.body["state"], "failed", JSON.stringify(created.body));
    assert.deepEqual(created.body["exit"], { kind: "exited", code: 7 });
    const logs = await services("/failing/logs");
    assert.match(String(logs.body["text"]), /started\n/);
    assert.match(String(logs.body["text"]), /wrong\n/);
    const rest = await services(`/failing/logs?cursor=${String(logs.body["next_cursor"])}`);
    assert.equal(rest.body["text"], "");
    await services("/failing", "DELETE");
  });

  test("a definition that cannot be is refused, also in circles", async () => {
    assert.equal(
      (await services("", "POST", { name: "a", command: "true", after: ["missing"] })).status,
      400,
    );
    assert.equal((await services("", "POST", { name: "a", command: "true", argv: ["true"] })).status, 400);
    assert.equal(
      (await services("", "POST", { name: "a", command: "true", liveness: { kind: "tcp" } })).status,
      400,
    );
    const a = await services("", "POST", { name: "a", command: "sleep 100", cwd: "/tmp" });
    const b = await services("", "POST", { name: "b", command: "sleep 100", cwd: "/tmp", after: ["a"] });
    assert.equal(b.status, 201, JSON.stringify(b.body));
    const circle = await services(
      "/a",
      "PATCH",
      { after: ["b"] },
      { "if-match": `"${String(a.body["version"])}"` },
    );
    assert.equal(circle.status, 400, JSON.stringify(circle.body));
    await services("/b", "DELETE");
    await services("/a", "DELETE");
  });

  test("the same idempotency key makes one service", async () => {
    const headers = { "idempotency-key": '"svc-1"' };
    const body = { name: "once", command: "sleep 100", cwd: "/tmp" };
    const [one, two] = await Promise.all([
      services("", "POST", body, headers),
      services("", "POST", body, headers),
    ]);
    const later = await services("", "POST", body, headers);
    assert.equal(later.status, 201, JSON.stringify(later.body));
    assert.ok([one, two].some((reply) => reply.body["id"] === later.body["id"]));
    await services("/once", "DELETE");
  });
});
