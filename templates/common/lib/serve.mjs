import { createServer } from "node:http";
import process from "node:process";

/** Longest that requests under way may take to end after SIGTERM. The service is killed two seconds later. */
const graceMs = 8000;
/** Connections at once; one more is closed at once. */
const connectionsMax = 512;

/**
 * Listens on 127.0.0.1 at the port in PORT and gives each request to its route.
 *
 * `routes`: `{ "GET /things/:id": handler }`; GET answers HEAD as well. A handler takes `{ request, response, url, parameters,
 * signal }`, where `signal` aborts when the server is to end, so that streams can say goodbye.
 * `otherwise`: the handler of GET requests that no route takes. `refuse({ request, response, status, message })`: answers what went wrong.
 * `close`: called once the last request is answered, before the process ends.
 */
export const serve = ({ routes, otherwise, refuse, close = () => {} }) => {
  const table = Object.entries(routes).map(([route, handler]) => {
    const [method, pathname] = route.split(" ");
    return { method, pattern: new URLPattern({ pathname }), handler };
  });
  const ending = new AbortController();

  const server = createServer(async (request, response) => {
    response.on("close", () => ending.signal.aborted && server.closeIdleConnections());
    for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
    try {
      await answer(request, response);
    } catch (error) {
      // A visitor who went away is no failure, and a reply that has begun cannot be taken back.
      if (response.destroyed || response.headersSent) return void response.destroy();
      if (!(error instanceof Refusal)) console.error(error);
      const refusal =
        error instanceof Refusal ? error : new Refusal(500, "Something went wrong on this side.");
      for (const [name, value] of Object.entries(refusal.headers)) response.setHeader(name, value);
      refuse({ request, response, status: refusal.status, message: refusal.message });
    }
  });

  const answer = async (request, response) => {
    const url = URL.parse(`http://localhost${request.url}`);
    if (!url) throw new Refusal(400, "This address cannot be read.");
    if (url.pathname === "/healthz") return void response.end("ok\n");
    const method = request.method === "HEAD" ? "GET" : request.method;
    const here = table.filter(({ pattern }) => pattern.test({ pathname: url.pathname }));
    const route = here.find((one) => one.method === method);
    const parameters = route?.pattern.exec({ pathname: url.pathname }).pathname.groups ?? {};
    const handler = route?.handler ?? (here.length === 0 && method === "GET" ? otherwise : undefined);
    if (!handler) {
      const allow = here.length > 0 ? here.map((one) => one.method).join(", ") : "GET, HEAD";
      throw new Refusal(405, `${request.method} is not possible here.`, { allow });
    }
    await handler({ request, response, url, parameters, signal: ending.signal });
  };

  const end = () => {
    ending.abort();
    server.close(close);
    setTimeout(() => server.closeAllConnections(), graceMs).unref();
  };
  process.once("SIGTERM", end);
  process.once("SIGINT", end);

  server.maxConnections = connectionsMax;
  // Longer than a proxy keeps a connection it does not use: else one side closes what the other is just using again.
  server.keepAliveTimeout = 75_000;
  const port = Number(process.env.PORT ?? 3000);
  server.listen(port, "127.0.0.1", () => console.log(`Listening on http://127.0.0.1:${port}`));
};

/** Thrown by handlers: the visitor gets this status and message. */
export class Refusal extends Error {
  constructor(status, message, headers = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

const securityHeaders = {
  // Scripts and styles come from files of this site alone. To use something from elsewhere, name its host here.
  "content-security-policy":
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  // Not `no-referrer`: with that, browsers send forms of our own pages with `Origin: null`.
  "referrer-policy": "same-origin",
};
