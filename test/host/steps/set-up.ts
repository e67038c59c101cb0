import { asked, ceilings, type Context, guest, must, quoted } from "./context.ts";

/** The host as Debian made it: which kernel, which layout, and that it lacks what Holdfast needs. */
export const lookAtHost = async (context: Context): Promise<void> => {
  const { report } = context;
  const look = (script: string) => asked(context.machine.hand, script);
  report.section("the host: Debian 12's own kernel and systemd under QEMU (TCG, no KVM)");
  await report.check("Debian 12 with its own kernel", async () => {
    const system = await look('. /etc/os-release && echo "$PRETTY_NAME, Linux $(uname -r)"');
    must(/Debian GNU\/Linux 12 .*, Linux 6\.1\.\d+-\d+-amd64/.test(system), system);
    return system;
  });
  await report.check("systemd is PID 1", async () => {
    const said = await look('echo "$(cat /proc/1/comm), $(systemctl --version | head -n 1)"');
    must(said.startsWith("systemd, "), said);
    return said;
  });
  await report.check("pure cgroup v2", async () => {
    const said = await look("findmnt -n -o TARGET,FSTYPE,OPTIONS -t cgroup,cgroup2");
    must(/^\/sys\/fs\/cgroup +cgroup2 .*$/.test(said), said);
    return said.replaceAll(/ +/g, " ");
  });
  await report.check("the disk has no write cache", async () => {
    const said = await look("cat /sys/block/vda/queue/write_cache");
    must(said === "write through", said);
    return `/sys/block/vda/queue/write_cache: ${said}`;
  });
  await report.check("the one prerequisite: Node 18 or newer with npm, from Debian", () =>
    look('echo "node $(node --version), npm $(npm --version)"'),
  );
  report.note(
    "placed beforehand, because the guest has no network and no Rust compiler: the .deb files as a file:",
  );
  report.note(
    "repository of apt, node_modules, the built agent and the packed base image in /var/cache/holdfast",
  );
};

/** `npm run up` on that host, twice. */
export const setUpHoldfast = async (context: Context): Promise<void> => {
  const { report } = context;
  report.section("npm run up");
  await report.check("it ends with the quickstart's success and how to connect", async () => {
    const text = await quoted(context, "npm run up", ceilings.up);
    must(/done +packages +installed .*btrfs-progs.*postgresql/.test(text), "apt installed nothing");
    must(text.includes("The quickstart succeeded."), "the quickstart did not succeed");
    must(text.includes("mcpServers"), "it did not print the MCP configuration");
    const [, address = ""] = /^ +(http:\/\/\S+\.localhost:\d+)\b/m.exec(text) ?? [];
    must(URL.canParse(address), "it did not print the private address of a project");
    const { host, port } = new URL(address);
    const visit = `require("http").get({ port: ${port}, headers: { host: "${host}" } }, (r) => console.log(r.statusCode))`;
    const status = await asked(context.machine.hand, `node --eval '${visit}'`);
    must(status === "404", `the address answered ${status} without a right`);
    return `apt ran, quickstart succeeded, MCP configuration printed, ${address} is private`;
  });
  await report.check("run again, it changes nothing", async () => {
    const text = await quoted(context, `${guest.holdfast} up`, ceilings.up);
    must(text.includes("Up, nothing had to be changed"), "it changed something");
    return "Up, nothing had to be changed";
  });
};

/** What the host offers, proven by trial, and the main job once more. */
export const proveHost = async (context: Context): Promise<void> => {
  const { report } = context;
  report.section("doctor");
  await report.check("everything is proven", async () => {
    const text = await quoted(context, `${guest.holdfast} doctor`, ceilings.up);
    const verdict = /Everything (?:that is built )?is proven\b.*/.exec(text)?.[0];
    must(verdict !== undefined, "something is missing");
    must(/proven +layer cgroups +unified/.test(text), "the layout is not v2 alone");
    return verdict;
  });
  report.section("the quickstart, by itself");
  await report.check("the main job over the official MCP client", async () => {
    const text = await quoted(context, guest.quickstart());
    must(text.includes("The quickstart succeeded."), "it did not succeed");
    return "The quickstart succeeded.";
  });
};

/** What a cell sees on this kind of host, against its stored copy. */
export const lookFromCell = async (context: Context): Promise<void> => {
  const { report } = context;
  report.section("what a cell sees");
  await report.check("it equals the stored copy for cgroup v2", async () => {
    const text = await quoted(context, guest.client("cell-view"), ceilings.up);
    must(text.includes("equal to the stored copy for v2"), text);
    return "namespaces, capabilities, system calls, mounts, id maps, limits";
  });
};
