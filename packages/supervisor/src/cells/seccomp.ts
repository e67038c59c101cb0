import type { Policy } from "./policy.ts";

const errnoValues = { EPERM: 1, ENOSYS: 38 } as const;

interface SeccompArgument {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: "SCMP_CMP_EQ" | "SCMP_CMP_MASKED_EQ";
}

interface SeccompLine {
  readonly names: readonly string[];
  readonly action: "SCMP_ACT_ALLOW" | "SCMP_ACT_ERRNO";
  readonly errnoRet?: number;
  readonly args?: readonly SeccompArgument[];
}

export interface SeccompConfig {
  readonly defaultAction: "SCMP_ACT_ERRNO";
  readonly defaultErrnoRet: number;
  readonly architectures: readonly string[];
  readonly syscalls: readonly SeccompLine[];
}

/**
 * `policy/seccomp.json` in the runtime's words. Only lines that allow, and denials with another errno than the default's: several
 * conditional lines for one system call are alternatives. A masked comparison ignores every bit outside its mask.
 */
export const buildSeccomp = (policy: Policy["seccomp"]): SeccompConfig => ({
  defaultAction: "SCMP_ACT_ERRNO",
  defaultErrnoRet: errnoValues[policy.default.errno],
  architectures: policy.architectures.map((line) => line.name),
  syscalls: [
    { names: policy.allowed.flatMap((line) => line.allow), action: "SCMP_ACT_ALLOW" },
    ...policy.rules.map(
      (line): SeccompLine => ({
        names: line.allow,
        action: "SCMP_ACT_ALLOW",
        args: line.when.map(({ argument, mask, equals }) =>
          mask === undefined
            ? { index: argument, value: Number(equals), op: "SCMP_CMP_EQ" }
            : { index: argument, value: Number(mask), valueTwo: Number(equals), op: "SCMP_CMP_MASKED_EQ" },
        ),
      }),
    ),
    ...policy.denied
      .filter((line) => line.errno !== policy.default.errno)
      .map(
        (line): SeccompLine => ({
          names: line.deny,
          action: "SCMP_ACT_ERRNO",
          errnoRet: errnoValues[line.errno],
        }),
      ),
  ],
});
