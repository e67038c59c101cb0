import { Refusal } from "./serve.mjs";

export const sendHtml = (response, page, status = 200) => {
  response.writeHead(status, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" });
  response.end(page.toString());
};

export const sendJson = (response, value, status = 200) => {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(value)}\n`);
};

/** After a form was sent: the browser gets `location`, and reloading that does not send the form again. */
export const seeOther = (response, location) => {
  response.writeHead(303, { location, "cache-control": "no-store" }).end();
};

/** Whether a person's browser asks, to be answered with a page, or a program. */
export const wantsPage = (request) => request.headers.accept?.includes("text/html") ?? false;

/** Where this site is, as the visitor's browser knows it. */
export const originOf = ({ headers }) => {
  const scheme = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  return `${scheme}://${headers.host}`;
};

/** The whole body. Refuses one of more than `limitBytes`; nothing of the rest is kept. */
export const readBody = async (request, limitBytes) => {
  const chunks = [];
  let size = 0;
  // Else leaving the loop would close the connection, and the refusal would reach nobody.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > limitBytes)
      throw new Refusal(413, `This is too large: at most ${limitBytes} bytes are taken.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/**
 * Refuses what another site's page makes a visitor's browser send: it would act with the visitor's rights. Browsers say where a request
 * comes from, and pages cannot change what they say. Something without these headers is no browser and has only its own rights.
 */
export const requireSameOrigin = (request) => {
  const { "sec-fetch-site": site, origin, host } = request.headers;
  const fromHere =
    site === undefined ? origin === undefined || URL.parse(origin)?.host === host : site === "same-origin";
  if (!fromHere) throw new Refusal(403, "This was sent from another site's page, so nothing was done.");
};
