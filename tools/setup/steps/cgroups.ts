import { mkdir, readFile } from "node:fs/promises";
import { command, findMount } from "@holdfast/launcher";
import type { StepResult } from "../progress.ts";

const hugetlb = "/sys/fs/cgroup/hugetlb";

/**
 * On the hybrid layout crun 1.8.1 refuses to start while `hugetlb` sits on the v2 hierarchy; mounting a v1 hierarchy for it moves it
 * over. On pure v2, and where v1 has it already, there is nothing to do.
 */
export const ensureCgroups = async (): Promise<StepResult<void>> => {
  const result = (outcome: "done" | "skipped", detail: string) => ({ outcome, detail, value: undefined });
  const root = await findMount("/sys/fs/cgroup");
  if (root?.type === "cgroup2") return result("skipped", "cgroup v2");
  const unified = await findMount("/sys/fs/cgroup/unified");
  if (unified?.type !== "cgroup2") {
    throw new Error(
      "there is no v2 hierarchy, neither at /sys/fs/cgroup nor at /sys/fs/cgroup/unified. Boot with " +
        "`systemd.unified_cgroup_hierarchy=1`.",
    );
  }
  const controllers = (await readFile("/sys/fs/cgroup/unified/cgroup.controllers", "utf8")).split(/\s+/);
  if (!controllers.includes("hugetlb") || (await findMount(hugetlb)))
    return result("skipped", "hybrid (v1 and v2)");
  await mkdir(hugetlb, { recursive: true });
  await command(["mount", "-t", "cgroup", "-o", "nosuid,nodev,noexec,hugetlb", "cgroup", hugetlb]);
  return result("done", "hybrid; a v1 hierarchy for hugetlb is mounted");
};
