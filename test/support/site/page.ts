import type { Page } from "playwright-core";
import type { Site } from "./site.ts";

/** The address of a page of the site with these headers and this text; see the app's `/page`. */
export const pageOf = (
  { origin }: Pick<Site, "origin">,
  headers: readonly (readonly [string, string])[] = [],
  text?: string,
): string => {
  const query = new URLSearchParams({
    h: JSON.stringify(headers),
    ...(text === undefined ? {} : { b: text }),
  });
  return `${origin}/page?${query.toString()}`;
};
/** What an async function body of the page's own answers. */
export const inPage = <T>(page: Page, body: string, argument?: unknown): Promise<T> =>
  page.evaluate<T>(`(async (given) => { ${body} })(${JSON.stringify(argument ?? null)})`);
/** The status that going there ends with. */
export const statusAt = async (page: Page, url: string): Promise<number> =>
  (await page.goto(url))?.status() ?? 0;
