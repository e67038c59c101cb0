import { summarize } from "../statistics.ts";
import { row } from "../table.ts";
import type { Load } from "./load.ts";
import type { Addresses } from "./measure.ts";

/** What was measured of addresses, as people read it. */
export const addressesTable = (results: Addresses): string => {
  const names = Object.keys(results.many);
  const rate = (name: string): number | undefined =>
    middle(results.many[name], ({ requestsPerSecond }) => requestsPerSecond);
  const single = (name: string): number | undefined => middle(results.one[name], ({ medianMs }) => medianMs);
  const libraries = names.filter((name) => name !== "gateway" && name !== "nginx");
  const best = Math.max(...libraries.map((name) => rate(name) ?? 0));
  const of = (
    left: number | undefined,
    right: number | undefined,
    combine: (left: number, right: number) => number,
  ) => (left === undefined || right === undefined || right === 0 ? undefined : combine(left, right));
  const ratio = (left: number, right: number): number => left / right;
  const less = (left: number, right: number): number => left - right;
  return [
    `${"addresses".padEnd(24)} ${["32 connections", "", "", "one"].map((title) => title.padStart(9)).join(" ")}`,
    `${" ".repeat(24)} ${["req/s", "p50 ms", "p99 ms", "p50 ms", "p99 ms"].map((title) => title.padStart(9)).join(" ")}`,
    ...names.map((name) => {
      const many = results.many[name];
      const one = results.one[name];
      const figures = [
        rate(name)?.toFixed(0),
        ...[
          middle(many, ({ medianMs }) => medianMs),
          middle(many, ({ p99Ms }) => p99Ms),
          single(name),
          middle(one, ({ p99Ms }) => p99Ms),
        ].map((figure) => figure?.toFixed(3)),
      ];
      return `  ${name.padEnd(22)} ${figures.map((figure) => (figure ?? "").padStart(9)).join(" ")}`;
    }),
    ...Object.entries(results.notRun).map(([name, why]) => `  ${name}: not run (${why})`),
    "",
    `  ${"promise".padEnd(48)}   figure`,
    row("requests/s ÷ the best library", of(rate("gateway"), best, ratio), 1.2, "at least"),
    row("requests/s ÷ nginx", of(rate("gateway"), rate("nginx"), ratio), 0.4, "at least"),
    row("p50 over nginx's, one connection, ms", of(single("gateway"), single("nginx"), less), 0.3),
    row("first event over direct, ms", results.events.gateway.median - results.events.direct.median, 2),
    row(
      `${results.slowReader.megabytes} MB, slow reader${results.slowReader.whole ? "" : " (BROKEN)"}: gateway resident, MB`,
      results.slowReader.residentMegabytes,
      130,
    ),
    row(
      `${results.webSockets.count} idle WebSockets, ${results.webSockets.projects} projects: gateway grows, MB`,
      results.webSockets.megabytes,
      60,
    ),
    row(
      "p99 of others ÷ without a stalled client",
      results.beside.stalled.median / results.beside.alone.median,
      1.2,
    ),
  ].join("\n");
};

const middle = (loads: readonly Load[] | undefined, figure: (load: Load) => number): number | undefined => {
  return loads && loads.length > 0 ? summarize(loads.map(figure)).median : undefined;
};
