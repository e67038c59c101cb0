import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test, type TestContext } from "node:test";
import { limits } from "@holdfast/contract";
import { createComputer } from "../support/computer.ts";
import { openSite, type Site } from "../support/site/site.ts";
import { dial, head, type Talk } from "../support/talk.ts";
import { hangMs, until } from "../support/until.ts";
import { useAssistant } from "../support/use.ts";

const { instance, assistant } = await useAssistant();
const neighbour = await instance.assistant();
/** The one that is attacked, and one of another assistant's computer. */
const site = await openSite({ instance, assistant, computer: await createComputer(assistant) }, "busy");
const other = await openSite(
  { instance, assistant: neighbour, computer: await createComputer(neighbour) },
  "calm",
);
await site.publish();
await other.publish();
const { port } = instance.projects;

/** Every one of loopback's addresses is another visitor to the gateway. */
const attacker = (number: number): string => `127.7.0.${number + 1}`;
const bystander = "127.8.0.1";

let open: Talk[] = [];
before(() => void (open = []));
const hold = async (bytes: string | Uint8Array, from: string): Promise<Talk> => {
  const talk = await dial(port, bytes, from);
  open.push(talk);
  return talk;
};
const letGo = (): void => {
  for (const talk of open.splice(0)) talk.end();
};
after(letGo);

/**
 * Other visitors meanwhile, each on a connection of its own, by turns of both projects; resolves when all are served. How long they waited is
 * said: 1 s is promised to those of other projects (p99), while those of the attacked one may wait for what has stood still to be put out.
 */
const others = async (context: TestContext, what: string, { visits = 200 } = {}): Promise<void> => {
  const times = new Map<Site, number[]>([
    [site, []],
    [other, []],
  ]);
  for (let count = 0; count < visits; count += 1) {
    const at = count % 2 === 0 ? site : other;
    const since = performance.now();
    const talk = await dial(
      port,
      head(`GET /by?${count} HTTP/1.1`, at.host, ["Connection: close"]),
      bystander,
    );
    await talk.hears(/^HTTP\/1\.1 200 [^]*"app"/, hangMs);
    times.get(at)?.push(performance.now() - since);
    talk.end();
  }
  for (const [at, all] of times) {
    all.sort((a, b) => a - b);
    const share = (part: number): number => all[Math.ceil(all.length * part) - 1] ?? 0;
    const whose = at === site ? "the same project" : "another";
    context.diagnostic(
      `${what}: visitors of ${whose} p50 ${share(0.5).toFixed(1)} ms, p99 ${share(0.99).toFixed(1)} ms, max ${share(1).toFixed(1)} ms`,
    );
  }
};

const gatewayMemoryMb = async (): Promise<number> => {
  const { gateway } = await instance.programs();
  const status = await readFile(`/proc/${gateway?.pid ?? ""}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
};

/** CPU time that gateway has used, in hundredths of a second. */
const gatewayTicks = async (): Promise<number> => {
  const { gateway } = await instance.programs();
  const fields =
    (await readFile(`/proc/${gateway?.pid ?? ""}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
};

test("97: heads that come a byte at a time: others are served, and each ends in its time", {
  timeout: 60_000,
}, async (context) => {
  const many = await Promise.all(
    Array.from({ length: 400 }, (_, number) => hold("GET / HT", attacker(number % 4))),
  );
  const began = performance.now();
  const drip = setInterval(() => {
    for (const { socket } of many) if (socket.writable) socket.write("T");
  }, 500);
  try {
    await others(context, "400 slow heads");
    await until("all have ended", () => many.every(({ closedAt }) => closedAt !== undefined), {
      withinMs: limits.visitHeadMs + 20_000,
    });
    context.diagnostic(
      `the last ended after ${((Math.max(...many.map(({ closedAt }) => closedAt ?? 0)) - began) / 1000).toFixed(1)} s`,
    );
  } finally {
    clearInterval(drip);
    letGo();
  }
});

test("97: thousands of sockets that say nothing: others are served, and the sockets end", {
  timeout: 120_000,
}, async (context) => {
  const memoryBefore = await gatewayMemoryMb();
  const addresses = 5;
  const each = 1900;
  for (let from = 0; from < addresses; from += 1)
    for (let begun = 0; begun < each; begun += 100)
      await Promise.all(Array.from({ length: 100 }, () => hold("", attacker(from))));
  const count = (): number => open.filter(({ closedAt }) => closedAt === undefined).length;
  context.diagnostic(
    `${count()} idle sockets open, gateway has ${Math.round((await gatewayMemoryMb()) - memoryBefore)} MB more`,
  );
  await others(context, "idle sockets");
  await until("all have ended", () => count() === 0, {
    withinMs: limits.visitHeadMs + 30_000,
    detail: () => String(count()),
  });
  letGo();
});

test("97: one address with more sockets than it may have puts out its own, not another's", {
  timeout: 60_000,
}, async (context) => {
  const mine = await dial(port, head("GET /kept HTTP/1.1", site.host), bystander);
  await mine.hears('"url":"/kept"');
  for (let begun = 0; begun < limits.visitSocketsPerAddress + 300; begun += 100)
    await Promise.all(Array.from({ length: 100 }, () => hold("", attacker(0))));
  await others(context, "one address's flood", { visits: 40 });
  assert.equal(mine.closedAt, undefined);
  mine.send(head("GET /kept-still HTTP/1.1", site.host));
  await mine.hears('"url":"/kept-still"');
  mine.end();
  letGo();
});

test("97: bodies that stop coming hold up nobody, of the same project or another, and end", {
  timeout: 90_000,
}, async (context) => {
  const slow = limits.visitUpstreamSockets + 50;
  const many = await Promise.all(
    Array.from({ length: slow }, (_, number) =>
      hold(`${head("POST /slow HTTP/1.1", site.host, ["Content-Length: 1000"])}x`, attacker(number % 4)),
    ),
  );
  await others(context, `${slow} slow bodies`);
  await until("all have ended", () => many.every(({ closedAt }) => closedAt !== undefined), {
    withinMs: limits.visitBodyStallMs + 30_000,
    detail: () => String(many.filter(({ closedAt }) => closedAt === undefined).length),
  });
  letGo();
});

test("97: readers that stop reading hold up nobody, and cost the gateway little", {
  timeout: 90_000,
}, async (context) => {
  const memoryBefore = await gatewayMemoryMb();
  const readers = 200;
  await Promise.all(
    Array.from({ length: readers }, async (_, number) => {
      const talk = await hold("", attacker(number % 4));
      talk.socket.pause();
      talk.send(head("GET /down?bytes=50000000 HTTP/1.1", site.host));
    }),
  );
  // Until they stand still they are as many downloads at full speed, which cost the machine what they cost.
  await others(context, `${readers} readers begin`, { visits: 60 });
  let ticks = 0;
  await until(
    "gateway has nothing more to bring them",
    async () => {
      const now = await gatewayTicks();
      const rests = now - ticks < 10;
      ticks = now;
      if (!rests) await new Promise((resolve) => setTimeout(resolve, 500));
      return rests;
    },
    { withinMs: 30_000 },
  );
  await others(context, `${readers} readers that stand still`);
  const more = (await gatewayMemoryMb()) - memoryBefore;
  context.diagnostic(`gateway has ${Math.round(more)} MB more for ${readers} of them`);
  assert.ok(more < 200, `${more} MB`);
  letGo();
  await until("the app is asked by others as before", async () => {
    const talk = await dial(port, head("GET /after HTTP/1.1", site.host, ["Connection: close"]), bystander);
    await talk.closes();
    return talk.text.startsWith("HTTP/1.1 200 ");
  });
});
