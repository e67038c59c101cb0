import process from "node:process";
import { controlLauncherMethods, socketPath } from "@holdfast/contract";
import { createRpcClient, systemClock } from "@holdfast/kit";
import type { HostArguments } from "../arguments.ts";
import { findInstance } from "../find-instance.ts";
import { loginText } from "../owner.ts";

/** `holdfast owner login`: mints an owner's one-time login. Shown on a terminal only: a file or pipe could be read by an assistant later. */
export const ownerLogin = async (options: HostArguments): Promise<number> => {
  const settings = await findInstance(options);
  if (!settings) return 1;
  if (!process.stdout.isTTY) {
    process.stderr.write(
      `The one-time login is shown on a terminal only. Run \`holdfast owner login --instance ${settings.instance}\` in one.\n`,
    );
    return 1;
  }
  const client = createRpcClient({
    path: socketPath(settings.instance, "control", "launcher"),
    methods: controlLauncherMethods,
    clock: systemClock,
  });
  const { name } = await client.call("owner.enrolled", {});
  const made = await client.call("owner.login_code", {});
  client.close();
  process.stdout.write(loginText(settings.instance, name, made, systemClock.now()));
  return 0;
};
