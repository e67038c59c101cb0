import { contentSecurityPolicy, renderHtml } from "./html.ts";
import { type Page, reasonOf } from "./page.ts";

/**
 * A page as the bytes of a whole answer. People's browsers get HTML, programs that ask for JSON get `application/problem+json`, everyone
 * else plain text. No page is kept by anyone, and none tells where a link on it was followed from.
 */
export const renderPage = (
  page: Page,
  asked: { readonly accept: string | undefined; readonly bodyless: boolean; readonly closes: boolean },
): Buffer => {
  const form = chooseForm(asked.accept);
  const body = Buffer.from(forms[form].render(page));
  const lines = [
    `HTTP/1.1 ${page.status} ${reasonOf(page.status)}`,
    `Content-Type: ${forms[form].type}`,
    `Content-Length: ${body.length}`,
    "Cache-Control: no-store",
    "Referrer-Policy: no-referrer",
    "X-Content-Type-Options: nosniff",
    ...(form === "html" ? [`Content-Security-Policy: ${contentSecurityPolicy}`] : []),
    ...(page.retryAfterS === undefined ? [] : [`Retry-After: ${page.retryAfterS}`]),
    ...(page.headers ?? []).map(([name, value]) => `${name}: ${value}`),
    ...(asked.closes ? ["Connection: close"] : []),
    "",
    "",
  ];
  const head = Buffer.from(lines.join("\r\n"), "latin1");
  return asked.bodyless ? head : Buffer.concat([head, body]);
};

const chooseForm = (accept: string | undefined): keyof typeof forms => {
  const wanted = accept?.toLowerCase() ?? "";
  if (wanted.includes("text/html")) return "html";
  return /application\/([a-z.+-]+\+)?json/.test(wanted) ? "json" : "text";
};

const renderText = (page: Page): string =>
  [
    page.title,
    "",
    ...page.text,
    ...(page.link ? [`${page.link.label}: ${page.link.href}`] : []),
    ...(page.log === undefined ? [] : ["", page.log]),
    "",
  ].join("\n");

const renderJson = (page: Page): string =>
  `${JSON.stringify({
    type: "about:blank",
    title: page.title,
    status: page.status,
    detail: page.text.join(" "),
    ...(page.retryAfterS === undefined ? {} : { retry_after_ms: page.retryAfterS * 1000 }),
    ...(page.link ? { link: page.link.href } : {}),
    ...(page.log === undefined ? {} : { log: page.log }),
  })}\n`;

const forms = {
  html: { type: "text/html; charset=utf-8", render: renderHtml },
  json: { type: "application/problem+json", render: renderJson },
  text: { type: "text/plain; charset=utf-8", render: renderText },
} as const;
