const countMax = 30;
const valueLength = 500;

/** Words that end the names of headers in which senders say what they send: `x-github-event`, `stripe-signature`, `webhook-id`. */
const telling = new RegExp(
  "-(action|attempt|delivery|event|signature|signature-256|timestamp|topic|type|version)$|(delivery|event|message|request|webhook)-id$",
);
const known = new Set(["content-type", "content-encoding", "user-agent", "date"]);

/**
 * The headers that are kept, by name. Only names that are known to hold no secret: credentials come in headers of many names, and what
 * is not kept cannot be read by whoever sees the inbox. A signature proves a body and is no credential.
 */
export const keptHeaders = (headers) =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => known.has(name) || telling.test(name))
      .slice(0, countMax)
      .map(([name, value]) => [name, String(value).slice(0, valueLength)]),
  );
