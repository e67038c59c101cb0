import type { OperationOutput } from "@holdfast/contract";
import type { App } from "../app.ts";
import { exitCodes, ExitWith } from "../errors.ts";
import { print } from "../present/index.ts";

export type Deployed = OperationOutput<"project.deploy">;

/** Shows what a deployment came to. One whose web service does not run is no success to a script either: it ends with 1. */
export const showDeployed = async (app: App, output: Deployed): Promise<void> => {
  await print(app, "project.deploy", output);
  const { slug, state } = output.project;
  if (state === "starting") app.console.hint(`It is still starting: holdfast logs ${slug} --follow`);
  if (state !== "failed" && state !== "stopped") return;
  app.console.say(`Its web service does not run. What it said: holdfast logs ${slug}`);
  throw new ExitWith(exitCodes.failed);
};
