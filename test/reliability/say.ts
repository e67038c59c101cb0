import process from "node:process";

/** At once, not at the end of the test as what it diagnoses: whatever becomes of the test's process, it is known how far it came. */
export const say = (text: string): void => void process.stdout.write(`  ${text}\n`);
