import { spawn } from "node:child_process";
import type { Environment } from "../config/paths.ts";
import { after } from "../lib/time.ts";

/** The command that opens an address in the person's browser, without the address; undefined where no browser could show up. */
export const openerOf = (
  platform: NodeJS.Platform,
  environment: Environment,
): readonly string[] | undefined => {
  if (platform === "darwin") return ["open"];
  // No `start`: that is the shell's, which would take an address apart.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  const display = environment["WAYLAND_DISPLAY"] ?? environment["DISPLAY"] ?? "";
  return display === "" ? undefined : ["xdg-open"];
};

/**
 * Opens an address. Other users of this machine may see it for a moment among the processes: it must be one that works once. A private file
 * that leads there would hide it, but browsers in a sandbox of their own cannot read one. False when the opener is not there or says it
 * could not; one that stays is taken for the browser itself.
 */
export const openBrowser = (opener: readonly string[], url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const [program = "", ...words] = opener;
    const child = spawn(program, [...words, url], { stdio: "ignore", detached: true });
    const stop = after(openerMs, () => resolve(true));
    const end = (opened: boolean): void => {
      stop();
      resolve(opened);
    };
    child.once("error", () => end(false));
    child.once("exit", (code) => end(code === 0));
    child.unref();
  });

const openerMs = 3000;
