import { join } from "node:path";
import { sendFile } from "./lib/files.mjs";
import { requireSameOrigin, seeOther, sendHtml, sendJson, wantsPage } from "./lib/http.mjs";
import { Maker } from "./lib/maker.mjs";
import { Refusal, serve } from "./lib/serve.mjs";
import { Shelf } from "./lib/shelf.mjs";
import { digestPage } from "./pages/digest.mjs";
import { emptyPage } from "./pages/empty.mjs";
import { errorPage } from "./pages/error.mjs";
import { listPage } from "./pages/list.mjs";
import { settings } from "./settings.mjs";

const shelf = new Shelf(join(import.meta.dirname, "data/digests"), settings.keep);
const maker = new Maker(join(import.meta.dirname, "digest.mjs"));
/** On one page. */
const listed = 60;

const known = (id) => {
  const digest = shelf.get(id);
  if (!digest) throw new Refusal(404, "There is no digest of this week.");
  return digest;
};

/** The page of one week, with the ways to the weeks beside it. */
const show = (response, id) => {
  const digest = known(id);
  const ids = shelf.ids();
  const at = ids.indexOf(id);
  sendHtml(response, digestPage(digest, { newer: ids[at - 1], older: ids[at + 1] }));
};

serve({
  routes: {
    "GET /": ({ response }) => {
      const [newest] = shelf.ids();
      if (newest === undefined) sendHtml(response, emptyPage());
      else show(response, newest);
    },
    "GET /digests": ({ response }) => {
      const ids = shelf.ids();
      const digests = ids.slice(0, listed).map((id) => shelf.get(id));
      sendHtml(response, listPage(digests.filter(Boolean), ids.length));
    },
    "GET /digests.json": ({ response }) => sendJson(response, { digests: shelf.ids() }),
    "GET /digests/:id.json": ({ response, parameters }) => sendJson(response, known(parameters.id)),
    "GET /digests/:id": ({ response, parameters }) => show(response, parameters.id),
    "POST /digests": async ({ request, response }) => {
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
