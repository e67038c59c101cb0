import { asked, ceilings, type Context, guest, must, quoted } from "./context.ts";

/** The way back: the unit stopped, everything of the instance gone from the host. */
export const takeDown = async (context: Context): Promise<void> => {
  const { report } = context;
  report.section("down");
  await report.check("stopping the unit takes everything down and keeps the data", async () => {
    await quoted(context, "systemctl stop holdfast-default.service", ceilings.up);
    const left = await asked(
      context.machine.hand,
      "ls -d /run/holdfast/default /sys/fs/cgroup/holdfast-* /run/netns/hf* 2> /dev/null; ls /var/lib/holdfast/pool.img",
    );
    must(left === "/var/lib/holdfast/pool.img", left);
    return "no program, cgroup or namespace; the pool is there";
  });
  await report.check("down --delete-data", () =>
    asked(
      context.machine.hand,
      `${guest.holdfast} down --delete-data default 2>&1 && test ! -e /var/lib/holdfast && echo deleted`,
      ceilings.up,
    ),
  );
};
