import type { Override } from "../commands/from-operation.ts";
import { shownOnce } from "../commands/shown-once.ts";

/** `keys create`: the secret is shown once, or goes into a file that only you can read. */
export const keyOverrides = {
  "key.create": shownOnce({
    name: "key.create",
    field: "secret",
    words: "The key itself",
    subject: ({ key }) => key,
  }),
} satisfies Readonly<Record<string, Override>>;
