import type { Instance } from "../../support/instance.ts";
import { temporaryDirectory } from "../../support/temporary.ts";
import { summarize, type Summary } from "../statistics.ts";
import { residentMegabytes } from "../subjects/holdfast.ts";
import { digestOf, firstEventMs, idleWebSockets, readSlowly, stalledReader, type Target } from "./clients.ts";
import { type Load, load } from "./load.ts";
import { type Proxy, startLibrary, startNginx } from "./proxies.ts";
import { openSite, type Site } from "./site.ts";
import { fetchTools, type Tools } from "./tools.ts";

export interface Addresses {
  readonly versions: Readonly<Record<string, string>>;
  readonly notRun: Readonly<Record<string, string>>;
  /** By proxy, one entry for each round: 32 connections, and one. */
  readonly many: Readonly<Record<string, readonly Load[]>>;
  readonly one: Readonly<Record<string, readonly Load[]>>;
  /** Milliseconds to the first event of a stream. */
  readonly events: { readonly gateway: Summary; readonly direct: Summary };
  readonly slowReader: {
    readonly megabytes: number;
    readonly residentMegabytes: number;
    readonly whole: boolean;
  };
  readonly webSockets: { readonly count: number; readonly projects: number; readonly megabytes: number };
  /** p99 of others, by round, without and with a client that reads nothing. */
  readonly beside: { readonly alone: Summary; readonly stalled: Summary };
}

const libraries = ["httpxy", "http-proxy-3", "fastify-http-proxy"] as const;
const firstPort = 17_400;

/** Everything about addresses. gateway and the peers take turns on one core; load, apps and the rest have the other. */
export const measureAddresses = async (
  instance: Instance,
  options: {
    readonly rounds: number;
    readonly seconds: number;
    readonly projects: number;
    readonly sockets: number;
  },
): Promise<Addresses> => {
  const tools = await fetchTools();
  const directory = temporaryDirectory("addresses");
  const site = await openSite(instance, directory.path, options.projects);
  const notRun: Record<string, string> = {};
  const proxies: Proxy[] = [site.gateway];
  const start = async (name: string, begin: () => Promise<Proxy>): Promise<void> => {
    try {
      proxies.push(await begin());
    } catch (error) {
      notRun[name] = error instanceof Error ? error.message : String(error);
    }
  };
  try {
    await start("nginx", () =>
      startNginx({
        tools,
        directory: directory.path,
        upstreams: { [hostName(site.plain)]: site.plainSocket, [hostName(site.rich)]: site.richSocket },
        port: firstPort,
      }),
    );
    for (const [index, name] of libraries.entries())
      await start(name, () =>
        startLibrary(name, {
          modules: tools.modules,
          upstream: site.plainSocket,
          port: firstPort + 1 + index,
        }),
      );
    const many: Record<string, Load[]> = {};
    const one: Record<string, Load[]> = {};
    // The first round warms up and is not counted.
    for (let round = 0; round <= options.rounds; round += 1)
      for (let index = 0; index < proxies.length; index += 1) {
        const proxy = proxies[(index + round) % proxies.length];
        if (!proxy) continue;
        const target = { port: proxy.port, host: site.plain };
        const crowd = await load(tools, target, { connections: 32, seconds: options.seconds });
        const single = await load(tools, target, { connections: 1, seconds: options.seconds });
        if (round === 0) continue;
        (many[proxy.name] ??= []).push(crowd);
        (one[proxy.name] ??= []).push(single);
      }
    return {
      versions: tools.versions,
      notRun,
      many,
      one,
      events: await events(site),
      slowReader: await slowReader(site),
      webSockets: await webSockets(site, options.sockets),
      beside: await beside(tools, site, options),
    };
  } finally {
    for (const proxy of proxies) await proxy.close();
    await site.close();
    directory.remove();
  }
};

const events = async (site: Site): Promise<Addresses["events"]> => {
  const ways: Readonly<Record<"gateway" | "direct", Target>> = {
    gateway: { port: site.gateway.port, host: site.rich },
    direct: { path: site.richSocket, host: site.rich },
  };
  const samples = { gateway: [] as number[], direct: [] as number[] };
  for (let round = 0; round < 50; round += 1)
    for (const way of ["gateway", "direct"] as const) samples[way].push(await firstEventMs(ways[way]));
  return { gateway: summarize(samples.gateway), direct: summarize(samples.direct) };
};

const slowReader = async (site: Site): Promise<Addresses["slowReader"]> => {
  const bytes = 100 * 1000 * 1000;
  const target = { port: site.gateway.port, host: site.rich };
  let most = 0;
  let reading = true;
  const watch = (async () => {
    while (reading) {
      most = Math.max(most, await residentMegabytes(site.gateway.pid));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  const digest = await readSlowly(target, bytes, 10 * 1000 * 1000);
  reading = false;
  await watch;
  return { megabytes: bytes / 1e6, residentMegabytes: most, whole: digest === digestOf(bytes) };
};

const webSockets = async (site: Site, count: number): Promise<Addresses["webSockets"]> => {
  const before = await residentMegabytes(site.gateway.pid);
  const sockets = await idleWebSockets(site.gateway.port, site.hosts, count);
  await new Promise((resolve) => setTimeout(resolve, 3000));
  const megabytes = (await residentMegabytes(site.gateway.pid)) - before;
  for (const socket of sockets) socket.destroy();
  return { count, projects: site.hosts.length, megabytes };
};

const beside = async (
  tools: Tools,
  site: Site,
  options: { readonly rounds: number; readonly seconds: number },
): Promise<Addresses["beside"]> => {
  const target = { port: site.gateway.port, host: site.plain };
  const alone: number[] = [];
  const stalled: number[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    alone.push((await load(tools, target, { connections: 8, seconds: options.seconds })).p99Ms);
    const slow = await stalledReader(site.gateway.port, site.rich);
    stalled.push((await load(tools, target, { connections: 8, seconds: options.seconds })).p99Ms);
    slow.destroy();
  }
  return { alone: summarize(alone), stalled: summarize(stalled) };
};

const hostName = (host: string): string => host.split(":", 1)[0] ?? "";
