import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { HoldfastApiError } from "@holdfast/sdk";
import { createComputer, run } from "../support/computer.ts";
import { until } from "../support/until.ts";
import { useAssistant } from "../support/use.ts";

const { instance, assistant } = await useAssistant();

const newName = (): string => `c-${randomBytes(5).toString("hex")}`;

test("the same idempotency key twice, also at once, makes one computer; a different body is refused", async () => {
  const name = newName();
  const options = { idempotencyKey: name };
  const made = await Promise.all(
    Array.from({ length: 8 }, () =>
      assistant.client.computers.create({ name }, options).catch((error: unknown) => error),
    ),
  );
  const ids = new Set<string>();
  for (const one of made)
    if (!(one instanceof Error)) ids.add((one as { readonly id: string }).id);
    else assert.equal((one as HoldfastApiError).code, "operation_running", String(one));
  assert.equal(ids.size, 1);
  const again = await assistant.client.computers.create({ name }, options);
  assert.ok(ids.has(again.id));
  await assert.rejects(assistant.client.computers.create({ name: newName() }, options), {
    code: "idempotency_mismatch",
    status: 422,
  });
  assert.equal(
    (await assistant.client.computers.list()).computers.filter((one) => one.name === name).length,
    1,
  );
});

test("a foreground command with an idempotency key runs once, however often it is asked for", async () => {
  const computer = await createComputer(assistant);
  const options = { idempotencyKey: `once-${computer}` };
  const results = [];
  for (let round = 0; round < 4; round += 1)
    results.push(
      await assistant.client.processes.exec(
        { computer, command: "echo x >> /work/once; echo $RANDOM$RANDOM" },
        options,
      ),
    );
  assert.equal(new Set(results.map(({ stdout }) => stdout)).size, 1);
  assert.equal((await run(assistant, computer, "cat /work/once")).stdout, "x\n");
});

test("twenty creations at once: every computer is another one, with its own volume", async () => {
  const many = await Promise.all(Array.from({ length: 20 }, () => createComputer(assistant)));
  assert.equal(new Set(many).size, 20);
  await Promise.all(many.map((computer, index) => run(assistant, computer, `echo ${index} > /work/mine`)));
  const contents = await Promise.all(
    many.map(async (computer) => (await run(assistant, computer, "cat /work/mine; hostname")).stdout),
  );
  contents.forEach((content, index) => assert.ok(content.startsWith(`${index}\n`)));
  assert.equal(new Set(contents.map((content) => content.split("\n")[1])).size, 20);
  await Promise.all(many.map((computer) => assistant.client.computers.destroy({ computer })));
  const left = (await assistant.client.computers.list({ limit: 200 })).computers.filter(({ id }) =>
    many.includes(id),
  );
  assert.deepEqual(left, []);
});

test("a refused creation leaves nothing behind and can be repeated", async () => {
  const small = await instance.assistant({ computers: 1, largest_size: "small" });
  const kept = await createComputer(small);
  const name = newName();
  await assert.rejects(small.client.computers.create({ name }), { code: "ceiling_reached" });
  await assert.rejects(small.client.computers.create({ name, size: "large" }), { code: "ceiling_reached" });
  assert.equal((await small.client.computers.list()).computers.length, 1);
  await small.client.computers.destroy({ computer: kept });
  assert.equal((await small.client.computers.create({ name })).state, "awake");
});

test("a stopped computer says stopped, a destroyed one is gone, its name is free again", async () => {
  const name = newName();
  const { id } = await assistant.client.computers.create({ name });
  assert.equal((await assistant.client.computers.stop({ computer: id })).state, "stopped");
  assert.equal((await assistant.client.computers.get({ computer: name })).state, "stopped");
  await assistant.client.computers.destroy({ computer: id });
  await assert.rejects(assistant.client.computers.get({ computer: name }), { code: "not_found" });
  const second = await assistant.client.computers.create({ name });
  assert.notEqual(second.id, id);
});

test("zero, negative, huge and fractional times are refused with a message", async () => {
  const computer = await createComputer(assistant);
  for (const timeout_ms of [0, -1, 1.5, 1e15, Number.MAX_SAFE_INTEGER]) {
    await assert.rejects(
      assistant.client.processes.exec({ computer, command: "true", timeout_ms }),
      (error: HoldfastApiError) => {
        assert.equal(error.code, "invalid_input");
        assert.match(JSON.stringify(error.details), /timeout_ms/);
        return true;
      },
    );
  }
  for (const wait_ms of [-1, 0.5, 50_001])
    await assert.rejects(assistant.client.processes.exec({ computer, command: "true", wait_ms }), {
      code: "invalid_input",
    });
});

test("an update that is based on an old version is refused, one without a version too", async () => {
  const computer = await createComputer(assistant);
  const { version } = await assistant.client.computers.get({ computer });
  await assistant.client.computers.update({ computer, description: "first", if_match: version });
  await assert.rejects(
    assistant.client.computers.update({ computer, description: "second", if_match: version }),
    { code: "version_mismatch", status: 412 },
  );
  await assert.rejects(assistant.client.computers.update({ computer, description: "second" }), {
    code: "version_required",
    status: 428,
  });
  assert.equal((await assistant.client.computers.get({ computer })).description, "first");
});

test("a revoked key is refused within a second, its computers stay", async () => {
  const other = await instance.assistant();
  const computer = await createComputer(other);
  await (await instance.owner()).keys.revoke({ key: other.keyId });
  const isRefused = (): Promise<boolean> =>
    other.once.computers.list().then(
      () => false,
      (error: HoldfastApiError) => error.status === 401,
    );
  await until("the key is refused", isRefused, { withinMs: 1000 });
  const { computers } = await (await instance.owner()).computers.list({ limit: 200 });
  assert.ok(computers.some(({ id }) => id === computer));
});

test("sparse files stay sparse over stop and wake", async () => {
  const computer = await createComputer(assistant);
  await run(assistant, computer, "truncate -s 2T /work/sparse");
  await assistant.client.computers.stop({ computer });
  assert.equal(
    (await run(assistant, computer, "stat -c %s /work/sparse; du -k /work/sparse | cut -f1")).stdout,
    `${2 * 1024 ** 4}\n0\n`,
  );
});
