import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after } from "node:test";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { temporaryDirectory } from "./temporary.ts";

/** Debian's Chromium. It resolves `*.localhost` to loopback by itself. */
export const chromiumPath = process.env["HOLDFAST_TEST_CHROMIUM"] ?? "/usr/bin/chromium";

export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the browser complained about on its console: scripts that failed, what the page's policy refused. */
  readonly complaints: string[];
}

export interface UsedBrowser {
  readonly browser: Browser;
  /** A browser of somebody else: cookies and storage of its own. */
  visitor(): Promise<Visitor>;
  /**
   * Pictures of the page as it is now: phone (390 px) and desktop (1280 px), light and dark. Throws when something on it is hard to use
   * (page-complaints.js) in one of them. They go with the file, unless HOLDFAST_KEEP_SCREENSHOTS names a directory for them.
   */
  photograph(page: Page, name: string): Promise<void>;
}

/** A headless Chromium for this file. Call at the top of a file: it ends after the file. */
export const useBrowser = async (label: string): Promise<UsedBrowser> => {
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox"] });
  after(() => browser.close());
  const kept = process.env["HOLDFAST_KEEP_SCREENSHOTS"];
  const made = kept === undefined ? temporaryDirectory(`screenshots-${label}`) : undefined;
  if (made) after(() => made.remove());
  const folder = made?.path ?? join(kept ?? "", label);
  mkdirSync(folder, { recursive: true });
  return {
    browser,
    visitor: async () => {
      const context = await browser.newContext();
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      return { context, page, complaints };
    },
    photograph: async (page, name) => {
      for (const [device, size] of Object.entries(devices))
        for (const colorScheme of ["light", "dark"] as const) {
          await page.setViewportSize(size);
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          const path = join(folder, `${name}-${device}-${colorScheme}.png`);
          await page.screenshot({ path, fullPage: true });
          assert.deepEqual(await page.evaluate(complaintsOfPage), [], `${name}, ${device}, ${colorScheme}`);
        }
    },
  };
};

const devices = { phone: { width: 390, height: 844 }, desktop: { width: 1280, height: 800 } } as const;

const complaintsOfPage = readFileSync(join(import.meta.dirname, "page-complaints.js"), "utf8");
