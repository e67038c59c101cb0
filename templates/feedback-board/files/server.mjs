import { join } from "node:path";
import { openBoard } from "./lib/board.mjs";
import { readForm } from "./lib/form.mjs";
import { requireSameOrigin, seeOther, sendHtml, sendJson } from "./lib/http.mjs";
import { Refusal } from "./lib/serve.mjs";
import { serveSite } from "./lib/site.mjs";
import { cookieWith, votedIn } from "./lib/voted.mjs";
import { boardPage } from "./pages/board.mjs";
import { errorPage } from "./pages/error.mjs";

const board = openBoard(join(import.meta.dirname, "data/board.sqlite"));

const listing = ({ searchParams }) => {
  const sort = searchParams.get("sort") === "top" ? "top" : "new";
  const page = Math.min(Math.max(Math.trunc(Number(searchParams.get("page"))) || 1, 1), 1000);
  return { sort, page, ...board.list({ sort, page }) };
};

const show = ({ request, response, url }, more = {}, status = 200) =>
  sendHtml(response, boardPage({ ...listing(url), voted: votedIn(request), ...more }), status);

serveSite({
  routes: {
    "GET /": (visit) => show(visit),
    "GET /feedback.json": ({ response, url }) => sendJson(response, listing(url)),
    "POST /feedback": async (visit) => {
      requireSameOrigin(visit.request);
      const { values, errors } = await readForm(visit.request);
      if (Object.keys(errors).length > 0) return show(visit, { values, errors }, 422);
      const id = board.add(values);
      if (id === undefined) throw new Refusal(507, "The board is full. Ask whoever keeps it to make room.");
      seeOther(visit.response, `/#feedback-${id}`);
    },
    "POST /feedback/:id/vote": ({ request, response, url, parameters }) => {
      requireSameOrigin(request);
      const id = /^[0-9]{1,15}$/.test(parameters.id) ? Number(parameters.id) : 0;
      const voted = votedIn(request);
      if (!voted.has(id)) {
        if (!board.vote(id)) throw new Refusal(404, "This is no longer on the board.");
        response.setHeader("set-cookie", cookieWith(voted, id));
      }
      const { sort, page } = listing(url);
      seeOther(response, `/?sort=${sort}&page=${page}#feedback-${id}`);
    },
  },
  folder: join(import.meta.dirname, "public"),
  errorPage,
  close: () => board.close(),
});
