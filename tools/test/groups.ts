/** What `npm test` runs. A group with fewer files than `atLeast` fails: a glob that matches nothing proves nothing. */
export interface Group {
  readonly name: string;
  readonly files: readonly string[];
  readonly atLeast: number;
  /** Files that take all of the host or measure it: one at a time and beside nothing, after all others. Each is one of `files`. */
  readonly alone?: readonly string[];
  /** Only in `npm run test:long`. */
  readonly long?: boolean;
}

export const groups: readonly Group[] = [
  { name: "unit", files: ["packages/*/src/**/*.test.ts", "tools/**/*.test.ts"], atLeast: 20 },
  { name: "repo", files: ["test/repo/**/*.test.ts"], atLeast: 4 },
  { name: "ecosystem", files: ["test/ecosystem/**/*.test.ts"], atLeast: 8 },
  { name: "functional", files: ["test/functional/**/*.test.ts"], atLeast: 13 },
  {
    name: "security",
    files: ["test/security/**/*.test.ts"],
    atLeast: 13,
    alone: [
      // Fork bombs, endless output, full disks; and what that costs others is looked at.
      "test/security/83-92-exhaustion.test.ts",
      "test/security/85-full-host.test.ts",
      // Thousands of sockets; how visitors fare meanwhile is measured.
      "test/security/97-visitors.test.ts",
    ],
  },
  { name: "reliability", files: ["test/reliability/**/*.test.ts"], atLeast: 6 },
  { name: "long", files: ["test/**/*.long.ts"], atLeast: 2, long: true },
];

/** One run of everything ends within this, or fails. */
export const runLimitMs = 60 * 60_000;

/** One test file ends within this, or fails. Generous: machines are slow and shared. */
export const fileLimitMs = { normal: 10 * 60_000, long: 120 * 60_000 } as const;

/**
 * Test files side by side, whatever their groups, and how many of these lanes have an instance that their files share. More than the two cores
 * of the smallest machine, for files wait for other programs much of their time. Long rounds measure, so there is one at a time.
 */
export const lanes = { normal: { all: 3, withInstance: 2 }, long: { all: 1, withInstance: 1 } } as const;

/** Fewer files that share an instance than this are not worth a second one. */
export const filesPerInstance = 6;
