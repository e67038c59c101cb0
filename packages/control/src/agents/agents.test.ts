import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { frameType, HoldfastError } from "@holdfast/contract";
import { systemClock } from "@holdfast/kit";
import { type Agent, AgentFault, AgentUnreachable } from "../domain/agents.ts";
import { SocketAgents } from "./agents.ts";
import { encodeFrame, FrameDecoder } from "./frames.ts";

/** A peer that says what a test wants: the real agent cannot be made to break its own protocol. */
type Script = (peer: {
  readonly socket: Socket;
  readonly call: () => Promise<{ protocol: number; method: string; params: unknown }>;
  readonly say: (type: 1 | 3 | 4 | 5 | 6 | 7 | 8, payload: unknown) => void;
  readonly nth: number;
}) => Promise<void> | void;

const hello = {
  protocol: 1,
  oldest: 1,
  agent: "0.0.0-test",
  features: [],
  boot: "00112233445566778899aabbccddeeff",
};

const entry = {
  path: "/work/a",
  name: "a",
  kind: "file",
  size_bytes: 1,
  mode: 0o644,
  uid: 0,
  gid: 0,
  modified_at_ms: 1,
  target: null,
  version: "1",
};

describe("the client of the agent protocol, against hostile and broken peers", () => {
  let directory: string;
  let server: Server | undefined;
  const sockets = new Set<Socket>();

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "holdfast-agents-"));
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
    server = undefined;
    rmSync(directory, { recursive: true });
  });

  const agentWith = async (
    script: Script,
    options: { versions?: { current: number; oldest: number }; stallMs?: number } = {},
  ): Promise<Agent> => {
    const path = join(directory, "control.sock");
    let nth = 0;
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      nth += 1;
      const decoder = new FrameDecoder();
      const calls: unknown[] = [];
      let wake = (): void => {};
      socket.on("data", (chunk) => {
        decoder.push(chunk);
        for (let frame = decoder.next(); frame; frame = decoder.next())
          if (frame.type === frameType.call) calls.push(JSON.parse(frame.payload.toString()));
        wake();
      });
      const call = async () => {
        while (calls.length === 0) await new Promise<void>((resolve) => (wake = resolve));
        return calls.shift() as { protocol: number; method: string; params: unknown };
      };
      const say = (type: 1 | 3 | 4 | 5 | 6 | 7 | 8, payload: unknown): void => {
        const bytes = payload instanceof Uint8Array ? payload : Buffer.from(JSON.stringify(payload));
        socket.write(encodeFrame(type, bytes));
      };
      void Promise.resolve(script({ socket, call, say, nth })).catch(() => {});
    });
    await new Promise<void>((resolve) => server?.listen(path, resolve));
    return new SocketAgents({
      socketPath: () => path,
      clock: systemClock,
      limits: { greetingMs: 300, stallMs: options.stallMs ?? 300 },
      ...(options.versions ? { versions: options.versions } : {}),
    }).of("cmp_test");
  };

  const unreachable = (begun: boolean) => (error: unknown) => {
    assert.ok(error instanceof AgentUnreachable, String(error));
    assert.equal(error.code, "cell_unreachable");
    assert.equal(error.begun, begun);
    return true;
  };

  it("answers a plain call, and gives the agent's refusal as an error of our table", async () => {
    const agent = await agentWith(async ({ say, call, nth }) => {
      say(1, hello);
      await call();
      if (nth === 1) say(3, entry);
      else say(4, { code: "not_found", message: "no\u001b[2J such\nthing", details: { errno: 2 } });
    });
    assert.equal((await agent.plain("files.stat", { path: "/work/a" })).size_bytes, 1);
    await assert.rejects(agent.plain("files.stat", { path: "/work/b" }), (error: unknown) => {
      assert.ok(error instanceof AgentFault);
      assert.equal(error.code, "file_not_found");
      assert.equal(error.message, "no [2J such thing");
      assert.equal(error.details["errno"], 2);
      return true;
    });
  });

  it("is `cell_unreachable`, not begun, when nothing listens or nobody greets", async () => {
    const nobody = new SocketAgents({ socketPath: () => join(directory, "none"), clock: systemClock });
    await assert.rejects(nobody.of("cmp_x").plain("agent.info", {}), unreachable(false));
    const silent = await agentWith(() => {});
    await assert.rejects(silent.plain("files.delete", { path: "/work/a" }), unreachable(false));
  });

  it("sends a call that must not be done twice only after HELLO", async () => {
    let before = -1;
    const agent = await agentWith(async ({ socket, say, call }) => {
      await pause(50);
      before = socket.bytesRead;
      say(1, hello);
      await call();
      say(3, { deleted: 1 });
    });
    assert.equal((await agent.plain("files.delete", { path: "/work/a" })).deleted, 1);
    assert.equal(before, 0);
  });

  for (const [what, script] of Object.entries<Script>({
    "no HELLO first": ({ say }) => say(3, {}),
    "HELLO that is not JSON": ({ say }) => say(1, Buffer.from("{")),
    "HELLO that does not fit": ({ say }) => say(1, { ...hello, boot: "x" }),
    "HELLO with a range upside down": ({ say }) => say(1, { ...hello, oldest: 3, protocol: 2 }),
    "an HTTP server": ({ socket }) => void socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"),
    "a frame over the limit": ({ socket }) => void socket.write(Buffer.from([0, 16, 0, 1, 3])),
    "a version from the future only": ({ say }) => say(1, { ...hello, oldest: 7, protocol: 9 }),
  }))
    it(`refuses before the call: ${what}`, async () => {
      await assert.rejects(
        (await agentWith(script)).plain("files.delete", { path: "/a" }),
        unreachable(false),
      );
    });

  for (const [what, script] of Object.entries<Script>({
    "a result that does not fit": ({ say }) => say(3, { ...entry, size_bytes: -1 }),
    "a result with a path over 4,096": ({ say }) => say(3, { ...entry, path: "/".repeat(5000) }),
    "deep JSON": ({ say }) => say(3, Buffer.from("[".repeat(500_000) + "]".repeat(500_000))),
    "a frame that is not due": ({ say }) => say(5, Buffer.from("x")),
    "a second HELLO": ({ say }) => say(1, hello),
    "an error that does not fit": ({ say }) => say(4, { code: 5 }),
    silence: () => {},
    "a hang-up": ({ socket }) => void socket.end(),
    "half a frame, then a hang-up": ({ socket }) => void socket.end(Buffer.from([0, 0, 1, 0, 3, 1])),
  }))
    it(`refuses after the call: ${what}`, async () => {
      const agent = await agentWith(async (peer) => {
        peer.say(1, hello);
        await peer.call();
        await script(peer);
      });
      await assert.rejects(agent.plain("files.stat", { path: "/a" }), unreachable(true));
    });

  it("takes an unknown error code as `internal`, an unknown field as not said", async () => {
    const agent = await agentWith(async ({ say, call, nth }) => {
      say(1, { ...hello, more: 1 });
      await call();
      if (nth === 1) say(4, { code: "made_up", message: "?" });
      else say(3, { ...entry, __proto__: { polluted: true }, extra: 1 });
    });
    await assert.rejects(agent.plain("files.stat", { path: "/a" }), { code: "internal" });
    assert.ok(!("extra" in (await agent.plain("files.stat", { path: "/a" }))));
  });

  it("speaks the version before to an older agent, and remembers it", async () => {
    const asked: number[] = [];
    const agent = await agentWith(
      async ({ say, call }) => {
        say(1, hello);
        asked.push((await call()).protocol);
        say(3, entry);
      },
      { versions: { current: 2, oldest: 1 } },
    );
    await agent.plain("files.stat", { path: "/a" });
    await agent.plain("files.stat", { path: "/a" });
    assert.deepEqual(asked.slice(-2), [1, 1]);
    assert.ok(asked.length <= 3);
  });

  it("refuses frames in a stream that the method does not carry", async () => {
    const head = { first_cursor: 0, next_cursor: 0, dropped_bytes: 0, ended: false };
    for (const [type, payload] of [
      [5, Buffer.from("x")],
      [8, Buffer.from([3, 1])],
      [7, { type: "x" }],
      [3, {}],
    ] as const) {
      const agent = await agentWith(async ({ say, call }) => {
        say(1, hello);
        await call();
        say(3, head);
        say(type, payload);
      });
      const download = await agent.download("output.read", { id: "prc_x", cursor: 0, max_bytes: 10 });
      await assert.rejects(drain(download.pieces), unreachable(true));
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server?.close(resolve));
    }
  });

  it("stops an upload when the agent refuses early, and closes the caller's stream", async () => {
    let closed = false;
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (;;) {
          yield Buffer.alloc(64 * 1024);
          await pause(1);
        }
      } finally {
        closed = true;
      }
    }
    const agent = await agentWith(async ({ say, call }) => {
      say(1, hello);
      await call();
      await pause(20);
      say(4, { code: "no_space", message: "full" });
    });
    await assert.rejects(agent.upload("files.write", { path: "/a" }, endless()), { code: "disk_full" });
    await pause(20);
    assert.ok(closed);
  });

  it("stops an upload at once while the caller's stream is silent", async () => {
    const agent = await agentWith(async ({ say, call }) => {
      say(1, hello);
      await call();
      say(4, { code: "is_a_directory", message: "a directory" });
    });
    const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    await assert.rejects(agent.upload("files.write", { path: "/a" }, silent), { code: "file_kind" });
  });

  it("ends an upload that the agent stops taking, and one whose source breaks", async () => {
    const stalled = await agentWith(async ({ socket, say, call }) => {
      say(1, hello);
      await call();
      socket.pause();
    });
    const big = [Buffer.alloc(8 * 1024 * 1024)];
    await assert.rejects(stalled.upload("files.write", { path: "/a" }, asStream(big)), unreachable(true));
    const broken = (async function* () {
      yield Buffer.from("x");
      throw new RangeError("the source broke");
    })();
    await assert.rejects(stalled.upload("files.write", { path: "/a" }, broken), RangeError);
  });

  it("ends a call with the signal's reason", async () => {
    const agent = await agentWith(({ say }) => say(1, hello), { stallMs: 60_000 });
    const abort = new AbortController();
    const call = agent.plain("files.stat", { path: "/a" }, { signal: abort.signal });
    await pause(20);
    abort.abort(new HoldfastError("timed_out", "enough"));
    await assert.rejects(call, { code: "timed_out", message: "enough" });
  });

  it("reads no faster than its reader: a flood stays in the agent", async () => {
    let written = 0;
    const agent = await agentWith(async ({ socket, say, call }) => {
      say(1, hello);
      await call();
      say(3, { first_cursor: 0, next_cursor: 0, dropped_bytes: 0, ended: false });
      const frame = encodeFrame(8, Buffer.alloc(64 * 1024, 1));
      while (!socket.destroyed) {
        if (!socket.write(frame)) await new Promise((resolve) => socket.once("drain", resolve));
        written += frame.length;
      }
    });
    const download = await agent.download("output.follow", { id: "prc_x", cursor: 0 }, { endless: true });
    const iterator = download.pieces[Symbol.asyncIterator]();
    await iterator.next();
    await pause(100);
    const stalledAt = written;
    assert.ok(stalledAt < 2 * 1024 * 1024, `${stalledAt} bytes left the peer`);
    await pause(100);
    assert.equal(written, stalledAt);
    for (let count = 0; count < 100; count += 1) assert.ok(!(await iterator.next()).done);
    await iterator.return?.();
  });

  it("holds a bounded number of calls to one agent and gives the slots back", async () => {
    const agent = await agentWith(({ say }) => say(1, hello), { stallMs: 400 });
    const calls = Array.from({ length: 140 }, () =>
      agent.plain("agent.info", {}).catch((error: unknown) => error),
    );
    const codes = (await Promise.all(calls)).map((error) => (error as HoldfastError).code);
    assert.equal(codes.filter((code) => code === "limit_reached").length, 12);
    await assert.rejects(agent.plain("agent.info", {}), unreachable(true));
  });
});

const drain = async (pieces: AsyncIterable<unknown>): Promise<void> => {
  for await (const piece of pieces) assert.ok(piece);
};

async function* asStream(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
