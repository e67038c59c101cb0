import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

const saidBytesMost = 16 * 1024;
/** Where programs are in every cell. Names are bytes to it, in whatever language. */
const environment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C.UTF-8",
};

export interface GnuTar {
  readonly child: ChildProcessWithoutNullStreams;
  /** Its exit code, once its streams are closed too; null: it was ended, or never ran. */
  readonly ended: Promise<number | null>;
  /** The beginning of what it complained about. */
  said(): string;
}

/** GNU tar does what Node cannot: it knows where files have holes, and what users keep beside them. */
export const startTar = (directory: string, options: readonly string[]): GnuTar => {
  const child = spawn("tar", options, { cwd: directory, env: environment });
  let said = "";
  child.stderr.on("data", (piece: Buffer) => {
    if (said.length < saidBytesMost) said += piece.toString("utf8");
  });
  // Who writes to it looks at how it ended.
  child.stdin.on("error", () => {});
  const ended = new Promise<number | null>((resolve) => {
    child.on("error", (error) => {
      said += error.message;
      resolve(null);
    });
    child.on("close", resolve);
  });
  return { child, ended, said: () => said };
};
