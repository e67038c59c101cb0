import { acknowledged, type Acknowledged } from "../guest/acknowledged.ts";
import { cloneInGuest } from "../guest-disk.ts";
import { asked, ceilings, comesUpAgain, type Context, guest, must, quoted } from "./context.ts";
import { afterBoot } from "./reboot.ts";

const fewest = 24;
const soMore = 12;

/** QEMU killed in the middle of acknowledged writes; after the next boot everything acknowledged is there, once. */
export const cutPower = async (context: Context): Promise<void> => {
  const { report } = context;
  report.section("a power cut");
  let done: readonly Acknowledged[] = [];
  await comesUpAgain(context, async () => {
    done = await writeUntilCut(context, fewest + context.random(soMore));
    context.machine = await context.startAgain();
  });
  await afterBoot(context);
  await report.check("every acknowledged write is there, nothing doubled", () => lookFor(context, done));
  await report.check("nothing is left of computers that are not there", async () => {
    const left = await asked(context.machine.hand, guest.program("leftovers"));
    must(left === "[]", left);
    return "no cgroup, mount, link, namespace, subvolume, socket or process";
  });
  await report.check("it serves: a new computer runs a command", async () => {
    await asked(context.machine.hand, `${guest.holdfast} computers create after --wait 50s`);
    return asked(context.machine.hand, `${guest.holdfast} exec after -- uname -a`);
  });
};

/** What had been acknowledged, as far as it had reached the host. */
const writeUntilCut = async (context: Context, count: number): Promise<readonly Acknowledged[]> => {
  const { machine, report } = context;
  const done: Acknowledged[] = [];
  let unfinished = "";
  const enough = Promise.withResolvers<void>();
  const running = machine.hand.run(guest.client("writes", "box"), {
    timeoutMs: ceilings.up,
    directory: cloneInGuest,
    onText: (text) => {
      const lines = (unfinished + text).split("\n");
      unfinished = lines.pop() ?? "";
      for (const line of lines) {
        const parsed = acknowledged.safeParse(parse(line));
        if (parsed.success) done.push(parsed.data);
      }
      if (done.length >= count) enough.resolve();
    },
  });
  const ended = running.then(({ text }) => {
    throw new Error(`the writes ended by themselves: ${text.slice(-2000)}`);
  });
  await Promise.race([enough.promise, ended]);
  ended.catch(() => undefined);
  report.note(`${done.length} writes acknowledged, the next under way: SIGKILL to QEMU (pid ${machine.pid})`);
  await machine.cutPower();
  return done;
};

const lookFor = async (context: Context, done: readonly Acknowledged[]): Promise<string> => {
  const changes = Buffer.from(done.map((change) => `${JSON.stringify(change)}\n`).join("")).toString(
    "base64",
  );
  await asked(context.machine.hand, `echo ${changes} | base64 --decode > /run/acknowledged`);
  const text = await quoted(context, guest.client("check-writes", "box", "/run/acknowledged"), ceilings.up);
  const { faults, seen } = JSON.parse(text.trim().split("\n").at(-1) ?? "") as {
    readonly faults: readonly string[];
    readonly seen: Readonly<Record<string, number>>;
  };
  must(faults.length === 0, faults.join("; "));
  must(seen["file"] !== 0 && seen["line"] !== 0, "not both kinds were written");
  return Object.entries(seen)
    .map(([kind, number]) => `${kind} ${number}`)
    .join(", ");
};

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};
