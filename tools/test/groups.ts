/** What `npm test` runs, in this order. A group with fewer files than `atLeast` fails: a glob that matches nothing proves nothing. */
export interface Group {
  readonly name: string;
  readonly files: readonly string[];
  readonly atLeast: number;
  /** Test files side by side. Groups that share the host's instance run one after the other. */
  readonly concurrency: number;
  /** Only in `npm run test:long`. */
  readonly long?: boolean;
}

export const groups: readonly Group[] = [
  { name: "unit", files: ["packages/*/src/**/*.test.ts", "tools/**/*.test.ts"], atLeast: 20, concurrency: 2 },
  { name: "repo", files: ["test/repo/**/*.test.ts"], atLeast: 4, concurrency: 2 },
  { name: "ecosystem", files: ["test/ecosystem/**/*.test.ts"], atLeast: 8, concurrency: 1 },
  { name: "functional", files: ["test/functional/**/*.test.ts"], atLeast: 13, concurrency: 1 },
  { name: "security", files: ["test/security/**/*.test.ts"], atLeast: 13, concurrency: 1 },
  { name: "reliability", files: ["test/reliability/**/*.test.ts"], atLeast: 6, concurrency: 1 },
  { name: "long", files: ["test/**/*.long.ts"], atLeast: 2, concurrency: 1, long: true },
];

/** One run of everything ends within this, or fails. */
export const runLimitMs = 30 * 60_000;

/** One test file ends within this, or fails. Generous: machines are slow and shared. */
export const fileLimitMs = { normal: 10 * 60_000, long: 120 * 60_000 } as const;
