/**
 * Asks every section and keeps the report under data/reports. The schedule `daily` runs it; by hand: `node report.mjs`. A second one on the same
 * day replaces the first. Ends with 1 when a section failed: the report says why, and the run shows as failed.
 */
import { join } from "node:path";
import process from "node:process";
import { asMarkdown } from "./lib/markdown.mjs";
import { compose } from "./lib/report.mjs";
import { Shelf } from "./lib/shelf.mjs";
import { settings } from "./settings.mjs";

const shelf = new Shelf(join(import.meta.dirname, "data/reports"), settings.keep);
const now = new Date();
const id = now.toISOString().slice(0, 10);
const before = shelf.ids().find((one) => one < id);
const since = before === undefined ? new Date(now - 24 * 3600 * 1000) : new Date(shelf.get(before).madeAt);
const report = await compose({ id, now, since, folder: import.meta.dirname, ...settings });
shelf.put(id, report);
console.log(asMarkdown(report));
if (report.sections.some(({ failed }) => failed)) process.exitCode = 1;
