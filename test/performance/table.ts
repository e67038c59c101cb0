import type { Results } from "./measure.ts";

/** The bench as people read it: figure, target, whether it is met. */
export const table = (results: Results): string => {
  const median = (name: string): number | undefined => results.latency[name]?.median;
  const ratio = (own: string, peer: string): number | undefined => {
    const [left, right] = [median(own), median(peer)];
    return left === undefined || right === undefined ? undefined : left / right;
  };
  const exec = median("holdfast exec");
  const spawn = median("cell's own spawn");
  const lines = [
    "latency, ms                median      p99",
    ...Object.entries(results.latency).map(
      ([name, { median: middle, p99 }]) =>
        `  ${name.padEnd(22)} ${middle.toFixed(2).padStart(8)} ${p99.toFixed(2).padStart(8)}`,
    ),
    ...Object.entries(results.notRun).flatMap(([name, why]) =>
      why === null ? [] : [`  ${name}: not run (${why})`],
    ),
    "",
    "promise                                              figure   target",
    row(
      "exec over REST − the cell's own spawn, ms",
      exec !== undefined && spawn !== undefined ? exec - spawn : undefined,
      4,
    ),
    row("exec over REST ÷ crun exec", ratio("holdfast exec", "crun exec"), 0.35),
    row("exec over REST ÷ podman exec", ratio("holdfast exec", "podman exec"), 0.1),
    row("create to first result ÷ crun run", ratio("holdfast create", "crun run"), 2.5),
    row("create to first result ÷ podman run", ratio("holdfast create", "podman run"), 0.5),
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

const row = (
  name: string,
  figure: number | undefined,
  target: number,
  sense: "at most" | "at least" = "at most",
): string => {
  if (figure === undefined) return `  ${name.padEnd(48)}  not run`;
  const met = sense === "at most" ? figure <= target : figure >= target;
  return `  ${name.padEnd(48)} ${figure.toFixed(2).padStart(8)}  ${sense} ${target}${met ? "" : "   MISSED"}`;
};
