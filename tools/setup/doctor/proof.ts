/** One thing the instance needs: proven by trial or not, and what to do when not. */
export interface Proof {
  readonly name: string;
  readonly proven: boolean;
  readonly detail: string;
  /** Empty when proven. */
  readonly remedy: string;
}

/** Runs a check; what it throws is the detail of a proof that failed. */
export const prove = async (name: string, remedy: string, check: () => Promise<string>): Promise<Proof> => {
  try {
    return { name, proven: true, detail: await check(), remedy: "" };
  } catch (error) {
    return { name, proven: false, detail: error instanceof Error ? error.message : String(error), remedy };
  }
};
