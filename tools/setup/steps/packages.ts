import { mkdir, writeFile } from "node:fs/promises";
import { command, plainEnvironment, tryCommand } from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";

/** Debian packages the host needs, each with what for. */
const needed: Readonly<Record<string, string>> = {
  "btrfs-progs": "the pool: volumes, snapshots, quotas",
  "ca-certificates": "fetching packages over TLS",
  crun: "runs cells",
  "debian-archive-keyring": "proves the packages of the base image",
  e2fsprogs: "the database's own file system",
  iproute2: "links and namespaces of cells",
  mmdebstrap: "builds the base image",
  nftables: "refuses and counts what cells may not reach",
  procps: "settings of the kernel for the cells' network",
  uidmap: "the user namespace in which the base image is built",
  zstd: "packs and unpacks the base image",
};
const forDatabase = ["postgresql"];
const forAgent = ["cargo-web", "rustc-web", "gcc", "libc6-dev"];

/** Names of the Debian packages that a host needs. */
export const packagesFor = (wanted: {
  readonly database: boolean;
  readonly agentCompiler: boolean;
}): readonly string[] => [
  ...Object.keys(needed),
  ...(wanted.database ? forDatabase : []),
  ...(wanted.agentCompiler ? forAgent : []),
];

/** Installs what is missing, and nothing else. `npm run up` on a host that has everything runs no apt at all. */
export const ensurePackages = async (
  wanted: { readonly database: boolean; readonly agentCompiler: boolean },
  note: (text: string) => void,
): Promise<StepResult<void>> => {
  const names = packagesFor(wanted);
  const installed = await installMissing(names, note);
  return installed.length === 0
    ? { outcome: "skipped", detail: `all ${names.length} installed`, value: undefined }
    : { outcome: "done", detail: `installed ${installed.join(", ")}`, value: undefined };
};

/** Answers what had to be installed. */
export const installMissing = async (
  names: readonly string[],
  note: (text: string) => void,
): Promise<readonly string[]> => {
  const missing = await findMissing(names);
  if (missing.length === 0) return [];
  if (missing.includes("postgresql")) await refuseMainCluster();
  const environment = { ...plainEnvironment, ...proxies(), DEBIAN_FRONTEND: "noninteractive" };
  await command(["apt-get", "update", "--quiet"], { environment, onLine: note });
  await command(["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", ...missing], {
    environment,
    onLine: note,
  });
  return missing;
};

const findMissing = async (names: readonly string[]): Promise<readonly string[]> => {
  const { stdout } = await tryCommand([
    "dpkg-query",
    "--show",
    "--showformat=${Package} ${db:Status-Status}\\n",
    ...names,
  ]);
  const installed = new Set(
    stdout
      .split("\n")
      .filter((line) => line.endsWith(" installed"))
      .map((line) => line.split(" ")[0] ?? ""),
  );
  return names.filter((name) => !installed.has(name));
};

/** Debian's package would start a server on port 5432 that nobody asked for. */
const refuseMainCluster = async (): Promise<void> => {
  await mkdir("/etc/postgresql-common/createcluster.d", { recursive: true });
  await writeFile("/etc/postgresql-common/createcluster.d/holdfast.conf", "create_main_cluster = false\n");
};

/** How this machine reaches its mirror is its own business; apt reads these from the environment. */
export const proxies = (): Record<string, string> =>
  Object.fromEntries(
    ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
