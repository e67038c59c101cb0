import { findMount } from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";

/** Which layout of cgroups the host has. Cells need a v2 hierarchy: alone, or beside v1 (hybrid). Throws where there is none. */
export const checkCgroups = async (): Promise<StepResult<void>> => {
  const [root, unified] = [await findMount("/sys/fs/cgroup"), await findMount("/sys/fs/cgroup/unified")];
  if (root?.type !== "cgroup2" && unified?.type !== "cgroup2") {
    throw new Error(
      "there is no v2 hierarchy, neither at /sys/fs/cgroup nor at /sys/fs/cgroup/unified. Boot with " +
        "`systemd.unified_cgroup_hierarchy=1`.",
    );
  }
  const detail = root?.type === "cgroup2" ? "v2" : "hybrid (v1 and v2)";
  return { outcome: "skipped", detail, value: undefined };
};
