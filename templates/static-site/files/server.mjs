import { join } from "node:path";
import { sendFile } from "./lib/files.mjs";
import { serve } from "./lib/serve.mjs";

const folder = join(import.meta.dirname, "public");

serve({
  routes: {},
  otherwise: async ({ request, response, url }) => {
    if (await sendFile({ request, response, folder, path: url.pathname })) return;
    if (await sendFile({ request, response, folder, path: "/404.html", status: 404 })) return;
    response.writeHead(404, { "content-type": "text/plain; charset=utf-8" }).end("There is no such page.\n");
  },
  refuse: ({ response, status, message }) => {
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`${message}\n`);
  },
});
