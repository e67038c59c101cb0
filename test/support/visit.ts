import { request } from "node:http";
import type { Instance } from "./instance.ts";

export interface Visit {
  readonly status: number;
  readonly body: string;
}

/** One request of a visitor to `<name>.<domain>` on a connection of its own. Node's fetch sends no Host header of a caller's. */
export const visit = (
  { projects }: Pick<Instance, "projects">,
  name: string,
  options: { readonly path?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Visit> =>
  new Promise((resolve, reject) => {
    const headers = { ...options.headers, host: `${name}.${projects.domain}` };
    const to = { host: "127.0.0.1", port: projects.port, path: options.path ?? "/", headers, agent: false };
    const sent = request(to);
    sent.once("error", reject);
    sent.once("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.once("error", reject);
      response.once("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.end();
  });
