import { join } from "node:path";
import { openCounter } from "./lib/counter.mjs";
import { requireSameOrigin, seeOther, sendHtml, sendJson } from "./lib/http.mjs";
import { Live } from "./lib/live.mjs";
import { Refusal } from "./lib/serve.mjs";
import { serveSite } from "./lib/site.mjs";
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

serveSite({
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
  folder: join(import.meta.dirname, "public"),
  errorPage,
});

setInterval(() => live.send(state()), 1000).unref();
