import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { limits, type PublicRule, type Right, type Route } from "@holdfast/contract";
import { createLogger, systemClock } from "@holdfast/kit";
import { type App, startApp } from "../../../packages/gateway/src/app.ts";
import { nobodysProject } from "../../../packages/gateway/src/rights/nobodys-project.ts";
import { type FakeAgent, type Inside, startAgent } from "./agent.ts";
import { type FakeControl, startControl } from "./control.ts";

export const domain = "holdfast.test";

export interface Bed {
  readonly app: App;
  readonly port: number;
  readonly control: FakeControl;
  /** A project behind `<slug>.holdfast.test`, on a computer of its own; `inside` stands behind its web service's port. */
  project(
    slug: string,
    inside: Inside | undefined,
    published?: readonly PublicRule[] | null,
  ): Promise<Project>;
  /** Writes bytes as they are and answers all that comes back until the gateway closes, or `quietMs` of silence after the first of it. */
  raw(bytes: string | Buffer | readonly (string | Buffer)[], quietMs?: number): Promise<string>;
  dial(): Promise<Socket>;
  /** Moves the gateway's clock on; what is due then happens within its next look, half a second away. */
  advance(ms: number): void;
}

export interface Project {
  readonly host: string;
  readonly route: Route;
  readonly agent: FakeAgent;
  readonly socketPath: string;
  /** Gives the credential a right on this project. */
  allow(kind: "cookie" | "header", token: string, right?: Partial<Right>): Right;
  forbid(kind: "cookie" | "header", token: string): void;
}

export const everything: readonly PublicRule[] = [{ methods: null, path: "/*" }];
export const webPort = 20_000;
/** Longest wait for an answer to begin. */
const rawMs = 10_000;

const id = (prefix: string, number: number): string => `${prefix}_${String(number).padStart(20, "0")}`;

/** A gateway of its own program parts, with a control and agents that do what the test says. */
export const startBed = async (
  context: Pick<TestContext, "after">,
  options: { readonly tls?: "none" | "proxy"; readonly domain?: string } = {},
): Promise<Bed> => {
  const directory = await mkdtemp(join(tmpdir(), "hf-test-gateway-"));
  const zone = options.domain ?? domain;
  const controlSocket = join(directory, "control.sock");
  const control = await startControl(controlSocket);
  const agents: FakeAgent[] = [];
  let movedMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + movedMs };
  const app = startApp({
    instance: "test",
    domain: zone,
    address: new URL("http://127.0.0.1:7300"),
    tls: options.tls ?? "none",
    controlSocket,
    certificate: undefined,
    descriptors: Infinity,
    clock,
    logger: createLogger({ program: "gateway", now: Date.now, write: () => {} }),
    ingressPath: (computerId) => join(directory, `${computerId}.sock`),
  });
  const port = await app.visits.listen({ host: "127.0.0.1", port: 0 });
  context.after(async () => {
    for (const agent of agents) await agent.close();
    await control.stop();
    await app.stop();
    await rm(directory, { recursive: true, force: true });
  });
  let count = 0;

  const bed: Bed = {
    app,
    port,
    control,
    project: async (slug, inside, published = null) => {
      count += 1;
      const number = count;
      const route: Route = {
        project_id: id("prj", number),
        slug,
        computer_id: id("cmp", number),
        port: webPort,
        published: published === null ? null : [...published],
        removed: false,
      };
      const socketPath = join(directory, `${route.computer_id}.sock`);
      const agent = await startAgent(socketPath, (asked) => (asked === webPort ? inside : undefined));
      agents.push(agent);
      control.route(route);
      await until(() => app.notReady() === undefined);
      await heard(bed, slug, `1--${slug}.${zone}`);
      const key = (kind: string, token: string): string => `${route.project_id} ${kind} ${token}`;
      return {
        host: `${slug}.${zone}`,
        route,
        agent,
        socketPath,
        allow: (kind, token, right) => {
          const given: Right = {
            id: `${kind}-${token}`,
            who: "owner",
            subject: "own_1",
            ports: true,
            expires_at_ms: Date.now() + 3_600_000,
            ...right,
          };
          control.rights.set(key(kind, token), given);
          return given;
        },
        forbid: (kind, token) => void control.rights.delete(key(kind, token)),
      };
    },
    advance: (ms) => {
      movedMs += ms;
    },
    dial: () =>
      new Promise((resolve, reject) => {
        const socket = connect({ port, host: "127.0.0.1" });
        socket.once("error", reject);
        socket.once("connect", () => {
          socket.off("error", reject);
          socket.on("error", () => {});
          resolve(socket);
        });
      }),
    raw: async (bytes, quietMs = 1000) => {
      const socket = await bed.dial();
      const pieces: Buffer[] = [];
      socket.on("data", (piece) => pieces.push(piece));
      const closed = new Promise<void>((resolve) => {
        // Under load the first byte takes its time: silence counts from there, and the whole has a bound of its own.
        const cancel = systemClock.after(rawMs + quietMs, () => socket.destroy());
        socket.once("data", () => socket.setTimeout(quietMs, () => socket.destroy()));
        socket.once("close", () => {
          cancel();
          resolve();
        });
      });
      const parts = typeof bytes === "string" || Buffer.isBuffer(bytes) ? [bytes] : bytes;
      for (const part of parts) {
        socket.write(typeof part === "string" ? Buffer.from(part, "latin1") : part);
        if (parts.length > 1) await systemClock.sleep(2);
      }
      await closed;
      return Buffer.concat(pieces).toString("latin1");
    },
  };
  return bed;
};

/** The route has arrived: a credential that nobody has is asked about for its own project. */
const heard = async (bed: Bed, slug: string, host: string): Promise<void> => {
  await until(async () => {
    const before = bed.control.calls.length;
    await bed.raw(`GET / HTTP/1.1\r\nHost: ${host}\r\nHoldfast-Key: -\r\nConnection: close\r\n\r\n`);
    const asked = bed.control.calls.slice(before).find(({ method }) => method === "right.find");
    return (
      asked !== undefined && (asked.params as { project_id: string }).project_id !== nobodysProject(slug)
    );
  });
  bed.control.calls.length = 0;
};

/** Waits for what must come true; throws when it does not within `limitMs`. */
export const until = async (
  holds: () => boolean | Promise<boolean>,
  limitMs: number = limits.visitHeadMs,
): Promise<void> => {
  const end = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > end)
      throw new Error(`it did not come true within ${limitMs} ms: ${String(holds)}`);
    await systemClock.sleep(5);
  }
};

export interface TestApp {
  readonly port: number;
  /** Requests that came, as Node saw them. */
  readonly seen: {
    readonly method: string;
    readonly url: string;
    readonly headers: readonly string[];
    body: string;
  }[];
  /** Takes upgrades; without it the app refuses them. */
  onUpgrade(take: (request: IncomingMessage, socket: Duplex, head: Buffer) => void): void;
}

/** A Node web app in the test process. Without a handler it answers with what it saw. */
export const startTestApp = async (
  context: Pick<TestContext, "after">,
  handler?: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<TestApp> => {
  const seen: TestApp["seen"] = [];
  const server: Server = createServer((request, response) => {
    const entry = {
      method: request.method ?? "",
      url: request.url ?? "",
      headers: request.rawHeaders,
      body: "",
    };
    seen.push(entry);
    if (handler) return handler(request, response);
    request.setEncoding("latin1");
    request.on("data", (text: string) => (entry.body += text));
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(entry));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    onUpgrade: (take) => void server.on("upgrade", take),
  };
};

export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
export const bodyOf = (answer: string): string => answer.slice(answer.indexOf("\r\n\r\n") + 4);
