import { type IncomingHttpHeaders, request } from "node:http";
import type { Instance } from "./instance.ts";

export interface Visit {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** One request of a visitor to `<name>.<domain>` on a connection of its own. Node's fetch sends no Host header of a caller's. */
export const visit = (
  { projects }: Pick<Instance, "projects">,
  name: string,
  options: {
    readonly method?: string;
    readonly path?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | Uint8Array;
  } = {},
): Promise<Visit> =>
  new Promise((resolve, reject) => {
    const headers = { ...options.headers, host: `${name}.${projects.domain}` };
    const { method = "GET", path = "/" } = options;
    const sent = request({ host: "127.0.0.1", port: projects.port, method, path, headers, agent: false });
    sent.once("error", reject);
    sent.once("response", (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.once("error", reject);
      response.once("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      );
    });
    sent.end(options.body);
  });
