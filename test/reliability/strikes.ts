export type Program = keyof typeof points;

/** What a round does to the programs: some are killed, or one dies by itself at a named point. */
export type Strike =
  | { readonly kind: "kill"; readonly programs: readonly string[]; readonly afterOperations: number }
  | { readonly kind: "point"; readonly program: Program; readonly point: string };

export const describe = (strike: Strike): string =>
  strike.kind === "kill" ? `kill -9 ${strike.programs.join(", ")}` : `${strike.program} at ${strike.point}`;

/** A strike at a point that every operation passes several times falls on one of these visits. */
const mostVisits = 12;

export const strikeAt = (program: Program, point: string, random: (bound: number) => number): Strike => ({
  kind: "point",
  program,
  point: point.startsWith("store-") ? `${point}@${1 + random(mostVisits)}` : point,
});

/** Names of crash points that the load comes by, in the order of the sources. */
export const points = {
  control: [
    "store-before-commit",
    "store-committed",
    "store-before-statement",
    "store-after-statement",
    "operation-before-admitted",
    "operation-admitted",
    "operation-before-settled",
    "operation-settled",
    "process-before-run",
    "process-after-run",
    "process-before-start",
    "process-after-start",
    "computer-create-admitted",
    "computer-state-admitted",
    "computer-before-volume",
    "computer-before-cell",
    "computer-after-cell",
    "computer-before-awake",
    "computer-before-freeze",
    "computer-after-freeze",
    "computer-before-destroy",
    "computer-after-destroy",
    "computer-recorded",
  ],
  supervisor: [
    "volume.create:begin",
    "volume.create:recorded",
    "volume.create:made",
    "volume.create:ready",
    "volume.destroy:begin",
    "volume.destroy:deleted",
    "volume.destroy:forgotten",
    "cell.start:recorded",
    "cell.start:prepared",
    "cell.start:made",
    "cell.start:running",
    "cell.freeze:begin",
    "cell.freeze:frozen",
    "cell.thaw:leased",
    "cell.thaw:thawed",
    "cell.exit:begin",
    "cell.exit:down",
    "cell.exit:recorded",
  ],
  launcher: [
    "launcher-before-announced",
    "launcher-announced",
    "program-before-start",
    "program-prepared",
    "program-started",
    "program-ended",
  ],
} as const;

/** What the load does not come by, and the file that does. */
export const pointsElsewhere: Readonly<Record<string, string>> = {
  "migration-before-commit": "control-crash-points.test.ts",
  "migration-committed": "control-crash-points.test.ts",
  "operation-before-reconciled": "control-crash-points.test.ts",
  "process-before-deleted": "machine-crash-points.test.ts",
  "process-before-observed": "machine-crash-points.test.ts",
  "process-observed": "machine-crash-points.test.ts",
  "computer-before-stop": "machine-crash-points.test.ts",
  "computer-after-stop": "machine-crash-points.test.ts",
  "computer-before-resize": "machine-crash-points.test.ts",
  "computer-after-resize": "machine-crash-points.test.ts",
  "services-before-apply": "machine-crash-points.test.ts",
  "services-applied": "machine-crash-points.test.ts",
  "service-before-restart": "machine-crash-points.test.ts",
  "project-create-admitted": "project-crash-points.test.ts",
  "project-before-files": "project-crash-points.test.ts",
  "project-after-files": "project-crash-points.test.ts",
  "project-before-moved": "project-crash-points.test.ts",
  "project-after-moved": "project-crash-points.test.ts",
  "project-before-deployed": "project-crash-points.test.ts",
  "project-deployed": "project-crash-points.test.ts",
  "project-committed": "project-crash-points.test.ts",
  "project-before-forgotten": "project-crash-points.test.ts",
  "project-destroyed": "project-crash-points.test.ts",
  "volume.resize:begin": "supervisor.test.ts",
  "volume.resize:limited": "supervisor.test.ts",
  "volume.resize:recorded": "supervisor.test.ts",
  "cell.adopt:down": "supervisor.test.ts",
};
