import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { createServer, type AddressInfo, type ListenOptions, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { connect as connectTls } from "node:tls";
import { gatewayLauncherMethods } from "@holdfast/contract";
import { createRpcClient, systemClock } from "@holdfast/kit";
import { makeCertificate } from "../../../test/support/certificate.ts";
import { statusOf, until } from "../../../test/support/gateway/bed.ts";
import { startControl } from "../../../test/support/gateway/control.ts";
import { raw } from "../../../test/support/raw.ts";

/** A listening socket to hand down. Not accepted from here: the program's own copy is another. */
const listening = async (where: ListenOptions): Promise<{ server: Server; fd: number; port: number }> => {
  const server = createServer({ pauseOnConnect: true });
  server.listen(where);
  await once(server, "listening");
  const { fd } = (server as unknown as { readonly _handle: { readonly fd: number } })._handle;
  const address = server.address();
  return { server, fd, port: typeof address === "object" ? ((address as AddressInfo | null)?.port ?? 0) : 0 };
};

/** The program as the launcher starts it: sockets from descriptor 3 on, and its environment. */
const startProgram = async (context: TestContext, environment: Readonly<Record<string, string>>) => {
  const directory = await mkdtemp(join(tmpdir(), "hf-test-gateway-"));
  const launcherSocket = join(directory, "launcher.sock");
  const sockets = [
    await listening({ path: `${launcherSocket}.new` }),
    await listening({ port: 0, host: "127.0.0.1" }),
    await listening({ port: 0, host: "127.0.0.1" }),
  ];
  // Whose listener is closed here takes its path along: under another name it stays.
  await rename(`${launcherSocket}.new`, launcherSocket);
  const child: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, "main.ts")], {
    env: {
      PATH: process.env["PATH"],
      HOLDFAST_INSTANCE: "test",
      HOLDFAST_DOMAIN: "holdfast.test",
      HOLDFAST_ADDRESS: "http://127.0.0.1:7300",
      HOLDFAST_LAUNCHER_DESCRIPTOR: "3",
      HOLDFAST_ASK_DESCRIPTOR: "4",
      HOLDFAST_VISIT_DESCRIPTORS: "5",
      HOLDFAST_CONTROL_SOCKET: join(directory, "control.sock"),
      ...environment,
    },
    stdio: ["ignore", "inherit", "inherit", ...sockets.map(({ fd }) => fd)],
  });
  for (const { server } of sockets) server.close();
  const client = createRpcClient({
    path: launcherSocket,
    methods: gatewayLauncherMethods,
    clock: systemClock,
  });
  context.after(async () => {
    client.close();
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await rm(directory, { recursive: true, force: true });
  });
  return { child, client, directory, ask: sockets[1]?.port ?? 0, visits: sockets[2]?.port ?? 0 };
};

test("the program serves on what it inherits, says when it is ready, and ends when told to", async (context) => {
  const { child, client, directory, ask, visits } = await startProgram(context, {});
  await until(() =>
    client.call("health", {}).then(({ ready, detail }) => !ready && detail.includes("control")),
  );
  const control = await startControl(join(directory, "control.sock"));
  context.after(() => control.stop());
  await until(() => client.call("health", {}).then(({ ready }) => ready));
  assert.equal(
    statusOf(await raw(visits, "GET / HTTP/1.1\r\nHost: a.holdfast.test\r\nConnection: close\r\n\r\n")),
    404,
  );
  assert.equal((await fetch(`http://127.0.0.1:${ask}/ask?domain=a.holdfast.test`)).status, 404);
  child.kill("SIGTERM");
  assert.deepEqual(await once(child, "exit"), [0, null]);
});

test("with a certificate of ours it speaks TLS, HTTP/1.1 alone, and no plain HTTP", async (context) => {
  const files = await mkdtemp(join(tmpdir(), "hf-test-gateway-tls-"));
  context.after(() => rm(files, { recursive: true, force: true }));
  const [chain, key] = [join(files, "chain.pem"), join(files, "key.pem")];
  await makeCertificate({ chain, key }, "DNS:*.holdfast.test");
  const { client, directory, visits } = await startProgram(context, {
    HOLDFAST_TLS: "own",
    HOLDFAST_TLS_CERTIFICATE: chain,
    HOLDFAST_TLS_KEY: key,
  });
  const control = await startControl(join(directory, "control.sock"));
  context.after(() => control.stop());
  await until(() => client.call("health", {}).then(({ ready }) => ready));
  const ask = (protocols: string[]): Promise<{ answer: string; protocol: string | false | null }> =>
    new Promise((resolve, reject) => {
      const socket = connectTls({
        port: visits,
        host: "127.0.0.1",
        servername: "a.holdfast.test",
        rejectUnauthorized: false,
        ALPNProtocols: protocols,
      });
      let answer = "";
      socket.on("error", reject);
      socket.on("data", (piece: Buffer) => (answer += piece.toString("latin1")));
      socket.on("close", () => resolve({ answer, protocol: socket.alpnProtocol }));
      socket.write("GET / HTTP/1.1\r\nHost: a.holdfast.test\r\nConnection: close\r\n\r\n");
    });
  const { answer, protocol } = await ask(["h2", "http/1.1"]);
  assert.equal(statusOf(answer), 404);
  assert.equal(protocol, "http/1.1");
  await assert.rejects(ask(["h2"]));
  // Plain HTTP on the same port is no way around it.
  assert.equal(statusOf(await raw(visits, "GET / HTTP/1.1\r\nHost: a.holdfast.test\r\n\r\n", 300)), 0);
});

test("an environment that does not fit is said, and the program ends", async (context) => {
  const { child } = await startProgram(context, { HOLDFAST_DOMAIN: "Not A Domain" });
  assert.deepEqual(await once(child, "exit"), [1, null]);
});
