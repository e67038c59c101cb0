import { operations } from "@holdfast/contract";
import { type HoldfastClient, HoldfastApiError, HoldfastConnectionError } from "@holdfast/sdk";
import type { Command } from "commander";
import type { App } from "../app.ts";
import { CliError, exitCodes, explain } from "../errors.ts";
import { parseInteger } from "../lib/units.ts";
import { pauseUntil, startStopwatch } from "../lib/time.ts";
import { print } from "../present/index.ts";
import { nameInProject } from "../present/projects.ts";
import { LogText } from "../terminal/log-text.ts";
import { untilInterrupted } from "./until-interrupted.ts";

interface Place {
  readonly computer: string;
  readonly service: string;
}

interface Values {
  readonly follow?: boolean;
  readonly cursor?: string;
  readonly service?: string;
}

/** `logs <project>` or `logs <computer> <service>`: what a service said, and with `--follow` what it says. */
export const addLogs = (program: Command, app: App): void => {
  withOptions(
    program
      .command("logs")
      .summary("Read what a project's service says")
      .description(
        "Prints the end of a service's log; --follow goes on with what comes. One word is a project: its web service, or the one that --service names. Two are a computer and a service of it.",
      )
      .argument("<place>", "The project (its id or slug), or with a service the computer (its id or name)")
      .argument("[service]", "The service of the computer: its id or name")
      .option("--service <name>", "Another service of the project than the one behind its address"),
  ).action(async (place: string, service: string | undefined, values: Values) => {
    if (service !== undefined && values.service !== undefined) {
      throw new CliError(
        "Two services are named",
        `${service} and, with --service, ${values.service}.`,
        "For a project: `holdfast logs <project> --service <name>`; for a computer: `holdfast logs <computer> <service>`.",
        exitCodes.usage,
      );
    }
    const client = await app.client();
    const found =
      service === undefined ? await serviceOf(client, place, values.service) : { computer: place, service };
    await logs(app, client, found, values);
  });
};

/** `services logs <computer> <service>`: the same by its operation's name. */
export const addServiceLogs = (services: Command, app: App): void => {
  withOptions(
    services
      .command("logs")
      .summary(operations["service.logs"].summary)
      .description("Prints the end of a service's log; --follow goes on with what comes.")
      .argument("<computer>", "The computer: its id or name")
      .argument("<service>", "The service: its id or name"),
  ).action(async (computer: string, service: string, values: Values) =>
    logs(app, await app.client(), { computer, service }, values),
  );
};

const withOptions = (command: Command): Command =>
  command
    .option("-f, --follow", "Go on with what comes; Ctrl-C ends it")
    .option("--cursor <number>", "Begin here instead of near the end");

/** By name, not by id: a deployment may declare the service anew. */
const serviceOf = async (client: HoldfastClient, ref: string, wanted: string | undefined): Promise<Place> => {
  const project = await client.projects.get({ project: ref }).catch((error: unknown) => {
    if (explain(error).code !== "not_found") throw error;
    throw new CliError(
      `There is no project ${ref}`,
      "One word is taken for a project.",
      `For a service of a computer: \`holdfast logs ${ref} <service>\`. What there is: \`holdfast projects list\`, \`holdfast computers list\`.`,
      exitCodes.failed,
      "not_found",
    );
  });
  const name = wanted ?? project.definition.web;
  const known = project.services.find((service) => nameInProject(project, service) === name);
  if (known) return { computer: known.computer, service: known.name };
  const names = project.services.map((service) => nameInProject(project, service));
  throw new CliError(
    name === null ? `${project.slug} has no web service` : `${project.slug} runs no service ${name}`,
    names.length === 0 ? "Nothing of it is deployed." : `It runs ${names.join(", ")}.`,
    names.length === 0
      ? `Deploy it: \`holdfast projects deploy ${project.slug}\`.`
      : `Name one: \`holdfast logs ${project.slug} --service ${names[0]}\`.`,
    exitCodes.failed,
    "not_found",
  );
};

const logs = (app: App, client: HoldfastClient, place: Place, values: Values): Promise<void> =>
  untilInterrupted((signal) => copy(app, client, place, values, signal));

const copy = async (
  app: App,
  client: HoldfastClient,
  place: Place,
  { follow = false, ...values }: Values,
  signal: AbortSignal,
): Promise<void> => {
  const text = app.console.stdoutIsTty ? new LogText() : undefined;
  let cursor = values.cursor === undefined ? undefined : parseInteger(values.cursor, "--cursor");
  let isEmpty = cursor === undefined;
  for (;;) {
    const from = cursor;
    const read = () =>
      client.services.logs(
        {
          ...place,
          ...(from === undefined ? {} : { cursor: from }),
          ...(follow && from !== undefined ? { wait_ms: 20_000 } : {}),
        },
        { signal },
      );
    // Only a log that was there before is waited for.
    const part = follow && from !== undefined ? await outlasting(app, read, signal) : await read();
    if (app.json) await print(app, "service.logs", part);
    else {
      if (from !== undefined && part.truncated_bytes > 0)
        app.console.say(`(${part.truncated_bytes} bytes are no longer kept)`);
      await app.console.out(text?.next(part.text) ?? part.text);
    }
    cursor = part.next_cursor;
    isEmpty &&= part.text === "" && part.truncated_bytes === 0;
    // Only once: what is followed may stay empty for long.
    if (isEmpty && !part.more && from === undefined && !app.json)
      app.console.say(`${place.service} has said nothing yet.`);
    if (part.more || follow) continue;
    return app.console.out(text?.end() ?? "");
  }
};

/** Holdfast may be restarted under a log that is followed: the cursor still fits afterwards. */
const outlasting = async <T>(app: App, read: () => Promise<T>, signal: AbortSignal): Promise<T> => {
  const elapsed = startStopwatch();
  for (let told = false; ; told = true) {
    try {
      const result = await read();
      if (told) app.console.say("It answers again.");
      return result;
    } catch (error) {
      if (signal.aborted || !passes(error) || elapsed() > outageMs) throw error;
      if (!told) app.console.say(`${explain(error).title}; waiting for it.`);
      await pauseUntil(outagePauseMs, signal);
      signal.throwIfAborted();
    }
  }
};

const passes = (error: unknown): boolean =>
  error instanceof HoldfastConnectionError || (error instanceof HoldfastApiError && error.retryable);

/** An outage that is waited out, and how often it is looked whether it is over. */
const outageMs = 15 * 60_000;
const outagePauseMs = 1000;
