import { join } from "node:path";
import { openCounter } from "./lib/counter.mjs";
import { sendFile } from "./lib/files.mjs";
import { requireSameOrigin, seeOther, sendHtml, sendJson, wantsPage } from "./lib/http.mjs";
import { Live } from "./lib/live.mjs";
import { Refusal, serve } from "./lib/serve.mjs";
import { errorPage } from "./pages/error.mjs";
import { homePage } from "./pages/home.mjs";

const counter = openCounter(join(import.meta.dirname, "data/counter.json"));
const live = new Live();

const state = () => ({ waves: counter.value, watching: live.watching, time: new Date().toISOString() });

/** Counts one more and tells every open page. */
const wave = ({ request }) => {
  requireSameOrigin(request);
  counter.increment();
  live.send(state());
};

serve({
  routes: {
    "GET /": ({ response }) => sendHtml(response, homePage(state())),
    "GET /api/state": ({ response }) => sendJson(response, state()),
    "POST /api/waves": (visit) => {
      wave(visit);
      sendJson(visit.response, state());
    },
    // The same for browsers without scripts: the form of the page comes here.
    "POST /waves": (visit) => {
      wave(visit);
      seeOther(visit.response, "/");
    },
    "GET /live": ({ response, signal }) => {
      if (!live.add(response, signal))
        throw new Refusal(503, "Too many pages are watching.", { "retry-after": "30" });
      live.send(state());
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

setInterval(() => live.send(state()), 1000).unref();
