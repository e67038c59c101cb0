import { cleanUpAfterwards, testDownAfterKill } from "../support/interrupted-up.ts";

cleanUpAfterwards();

const steps = [
  "agent",
  "instance",
  "directories",
  "program tree",
  "pool",
  "base image",
  "database",
  "launcher",
  "postgres",
  "supervisor",
  "control",
  "gateway",
];

for (const step of steps) for (const delayMs of [0, 60, 150, 400]) testDownAfterKill(step, delayMs);
