import { asked, ceilings, comesUpAgain, type Context, guest, must, quoted } from "./context.ts";

const unit = "holdfast-default.service";
/** `install`, and the unit started over what runs already. */
export const installUnit = async (context: Context): Promise<void> => {
  const { report } = context;
  report.section("install");
  await report.check("the unit is verified and enabled", async () => {
    const text = await quoted(context, `${guest.holdfast} install`);
    must(text.includes("verified with systemd-analyze verify"), "it was not verified");
    const enabled = await asked(context.machine.hand, `systemctl is-enabled ${unit}`);
    must(enabled === "enabled", enabled);
    return enabled;
  });
  await report.check("started, it adopts the programs that run", async () => {
    const before = await pids(context);
    await asked(context.machine.hand, `systemctl start ${unit}`, ceilings.up);
    const after = await pids(context);
    must(before === after, `${before} before, ${after} after`);
    return `active, the same pids: ${after}`;
  });
};

/** Computers in every state that outlasts a host, then `systemctl reboot`. */
export const rebootHost = async (context: Context): Promise<void> => {
  const { report } = context;
  const { hand } = context.machine;
  report.section("a real reboot");
  let before: Computers | undefined;
  await report.check("before: one computer awake with a service, one asleep, one stopped", async () => {
    before = await computers(context, "make");
    isInState(before, { box: "awake", sleeper: "asleep", resting: "stopped" });
    must(before.service === "kept in box", `its service answered ${before.service}`);
    return before.computers.join(", ");
  });
  await comesUpAgain(context, async () => {
    report.note("# systemctl reboot");
    await hand.run("systemctl reboot", { timeoutMs: ceilings.call }).catch(() => undefined);
  });
  await afterBoot(context);
  await reloadUnits(context);
  await report.check(
    "the same computers: awake and stopped as before, the one that slept stopped; files and service are there",
    async () => {
      const after = await computers(context, "look");
      report.note(after.computers.join(", "));
      must(after.service === "kept in box", `box's service answered ${after.service}`);
      for (const name of ["box", "sleeper", "resting"])
        must(after.notes[name] === `kept in ${name}`, `${name} holds ${after.notes[name]}`);
      // Sleep is memory, which no reboot leaves.
      isInState(after, { box: "awake", sleeper: "stopped", resting: "stopped" });
      must(ids(after) === ids(before), `before: ${before?.computers.join(", ")}`);
      return `box's service answers "${after.service}"; ${Object.values(after.notes).join(", ")}`;
    },
  );
};

/** systemd writes to its cgroups whenever it reads its units again. A cell keeps its limits through that. */
const reloadUnits = async (context: Context): Promise<void> => {
  const look = () =>
    asked(
      context.machine.hand,
      'for d in /sys/fs/cgroup/holdfast-*/cmp_*; do echo "$(cat $d/cgroup.controllers), memory.max $(cat $d/memory.max), pids.max $(cat $d/pids.max)"; done',
    );
  await context.report.check("cells keep their limits when systemd reads its units again", async () => {
    const before = await look();
    await asked(context.machine.hand, `systemctl daemon-reload && systemctl restart systemd-journald`);
    const after = await look();
    must(before === after && /memory.*pids/.test(after), `${before} before, ${after} after`);
    return after;
  });
};

const isInState = ({ computers }: Computers, states: Readonly<Record<string, string>>): void => {
  for (const [name, state] of Object.entries(states))
    must(
      computers.some((line) => line.startsWith(`${name} `) && line.endsWith(` ${state}`)),
      `${name} is not ${state}: ${computers.join(", ")}`,
    );
};

/** Which computers there are, whatever their states. */
const ids = (seen: Computers | undefined): string =>
  seen?.computers.map((line) => line.split(" ").slice(0, 2).join(" ")).join(", ") ?? "";

interface Computers {
  /** Name, id and state of each. */
  readonly computers: readonly string[];
  readonly service: string;
  readonly notes: Readonly<Record<string, string>>;
}

const computers = async ({ machine }: Context, verb: "make" | "look"): Promise<Computers> => {
  const text = await asked(machine.hand, guest.client("computers", verb), ceilings.up);
  return JSON.parse(text.split("\n").at(-1) ?? "") as Computers;
};

/** Holdfast is to come by systemd alone: nothing here starts it. */
export const afterBoot = async (context: Context): Promise<void> => {
  const { report } = context;
  const { hand } = context.machine;
  await report.check("Holdfast comes up by systemd", async () => {
    const state = await asked(
      hand,
      `until s=$(systemctl is-active ${unit}); [ "$s" != activating ]; do sleep 2; done; echo "$s"`,
      ceilings.up,
    );
    await quoted(context, `systemctl status --no-pager --lines 25 ${unit}`).catch(() => undefined);
    must(state === "active", state);
    return `${unit} ${state}`;
  });
  await report.check("status: every program serves", async () => {
    await quoted(context, `${guest.holdfast} status`);
    return "";
  });
};

const pids = async ({ machine }: Context): Promise<string> => {
  const status = JSON.parse(await asked(machine.hand, `${guest.holdfast} status --json`)) as {
    readonly programs: readonly { readonly name: string; readonly pid: number | null }[];
  };
  return status.programs.map(({ name, pid }) => `${name} ${pid}`).join(", ");
};
