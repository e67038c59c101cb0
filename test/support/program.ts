import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileCache } from "./compile-cache.ts";
import { temporaryDirectory } from "./temporary.ts";

const main = fileURLToPath(new URL("../../packages/control/src/main.ts", import.meta.url));

export interface ControlProgram {
  readonly url: string;
  /** Starts it; resolves when it answers, or when it has ended (a crash point may lie in the start). */
  start(crashPoint?: string): Promise<void>;
  /** Resolves with how the running one ends. */
  ended(): Promise<NodeJS.Signals | number | null>;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Names of the crash points that were passed go into this file. */
  readonly listFile: string;
  remove(): Promise<void>;
}

/** Control as a program of its own, so that it can be killed: on a port of its own, without launcher and supervisor. */
export const controlProgram = async (databaseUrl: string): Promise<ControlProgram> => {
  let child: ChildProcess | undefined;
  const { path: directory, remove } = temporaryDirectory("control", () => void child?.kill("SIGKILL"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const listFile = join(directory, "crash-points");
  let exit: Promise<NodeJS.Signals | number | null> = Promise.resolve(null);
  return {
    url,
    listFile,
    start: async (crashPoint) => {
      const started = spawn(
        process.execPath,
        [
          main,
          "--launcher-fd",
          "none",
          "--listen",
          `127.0.0.1:${port}`,
          "--data",
          directory,
          "--instance",
          "test",
        ],
        {
          stdio: ["ignore", "ignore", "ignore"],
          env: {
            PATH: process.env["PATH"] ?? "",
            NODE_NO_WARNINGS: "1",
            ...compileCache(),
            HOLDFAST_DATABASE_URL: databaseUrl,
            HOLDFAST_CRASH_LIST: listFile,
            ...(crashPoint === undefined ? {} : { HOLDFAST_CRASH_POINT: crashPoint }),
          },
        },
      );
      child = started;
      let over = false;
      exit = new Promise((resolve) =>
        started.once("exit", (code, signal) => {
          over = true;
          resolve(signal ?? code);
        }),
      );
      while (!over && !(await answers(url))) await new Promise((resolve) => setTimeout(resolve, 20));
    },
    ended: () => exit,
    kill: async (signal) => {
      child?.kill(signal);
      await exit;
    },
    remove: async () => {
      child?.kill("SIGKILL");
      await exit;
      remove();
    },
  };
};

const answers = async (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`).then(
    async (response) => {
      await response.arrayBuffer();
      return true;
    },
    () => false,
  );

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
