import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { setTimeout as pause } from "node:timers/promises";

export interface Answer {
  readonly status: number;
  readonly body: string;
}

/**
 * Asks a project's address as any program does; `key` goes into the header that is taken out before the app sees the request. While the
 * project is being started (503 with Retry-After), or when the connection ends without an answer, it asks again, for at most a minute.
 */
export const visit = async (
  address: string,
  path: string,
  options: { readonly key?: string } = {},
): Promise<Answer> => {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const answer = await once(new URL(path, address), options.key).catch((error: unknown) => {
      if (performance.now() > deadline) throw error;
      return unanswered;
    });
    if (answer.status !== 503 || answer.retryAfter === undefined || performance.now() > deadline)
      return answer;
    await pause(Math.min(5, Math.max(0.2, Number(answer.retryAfter) || 1)) * 1000);
  }
};

const unanswered = { status: 503, body: "", retryAfter: "1" };

const once = (
  url: URL,
  key: string | undefined,
): Promise<Answer & { readonly retryAfter: string | undefined }> =>
  new Promise((resolve, reject) => {
    const options = {
      // Browsers and curl find `*.localhost` on this machine; Node asks a resolver that does not know it.
      host: url.hostname.endsWith(".localhost") ? "127.0.0.1" : url.hostname,
      servername: url.hostname,
      port: url.port,
      path: url.pathname,
      headers: { host: url.host, ...(key === undefined ? {} : { "holdfast-key": key }) },
      timeout: 30_000,
    };
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const request = send(options, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.once("error", reject);
      response.once("end", () =>
        resolve({ status: response.statusCode ?? 0, body, retryAfter: response.headers["retry-after"] }),
      );
    });
    request.once("timeout", () => request.destroy(new Error(`${url.origin} did not answer within 30 s`)));
    request.once("error", reject);
    request.end();
  });
