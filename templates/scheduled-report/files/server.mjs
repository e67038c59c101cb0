import { join } from "node:path";
import { feedOf } from "./lib/feed.mjs";
import { sendFile } from "./lib/files.mjs";
import { requireSameOrigin, seeOther, sendHtml, sendJson, wantsPage } from "./lib/http.mjs";
import { Maker } from "./lib/maker.mjs";
import { asMarkdown } from "./lib/markdown.mjs";
import { Refusal, serve } from "./lib/serve.mjs";
import { Shelf } from "./lib/shelf.mjs";
import { emptyPage } from "./pages/empty.mjs";
import { errorPage } from "./pages/error.mjs";
import { listPage } from "./pages/list.mjs";
import { reportPage } from "./pages/report.mjs";
import { settings } from "./settings.mjs";

const shelf = new Shelf(join(import.meta.dirname, "data/reports"), settings.keep);
const maker = new Maker(join(import.meta.dirname, "report.mjs"));
const listed = 60;
const fed = 20;

const known = (id) => {
  const report = shelf.get(id);
  if (!report) throw new Refusal(404, "There is no report of this day.");
  return report;
};

const newest = (count) =>
  shelf
    .ids()
    .slice(0, count)
    .map((id) => shelf.get(id))
    .filter(Boolean);

/** The page of one day, with the ways to the days beside it. */
const show = (response, id) => {
  const report = known(id);
  const ids = shelf.ids();
  const at = ids.indexOf(id);
  sendHtml(response, reportPage(report, { newer: ids[at - 1], older: ids[at + 1] }));
};

const send = (response, type, text) => {
  response.writeHead(200, { "content-type": `${type}; charset=utf-8`, "cache-control": "no-cache" });
  response.end(text);
};

serve({
  routes: {
    "GET /": ({ response }) => {
      const [id] = shelf.ids();
      if (id === undefined) sendHtml(response, emptyPage());
      else show(response, id);
    },
    "GET /reports": ({ response }) => sendHtml(response, listPage(newest(listed), shelf.ids().length)),
    "GET /reports/:id.json": ({ response, parameters }) => sendJson(response, known(parameters.id)),
    "GET /reports/:id.md": ({ response, parameters }) =>
      send(response, "text/markdown", `${asMarkdown(known(parameters.id))}\n`),
    "GET /reports/:id": ({ response, parameters }) => show(response, parameters.id),
    "GET /feed.xml": ({ request, response }) => {
      const scheme = request.headers["x-forwarded-proto"] === "https" ? "https" : "http";
      const origin = `${scheme}://${request.headers.host}`;
      send(
        response,
        "application/atom+xml",
        feedOf({ title: settings.title, reports: newest(fed), origin }).toString(),
      );
    },
    "POST /reports": async ({ request, response }) => {
      requireSameOrigin(request);
      await maker.run();
      seeOther(response, "/");
    },
  },
  otherwise: async ({ request, response, url }) => {
    const folder = join(import.meta.dirname, "public");
    if (!(await sendFile({ request, response, folder, path: url.pathname }))) {
      throw new Refusal(404, "There is nothing at this address.");
    }
  },
  refuse: ({ request, response, status, message }) =>
    wantsPage(request)
      ? sendHtml(response, errorPage(status, message), status)
      : sendJson(response, { error: message }, status),
});
