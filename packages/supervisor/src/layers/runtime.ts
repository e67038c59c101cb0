import type { ProgramRunner } from "../lib/run-program.ts";
import type { Layer } from "./index.ts";

/** What Debian 12 has; older ones lack `--preserve-fds` together with user namespaces. */
const oldest = [1, 8, 1] as const;

export const runtimeLayer = (runner: ProgramRunner, runtime: string): Layer => ({
  name: "runtime",
  remedy: "Install crun 1.8.1 or newer (Debian: apt-get install crun).",
  prove: async () => {
    const said = await runner.run(runtime, ["--version"]);
    const version = parseVersion(said);
    if (!version) throw new Error(`${runtime} does not say its version`);
    if (!atLeast(version, oldest))
      throw new Error(`crun ${version.join(".")} is older than ${oldest.join(".")}`);
    if (!said.includes("+SECCOMP")) throw new Error(`${runtime} was built without seccomp`);
    return `crun ${version.join(".")} with seccomp`;
  },
});

const parseVersion = (text: string): number[] | undefined =>
  /^crun version (\d+(?:\.\d+)*)/m.exec(text)?.[1]?.split(".").map(Number);

export const atLeast = (version: readonly number[], wanted: readonly number[]): boolean => {
  for (const [index, part] of wanted.entries()) {
    const have = version[index] ?? 0;
    if (have !== part) return have > part;
  }
  return true;
};
