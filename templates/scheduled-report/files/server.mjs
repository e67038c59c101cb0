import { join } from "node:path";
import { feedOf } from "./lib/feed.mjs";
import { originOf, requireSameOrigin, seeOther, sendHtml, sendJson } from "./lib/http.mjs";
import { Maker } from "./lib/maker.mjs";
import { asMarkdown } from "./lib/markdown.mjs";
import { Refusal } from "./lib/serve.mjs";
import { Shelf } from "./lib/shelf.mjs";
import { serveSite } from "./lib/site.mjs";
import { emptyPage } from "./pages/empty.mjs";
import { errorPage } from "./pages/error.mjs";
import { listPage } from "./pages/list.mjs";
import { reportPage } from "./pages/report.mjs";
import { settings } from "./settings.mjs";

const shelf = new Shelf(join(import.meta.dirname, "data/reports"), settings.keep);
const maker = new Maker(join(import.meta.dirname, "report.mjs"));
/** On the page of all days, and in the feed. */
const listed = 60;
const fed = 20;

const known = (id) => {
  const report = shelf.get(id);
  if (!report) throw new Refusal(404, "There is no report of this day.");
  return report;
};

/** The page of one day, with the ways to the days beside it. */
const show = (response, id) => sendHtml(response, reportPage(known(id), shelf.beside(id)));

const send = (response, type, text) => {
  response.writeHead(200, { "content-type": `${type}; charset=utf-8`, "cache-control": "no-cache" });
  response.end(text);
};

serveSite({
  routes: {
    "GET /": ({ response }) => {
      const [newest] = shelf.ids();
      if (newest === undefined) sendHtml(response, emptyPage());
      else show(response, newest);
    },
    "GET /reports": ({ response }) => sendHtml(response, listPage(shelf.newest(listed), shelf.ids().length)),
    "GET /reports/:id.json": ({ response, parameters }) => sendJson(response, known(parameters.id)),
    "GET /reports/:id.md": ({ response, parameters }) =>
      send(response, "text/markdown", `${asMarkdown(known(parameters.id))}\n`),
    "GET /reports/:id": ({ response, parameters }) => show(response, parameters.id),
    "GET /feed.xml": ({ request, response }) => {
      const feed = feedOf({
        title: settings.title,
        reports: shelf.newest(fed),
        origin: originOf(request),
      });
      send(response, "application/atom+xml", feed.toString());
    },
    "POST /reports": async ({ request, response }) => {
      requireSameOrigin(request);
      await maker.run();
      seeOther(response, "/");
    },
  },
  folder: join(import.meta.dirname, "public"),
  errorPage,
});
