import type { Approvals, Budget, KillSwitch, StageReport } from "../domain/ports.ts";

/**
 * The stages that nothing stands behind yet. They pass everything and say so: `holdfast doctor` names them, so that nobody takes them for
 * guards. `test/functional/control/stages.test.ts` fails when one is filled and still says that it is not.
 */
export const openStages: {
  readonly killSwitch: KillSwitch;
  readonly approvals: Approvals;
  readonly budget: Budget;
} = {
  killSwitch: {
    report: {
      stage: "kill_switch",
      enforced: false,
      detail: "no kill switch is built yet: nothing is stopped here",
    },
    check: () => Promise.resolve(),
  },
  approvals: {
    report: {
      stage: "approval",
      enforced: false,
      detail: "no approvals are built yet: nothing waits for a human",
    },
    require: () => Promise.resolve(),
  },
  budget: {
    report: {
      stage: "budget",
      enforced: false,
      detail: "no budget is built yet: nothing is reserved or charged",
    },
    reserve: () => Promise.resolve({ release: () => Promise.resolve(), settle: () => Promise.resolve() }),
  },
};

export const stageReports = (stages: {
  readonly killSwitch: KillSwitch;
  readonly approvals: Approvals;
  readonly budget: Budget;
}): readonly StageReport[] => [stages.killSwitch.report, stages.approvals.report, stages.budget.report];
