import { join } from "node:path";
import { originOf, readBody, requireSameOrigin, seeOther, sendHtml, sendJson } from "./lib/http.mjs";
import { openInbox } from "./lib/inbox.mjs";
import { Refusal } from "./lib/serve.mjs";
import { serveSite } from "./lib/site.mjs";
import { errorPage } from "./pages/error.mjs";
import { hookPage } from "./pages/hook.mjs";
import { inboxPage } from "./pages/inbox.mjs";

const bodyBytes = 256 * 1024;
const namePattern = /^[a-z][a-z0-9-]{0,39}$/;

const inbox = openInbox(join(import.meta.dirname, "data/inbox.sqlite"));

const hookOf = ({ id }) => {
  const hook = /^[0-9]{1,15}$/.test(id) ? inbox.get(Number(id)) : undefined;
  if (!hook) throw new Refusal(404, "There is no such hook here. The newest 500 are kept.");
  return hook;
};

serveSite({
  routes: {
    "GET /": ({ request, response, url }) => {
      const name = url.searchParams.get("name") ?? undefined;
      const before = Math.trunc(Number(url.searchParams.get("before"))) || undefined;
      sendHtml(
        response,
        inboxPage({ ...inbox.list({ name, before }), origin: originOf(request), name, before }),
      );
    },
    // Everything that may be open to the world is a POST below /hooks/, and nothing else is.
    "POST /hooks/:name": async ({ request, response, parameters: { name } }) => {
      if (!namePattern.test(name)) {
        throw new Refusal(
          404,
          "A name begins with a letter and has up to 40 letters, digits and dashes, all small.",
        );
      }
      const body = await readBody(request, bodyBytes);
      sendJson(response, { id: inbox.add({ name, headers: request.headers, body }) }, 202);
    },
    "GET /hooks/:id": ({ response, parameters }) => {
      // Whoever opens the address that hooks are posted to sees what has come to it.
      if (namePattern.test(parameters.id)) seeOther(response, `/?name=${parameters.id}`);
      else sendHtml(response, hookPage(hookOf(parameters)));
    },
    "GET /hooks/:id/body": ({ response, parameters }) => {
      const { id, body } = hookOf(parameters);
      // Always a download of plain bytes: what a stranger sent is never shown as a page of this site.
      response.writeHead(200, {
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="hook-${id}"`,
        "cache-control": "no-store",
      });
      response.end(body);
    },
    "POST /test": ({ request, response }) => {
      requireSameOrigin(request);
      const body = Buffer.from(
        JSON.stringify({ event: "test", message: "It works", at: new Date().toISOString() }),
      );
      const headers = { "content-type": "application/json", "user-agent": "The button of this page" };
      seeOther(response, `/#hook-${inbox.add({ name: "test", headers, body })}`);
    },
    "POST /delete/:id": ({ request, response, parameters }) => {
      requireSameOrigin(request);
      inbox.delete(hookOf(parameters).id);
      seeOther(response, "/");
    },
  },
  folder: join(import.meta.dirname, "public"),
  errorPage,
  close: () => inbox.close(),
});
