import { before } from "node:test";
import { call, type Reply } from "./control.ts";
import { type Instance, useInstance } from "./instance.ts";

export interface Rest {
  readonly instance: Promise<Instance>;
  readonly url: string;
  readonly secret: string;
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Reply>;
}

/** The run's instance over REST, as a new assistant and without any client of ours. Call at the top of a file or a suite. */
export const useRest = (): Rest => {
  const opened = useInstance();
  const rest = {
    instance: opened,
    url: "",
    secret: "",
    ask: (...[method, path, body, headers]: Parameters<Rest["ask"]>) =>
      call(rest.url, rest.secret, method, path, body, headers),
  };
  before(async () => {
    const instance = await opened;
    rest.url = instance.url;
    rest.secret = (await instance.assistant()).secret;
  });
  return rest;
};
