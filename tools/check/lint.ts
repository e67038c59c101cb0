import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../node24.mjs";
import { run, tool, type Outcome } from "./run.ts";

const canary = "tools/check/canary";

interface Finding {
  readonly message: string;
  readonly code: string;
  readonly filename: string;
  readonly line: number;
}

/**
 * Lints the repository and, in the same run, a canary of seeded defects. The linter stays silent about whole classes of findings when it
 * cannot read the types, so a run that misses one seeded defect proves nothing and fails.
 */
export const lint = async (): Promise<Outcome> => {
  const { output } = await run(tool("oxlint"), ["--format=json", "."]);
  const findings = parse(output);
  if (typeof findings === "string") return { ok: false, output: findings };
  const seeded = findings.filter(({ filename }) => filename.includes(canary));
  const missed = expected().filter(
    ({ file, line, rule }) =>
      !seeded.some(
        (finding) => finding.filename.endsWith(file) && finding.code === rule && finding.line === line,
      ),
  );
  const real = findings.filter(({ filename }) => !filename.includes(canary));
  const lines = [
    ...missed.map(
      ({ file, line, rule }) => `${canary}/${file}:${line} the seeded defect was not reported: ${rule}`,
    ),
    ...real.map(({ filename, line, code, message }) => `${filename}:${line} ${code}: ${message}`),
  ];
  return { ok: lines.length === 0, output: lines.join("\n") };
};

/** Each line of the canary that ends in `// <rule>` must be reported. The name may stand on the line below what it is about. */
const expected = (): { readonly file: string; readonly line: number; readonly rule: string }[] =>
  ["seeded-cycle.ts", "seeded-defects.ts", "seeded-imports.ts"].flatMap((file) =>
    readFileSync(join(root, canary, file), "utf8")
      .split("\n")
      .flatMap((text, index) => {
        const rule = /\/\/ ((?:typescript|import|eslint)\/[a-z-]+)$/.exec(text)?.[1];
        const own = rule !== undefined && text.trim().startsWith("//");
        return rule === undefined ? [] : [{ file, line: own ? index : index + 1, rule: asCode(rule) }];
      }),
  );

const asCode = (rule: string): string => {
  const [plugin = "", name = ""] = rule.split("/");
  return `${plugin}(${name})`;
};

const parse = (output: string): Finding[] | string => {
  let report: unknown;
  try {
    report = JSON.parse(output);
  } catch {
    return `the linter did not answer with findings:\n${output.slice(0, 2000)}`;
  }
  if (
    typeof report !== "object" ||
    report === null ||
    !("diagnostics" in report) ||
    !Array.isArray(report.diagnostics)
  ) {
    return "the linter's report has another form than expected";
  }
  return report.diagnostics.map(
    (item: { message: string; code?: string; filename: string; labels?: { span: { line?: number } }[] }) => ({
      message: item.message,
      code: item.code ?? "",
      filename: item.filename,
      line: item.labels?.[0]?.span.line ?? 0,
    }),
  );
};
