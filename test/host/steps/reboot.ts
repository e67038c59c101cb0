import {
  address,
  asked,
  ceilings,
  type Context,
  holdfast,
  keyFile,
  must,
  pinnedNode,
  quoted,
} from "./context.ts";

const unit = "holdfast-default.service";
/** `install`, and the unit started over what runs already. */
export const installUnit = async (context: Context): Promise<void> => {
  const { report } = context;
  report.section("install");
  await report.check("the unit is verified and enabled", async () => {
    const text = await quoted(context, `${holdfast} install`);
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
    must(before.service === "kept in box", `its service answered ${before.service}`);
    return before.computers.join(", ");
  });
  const boot = await asked(hand, "cat /proc/sys/kernel/random/boot_id");
  report.note("# systemctl reboot");
  await hand.run("systemctl reboot", { timeoutMs: ceilings.call }).catch(() => undefined);
  await report.check("the host comes up again", async () => {
    const next = await hand.boot(ceilings.boot);
    must(next !== boot, "it is the same boot");
    return `boot id ${boot.slice(0, 8)} before, ${next.slice(0, 8)} now`;
  });
  await afterBoot(context);
  await reloadUnits(context);
  await report.check(
    "the same computers, each in the state it was left in; files and service are there",
    async () => {
      const after = await computers(context, "look");
      report.note(after.computers.join(", "));
      must(after.service === "kept in box", `box's service answered ${after.service}`);
      for (const name of ["box", "sleeper", "resting"])
        must(after.notes[name] === `kept in ${name}`, `${name} holds ${after.notes[name]}`);
      must(withoutSleep(after) === withoutSleep(before), `before: ${before?.computers.join(", ")}`);
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

/** A cell that slept cannot sleep through a reboot: its memory is gone, and the computer may have been started or stopped. */
const withoutSleep = (seen: Computers | undefined): string =>
  seen?.computers.map((line) => line.replace(/^(sleeper \S+) .*/, "$1")).join(", ") ?? "";

interface Computers {
  readonly computers: readonly string[];
  readonly service: string;
  readonly notes: Readonly<Record<string, string>>;
}

const computers = async ({ machine }: Context, verb: "make" | "look"): Promise<Computers> => {
  const text = await asked(
    machine.hand,
    `${pinnedNode} test/host/guest/computers.ts ${verb} ${address} ${keyFile}`,
    ceilings.up,
  );
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
    await quoted(context, `${holdfast} status`);
    return "";
  });
};

const pids = async ({ machine }: Context): Promise<string> => {
  const status = JSON.parse(await asked(machine.hand, `${holdfast} status --json`)) as {
    readonly programs: readonly { readonly name: string; readonly pid: number | null }[];
  };
  return status.programs.map(({ name, pid }) => `${name} ${pid}`).join(", ");
};
