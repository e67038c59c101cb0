import { stat } from "node:fs/promises";

/** Whether something is there that can be looked at; a link counts as what it leads to. */
export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
