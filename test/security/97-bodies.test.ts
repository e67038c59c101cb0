import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { limits } from "@holdfast/contract";
import { type Clock, systemClock } from "@holdfast/kit";
import { call, createKey, startWithKey, useControl } from "../support/control.ts";
import { usePostgres } from "../support/postgres.ts";
import { hangMs, until } from "../support/until.ts";

const postgres = usePostgres();
const { control, owner } = await useControl();

const stranger = `hf_${"A".repeat(43)}`;
const head = (path: string, token: string | undefined, lines: readonly string[]): string =>
  [
    `POST ${path} HTTP/1.1`,
    "Host: localhost",
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...lines,
    "",
    "",
  ].join("\r\n");

/** One connection whose bytes the test sends as it likes. */
const open = (
  bytes: string,
  port = control.port,
): { readonly socket: Socket; readonly reply: () => string; closed: () => boolean } => {
  const socket = connect(port, "127.0.0.1");
  const pieces: Buffer[] = [];
  socket.on("data", (piece) => pieces.push(piece));
  socket.on("error", () => {});
  socket.write(bytes);
  return {
    socket,
    reply: () => Buffer.concat(pieces).toString("latin1"),
    closed: () => socket.closed,
  };
};

const statusOf = (reply: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(reply)?.[1] ?? 0);
const length = `Content-Length: ${limits.jsonBodyBytes}`;

test("97: who is not known is refused from the head, whatever body is announced, and the connection ends", async () => {
  const cases: readonly (readonly [string, string | undefined, number])[] = [
    ["/v1/keys", undefined, 401],
    ["/v1/keys", stranger, 401],
    ["/v1/computers/x/files/bytes?path=/x", stranger, 405],
    ["/v1/nothing", stranger, 404],
    ["/v1/principal", stranger, 405],
    ["/healthz", undefined, 405],
    ["/mcp", undefined, 401],
    ["/mcp", stranger, 401],
  ];
  const framings = [length, "Transfer-Encoding: chunked"];
  const check = async ([path, token, status]: (typeof cases)[number], framing: string): Promise<void> => {
    const { socket, reply, closed } = open(head(path, token, [framing]));
    try {
      await until(`${path} is answered`, () => reply().includes("\r\n\r\n"));
      assert.equal(statusOf(reply()), status, `${path} ${reply()}`);
      assert.match(reply(), /connection: close/i, path);
      await until(`${path} is closed`, closed);
    } finally {
      socket.destroy();
    }
  };
  await Promise.all(cases.flatMap((one) => framings.map((framing) => check(one, framing))));
});

test("97: a stranger who goes on sending gets the refusal, and is cut off", async () => {
  for (const path of ["/v1/keys", "/mcp"]) {
    const { socket, reply, closed } = open(head(path, stranger, [`Content-Length: ${10 ** 12}`]));
    const piece = Buffer.alloc(64 * 1024, 0x20);
    const send = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on("drain", send);
    send();
    await until(`${path} is refused`, () => statusOf(reply()) !== 0);
    assert.ok([401, 413].includes(statusOf(reply())), reply());
    await until(`${path} is cut off`, closed);
    assert.ok(socket.bytesWritten < 64 * 1024 * 1024, `${socket.bytesWritten} bytes were taken`);
  }
});

test("97: a body is only asked for once it is known who sends it", async () => {
  const key = await createKey(control, owner, "continues");
  const refused = open(head("/v1/computers", stranger, [length, "Expect: 100-continue"]));
  await until("the stranger is answered", () => statusOf(refused.reply()) !== 0);
  assert.equal(statusOf(refused.reply()), 401);
  refused.socket.destroy();
  for (const [path, token] of [
    ["/v1/keys", owner],
    ["/mcp", key.secret],
  ] as const) {
    const body = path === "/mcp" ? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' : '{"name":"made"}';
    const { socket, reply } = open(
      head(path, token, [`Content-Length: ${body.length}`, "Expect: 100-continue"]),
    );
    await until(`${path} says go on`, () => statusOf(reply()) === 100, { detail: reply });
    socket.write(body);
    await until(`${path} answers`, () => /HTTP\/1\.1 20[01]/.test(reply()), {
      detail: reply,
    });
    socket.destroy();
  }
});

test("97: what a principal makes us hold is bounded, and another one is served meanwhile", async () => {
  const greedy = await createKey(control, owner, "greedy");
  const modest = await createKey(control, owner, "modest");
  const body = Buffer.alloc(limits.jsonBodyBytes - 1, 0x20);
  for (const path of ["/v1/computers", "/mcp"]) {
    const many = Array.from({ length: Math.ceil(limits.heldBodyBytesPerPrincipal / body.length) + 4 }, () => {
      const one = open(head(path, greedy.secret, [length]));
      one.socket.write(body);
      return one;
    });
    try {
      const refused = () => many.filter(({ reply }) => [429, 503].includes(statusOf(reply())));
      await until(`${path}: some are refused`, () => refused().length > 0, { withinMs: 10_000 });
      assert.match(refused()[0]?.reply() ?? "", /limit_reached/);
      assert.ok(refused().length < many.length, "the ones within the bound are still waited for");
      const other = await call(control.url, modest.secret, "POST", "/v1/computers", { name: "Bad Name" });
      assert.equal(other.status, 400, JSON.stringify(other.body));
    } finally {
      for (const { socket } of many) socket.destroy();
    }
  }
  // What was held is given back.
  await until("the greedy one may speak again", async () => {
    const large = { name: "x", description: "y".repeat(limits.jsonBodyBytes / 2) };
    return (await call(control.url, greedy.secret, "POST", "/v1/computers", large)).status === 400;
  });
});

test("97: who signs in has little to say", async () => {
  const large = { name: "owner", passphrase: "x".repeat(limits.publicBodyBytes) };
  const reply = await call(control.url, undefined, "POST", "/v1/sessions", large);
  assert.deepEqual([reply.status, reply.body["code"]], [413, "too_large"]);
});

test("97: a body that does not come is answered as such and not waited for, at either door", {
  timeout: 60_000,
}, async (context) => {
  // Here a wait ends after a tenth of its time.
  const clock: Clock = { ...systemClock, after: (ms, then) => systemClock.after(ms / 10, then) };
  const { control: hurried, key } = await startWithKey(context, postgres, { clock });
  const all = ["/v1/computers", "/mcp"].map((path) =>
    open(`${head(path, key.secret, ["Content-Length: 9"])}{`, hurried.port),
  );
  await until("both are let go", () => all.every(({ closed }) => closed()), { withinMs: hangMs });
  // They are told why: a connection that is only reset teaches nobody.
  for (const { reply } of all) {
    assert.equal(statusOf(reply()), 504, reply());
    assert.match(reply(), /timed_out/);
  }
});
