import { asked, ceilings, type Context, holdfast, must, quoted } from "./context.ts";

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
  await report.check("before: a computer with a file and a service, one asleep, one stopped", async () => {
    for (const name of ["box", "sleeper", "resting"]) {
      await asked(hand, `${holdfast} computers create ${name} --wait 50s`);
      await asked(hand, `${holdfast} files write ${name} /work/note.txt --content "kept in ${name}"`);
    }
    await quoted(
      context,
      `${holdfast} services create box web --port 8080 --wait 50s --command 'python3 -m http.server 8080 --directory /work'`,
    );
    await asked(hand, `${holdfast} computers sleep sleeper --wait 50s`);
    await asked(hand, `${holdfast} computers stop resting --wait 50s`);
    return states(context);
  });
  const before = await ids(context);
  const boot = await asked(hand, "cat /proc/sys/kernel/random/boot_id");
  report.note("# systemctl reboot");
  await hand.run("systemctl reboot", { timeoutMs: ceilings.call }).catch(() => undefined);
  await report.check("the host comes up again", async () => {
    const next = await hand.boot(ceilings.boot);
    must(next !== boot, "it is the same boot");
    return `boot id ${boot.slice(0, 8)} before, ${next.slice(0, 8)} now`;
  });
  await afterBoot(context);
  await report.check("the same computers, by id", async () => {
    const after = await ids(context);
    must(before === after, `${before} before, ${after} after`);
    return after;
  });
  await report.check("box: awake, its file and its service are there", async () => {
    const text = await quoted(
      context,
      `${holdfast} exec box -- curl -sS --retry 20 --retry-connrefused --max-time 30 http://127.0.0.1:8080/note.txt`,
    );
    must(text.trim() === "kept in box", text);
    return `its own service answers "${text.trim()}"`;
  });
  await report.check("resting: still stopped, and its file is there when it is woken", async () => {
    const state = await asked(hand, `${holdfast} --json computers show resting`);
    must((JSON.parse(state) as { readonly state: string }).state === "stopped", state);
    const text = await asked(hand, `${holdfast} exec resting -- cat /work/note.txt`);
    must(text === "kept in resting", text);
    return `"${text}"`;
  });
  await report.check("sleeper: its file is there", async () => {
    const text = await asked(hand, `${holdfast} exec sleeper -- cat /work/note.txt`);
    must(text === "kept in sleeper", text);
    return `"${text}"`;
  });
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

const list = async ({ machine }: Context) =>
  (
    JSON.parse(await asked(machine.hand, `${holdfast} --json computers list`)) as {
      readonly computers: readonly { readonly id: string; readonly name: string; readonly state: string }[];
    }
  ).computers.toSorted((a, b) => a.name.localeCompare(b.name));

const states = async (context: Context): Promise<string> =>
  (await list(context)).map(({ name, state }) => `${name} ${state}`).join(", ");

const ids = async (context: Context): Promise<string> =>
  (await list(context)).map(({ name, id }) => `${name} ${id}`).join(", ");
