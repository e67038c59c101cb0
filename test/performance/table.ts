import type { Results } from "./measure.ts";

/** The bench as people read it: figure, target, whether it is met. */
export const table = (results: Results): string => {
  const lines = [
    `${"latency, ms".padEnd(24)} ${["one after another", "", "after a pause", ""].map((title) => title.padStart(9)).join(" ")}`,
    `${" ".repeat(24)} ${["median", "p99", "median", "p99"].map((title) => title.padStart(8)).join(" ")}`,
    ...Object.entries(results.latency).map(([name, { busy, paused }]) => {
      const figures = [busy.median, busy.p99, paused.median, paused.p99];
      return `  ${name.padEnd(22)} ${figures.map((figure) => figure.toFixed(2).padStart(8)).join(" ")}`;
    }),
    ...Object.entries(results.notRun).flatMap(([name, why]) =>
      why === null ? [] : [`  ${name}: not run (${why})`],
    ),
    "",
    `  ${"promise".padEnd(48)}   figure`,
    ...(["busy", "paused"] as const).flatMap((kind) => latencyRows(results, kind)),
    row("agent on disk, MB", results.agentBinaryBytes / 1e6, 2.5),
    row("agent resident, MB", results.memory.agentResident, 2),
    row(`memory of an idle computer, MB (${results.memory.computers})`, results.memory.perComputer, 8),
    row("all programs and Postgres idle, MB (PSS)", results.memory.programs, 450),
    row("256 MB up, MB/s", results.transfer.up.median, 150, "at least"),
    row("256 MB down, MB/s", results.transfer.down.median, 150, "at least"),
    row("`yes` for 10 s: control grows, MB", results.floodMegabytes, 20),
  ];
  return lines.join("\n");
};

const latencyRows = (results: Results, kind: "busy" | "paused"): readonly string[] => {
  const median = (name: string): number | undefined => results.latency[name]?.[kind].median;
  const of = (own: string, peer: string, combine: (own: number, peer: number) => number) => {
    const [left, right] = [median(own), median(peer)];
    return left === undefined || right === undefined ? undefined : combine(left, right);
  };
  const ratio = (own: number, peer: number): number => own / peer;
  const when = kind === "busy" ? "" : ", after a pause";
  return [
    row(
      `exec − the cell's own spawn, ms${when}`,
      of("holdfast exec", "cell's own spawn", (own, peer) => own - peer),
      4,
    ),
    row(`exec ÷ crun exec${when}`, of("holdfast exec", "crun exec", ratio), 0.35),
    row(`exec ÷ podman exec${when}`, of("holdfast exec", "podman exec", ratio), 0.1),
    row(`create to first result ÷ crun run${when}`, of("holdfast create", "crun run", ratio), 2.5),
    row(`create to first result ÷ podman run${when}`, of("holdfast create", "podman run", ratio), 0.5),
  ];
};

export const row = (
  name: string,
  figure: number | undefined,
  target: number,
  sense: "at most" | "at least" = "at most",
): string => {
  if (figure === undefined) return `  ${name.padEnd(48)}  not run`;
  const met = sense === "at most" ? figure <= target : figure >= target;
  return `  ${name.padEnd(48)} ${figure.toFixed(2).padStart(8)}  ${sense} ${target}${met ? "" : "   MISSED"}`;
};
