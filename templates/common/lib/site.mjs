import { sendFile } from "./files.mjs";
import { sendHtml, sendJson, wantsPage } from "./http.mjs";
import { Refusal, serve } from "./serve.mjs";

/**
 * Serves a site of pages. `routes` and `close`: as `serve` takes them. `folder`: whose files are handed out where no route is.
 * `errorPage(status, message)`: what a browser is shown when something went wrong; a program is sent JSON.
 */
export const serveSite = ({ routes, folder, errorPage, close }) =>
  serve({
    routes,
    close,
    otherwise: async ({ request, response, url }) => {
      if (!(await sendFile({ request, response, folder, path: url.pathname }))) {
        throw new Refusal(404, "There is nothing at this address.");
      }
    },
    refuse: ({ request, response, status, message }) =>
      wantsPage(request)
        ? sendHtml(response, errorPage(status, message), status)
        : sendJson(response, { error: message }, status),
  });
