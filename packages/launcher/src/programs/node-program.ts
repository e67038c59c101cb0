import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { plainEnvironment } from "../host/command.ts";
import type { UserIds } from "../host/users.ts";
import type { Places } from "../instance/places.ts";
import type { InstanceSettings } from "../instance/settings.ts";
import type { PlannedSocket, ProgramPlan } from "./plan.ts";
import type { Compiled } from "./compiled.ts";
import { digestSources } from "./source-digest.ts";

type Common = Pick<ProgramPlan, "name" | "argv" | "user" | "sockets" | "environment" | "label"> & {
  readonly compiled: Compiled;
};

/** The parts that all programs written in TypeScript share: the pinned Node, the read-only tree, the least environment. */
export const nodeProgram = async (options: {
  readonly name: string;
  readonly settings: InstanceSettings;
  readonly places: Places;
  readonly user: UserIds | undefined;
  readonly arguments: readonly string[];
  readonly sockets: readonly PlannedSocket[];
  readonly environment: Readonly<Record<string, string>>;
  /** Directories of the tree that only this program runs from; contract and kit are everybody's. */
  readonly sources: readonly string[];
  /** Modules of the program that its `main.ts` imports, now or later. */
  readonly modules: readonly string[];
}): Promise<Common> => {
  const { name, places, user, sockets } = options;
  const argv = [
    join(places.tree, "node_modules/node/bin/node"),
    join(places.tree, "packages", name, "src/main.ts"),
    ...options.arguments,
  ];
  const sources = [...options.sources, "packages/contract/src", "packages/kit/src"];
  const digest = await digestSources(
    options.settings.source,
    sources.filter((directory) => existsSync(join(options.settings.source, directory))),
  );
  const compiled = {
    directory: join(places.compiled, `${name}-${digest}`),
    modules: options.modules.map((module) => join(places.tree, "packages", name, "src", module)),
  };
  const environment = {
    ...plainEnvironment,
    NODE_NO_WARNINGS: "1",
    NODE_COMPILE_CACHE: compiled.directory,
    ...passedOn(name, process.env),
    ...options.environment,
  };
  const label = createHash("sha256")
    .update(JSON.stringify([argv, user, sockets, environment, digest, options.settings.agent]))
    .digest("hex");
  return { name, argv, user, sockets, environment, label, compiled };
};

/** Settings for one start of the programs, given to `up` in its own environment; see the README of this package. */
const passedOn = (
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> => {
  const suffix = name.toUpperCase();
  const wanted = {
    HOLDFAST_LOG_LEVEL: environment["HOLDFAST_LOG_LEVEL"],
    HOLDFAST_CRASH_POINT: environment[`HOLDFAST_CRASH_POINT_${suffix}`],
    HOLDFAST_CRASH_FILE: environment[`HOLDFAST_CRASH_FILE_${suffix}`],
    HOLDFAST_CRASH_LIST: environment[`HOLDFAST_CRASH_LIST_${suffix}`],
  };
  return Object.fromEntries(
    Object.entries(wanted).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
};
