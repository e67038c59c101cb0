import type { OperationName } from "@holdfast/contract";
import type { App } from "../app.ts";
import type { Override } from "./from-operation.ts";

type Input = Readonly<Record<string, unknown>>;

/** A person at a prompt means what is there now: without --if-match the update is based on the version of this moment. */
const onTheCurrent = (read: (app: App, input: Input) => Promise<{ readonly version: string }>): Override => ({
  complete: async (app, input) =>
    input["if_match"] === undefined ? { ...input, if_match: (await read(app, input)).version } : input,
});

export const updateOverrides: { readonly [N in OperationName]?: Override } = {
  "computer.update": onTheCurrent(async (app, { computer }) =>
    (await app.client()).computers.get({ computer: String(computer) }),
  ),
  "service.update": onTheCurrent(async (app, { computer, service }) =>
    (await app.client()).services.get({ computer: String(computer), service: String(service) }),
  ),
};
