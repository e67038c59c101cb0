import { execFile, fork } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { ingressSocketPath } from "@holdfast/contract";
import { pidsOf } from "../../support/computer.ts";
import type { Assistant, Instance } from "../../support/instance.ts";
import { end, type Proxy, proxyCore, restCore } from "./proxies.ts";

export interface Site {
  /** Host names of the plain app, and of the streaming one. */
  readonly plain: string;
  readonly rich: string;
  /** Sockets that lead to the two apps without the agent's protocol: the way of the peers. */
  readonly plainSocket: string;
  readonly richSocket: string;
  /** Host names of all projects whose app takes WebSockets, the first of them `rich`. */
  readonly hosts: readonly string[];
  readonly gateway: Proxy;
  close(): Promise<void>;
}

const plainPort = 21_000;
const firstRichPort = 21_001;
const perComputer = 19;

/**
 * Published projects on as many computers as they need, gateway on its core and everything else on the other, and a splice in front of the
 * first computer's ingress socket, by which gateway and all peers go.
 */
export const openSite = async (instance: Instance, directory: string, projects: number): Promise<Site> => {
  const assistant = await instance.assistant({ computers: 50 });
  const owner = await instance.owner();
  const hosts: string[] = [];
  const addresses: URL[] = [];
  const computers: string[] = [];
  const publish = async (slug: string): Promise<URL> =>
    new URL((await owner.projects.publish({ project: slug })).address);
  for (let made = 0; made < projects; ) {
    const count = Math.min(perComputer, projects - made);
    const ports = Array.from({ length: count }, (_, index) => firstRichPort + index);
    const computer = (
      await assistant.client.computers.create({ name: `site-${letters(computers.length)}`, size: "medium" })
    ).id;
    computers.push(computer);
    for (const [index, port] of ports.entries()) {
      const slug = `bench-${letters(computers.length - 1)}-${letters(index)}`;
      // One app serves all ports of a computer: what counts is how many projects gateway keeps apart.
      const service =
        index === 0
          ? {
              name: "web",
              argv: ["node", "app.mjs"],
              port,
              environment: { PLAIN_PORT: String(plainPort), RICH_PORTS: ports.join(",") },
            }
          : { name: "web", argv: ["sleep", "infinity"], port, readiness: null };
      await makeProject(assistant, computer, slug, service);
      const address = await publish(slug);
      addresses.push(address);
      hosts.push(address.host);
    }
    made += count;
  }
  const [first = "", ...others] = computers;
  await makeProject(assistant, first, "bench-plain", {
    name: "web",
    argv: ["sleep", "infinity"],
    port: plainPort,
    readiness: null,
  });
  const plain = await publish("bench-plain");

  const plainSocket = join(directory, "plain.sock");
  const richSocket = join(directory, "rich.sock");
  const splice = await startSplice(instance, first, {
    [plainPort]: plainSocket,
    [firstRichPort]: richSocket,
  });
  const { gateway } = await instance.programs();
  const pid = gateway?.pid ?? 0;
  await pin(proxyCore, [String(pid)]);
  for (const computer of [first, ...others]) await pin(restCore, await pidsOf(computer));
  const programs = Object.values(await instance.programs()).filter(({ name }) => name !== "gateway");
  await pin(
    restCore,
    programs.flatMap((program) => (program.pid === null ? [] : [String(program.pid)])),
  );
  return {
    plain: plain.host,
    rich: hosts[0] ?? "",
    plainSocket,
    richSocket,
    hosts,
    gateway: { name: "gateway", port: Number(plain.port), pid, close: () => Promise.resolve() },
    close: splice,
  };
};

const makeProject = async (
  { client }: Assistant,
  computer: string,
  slug: string,
  service: { readonly name: string } & Record<string, unknown>,
): Promise<void> => {
  await client.projects.create({ computer, name: slug, slug, template: "blank" });
  await client.files.write({
    computer,
    path: `/work/${slug}/app.mjs`,
    content: await readFile(join(import.meta.dirname, "app.mjs"), "utf8"),
  });
  const { version } = await client.projects.get({ project: slug });
  await client.projects.update({
    project: slug,
    definition: { web: "web", services: [service as never] },
    if_match: version,
  });
  await client.projects.deploy({ project: slug, wait_ms: 20_000 });
};

/** Gives back what ends it; the cell's socket is then its own again. */
const startSplice = async (
  instance: Instance,
  computer: string,
  raws: Readonly<Record<string, string>>,
): Promise<() => Promise<void>> => {
  const socket = ingressSocketPath(instance.name, computer);
  const own = `${socket}.own`;
  const { uid, gid, mode } = await stat(socket);
  await rename(socket, own);
  const child = fork(
    join(import.meta.dirname, "splice.ts"),
    [own, socket, ...Object.entries(raws).map(([port, path]) => `${port}=${path}`)],
    {
      execPath: "/usr/bin/taskset",
      execArgv: ["-c", restCore, process.execPath],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    },
  );
  await once(child, "message", { signal: AbortSignal.timeout(10_000) });
  await chown(socket, uid, gid);
  await chmod(socket, mode & 0o777);
  return async () => {
    await end(child);
    await rename(own, socket);
  };
};

/** All threads of the processes; one that has ended meanwhile is no matter. */
const pin = async (core: string, pids: readonly string[]): Promise<void> => {
  for (const pid of pids) await promisify(execFile)("taskset", ["-acp", core, pid]).catch(() => undefined);
};

/** Names hold no digit after a hyphen. */
const letters = (index: number): string => "abcdefghijklmnopqrstuvwxyz"[index] ?? "zz";
