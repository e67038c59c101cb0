import { join } from "node:path";
import { requireSameOrigin, seeOther, sendHtml, sendJson } from "./lib/http.mjs";
import { Maker } from "./lib/maker.mjs";
import { Refusal } from "./lib/serve.mjs";
import { Shelf } from "./lib/shelf.mjs";
import { serveSite } from "./lib/site.mjs";
import { digestPage } from "./pages/digest.mjs";
import { emptyPage } from "./pages/empty.mjs";
import { errorPage } from "./pages/error.mjs";
import { listPage } from "./pages/list.mjs";
import { settings } from "./settings.mjs";

const shelf = new Shelf(join(import.meta.dirname, "data/digests"), settings.keep);
const maker = new Maker(join(import.meta.dirname, "digest.mjs"));
/** On the page of all weeks. */
const listed = 60;

const known = (id) => {
  const digest = shelf.get(id);
  if (!digest) throw new Refusal(404, "There is no digest of this week.");
  return digest;
};

/** The page of one week, with the ways to the weeks beside it. */
const show = (response, id) => sendHtml(response, digestPage(known(id), shelf.beside(id)));

serveSite({
  routes: {
    "GET /": ({ response }) => {
      const [newest] = shelf.ids();
      if (newest === undefined) sendHtml(response, emptyPage());
      else show(response, newest);
    },
    "GET /digests": ({ response }) => sendHtml(response, listPage(shelf.newest(listed), shelf.ids().length)),
    "GET /digests.json": ({ response }) => sendJson(response, { digests: shelf.ids() }),
    "GET /digests/:id.json": ({ response, parameters }) => sendJson(response, known(parameters.id)),
    "GET /digests/:id": ({ response, parameters }) => show(response, parameters.id),
    "POST /digests": async ({ request, response }) => {
      requireSameOrigin(request);
      await maker.run();
      seeOther(response, "/");
    },
  },
  folder: join(import.meta.dirname, "public"),
  errorPage,
});
