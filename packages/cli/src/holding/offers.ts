import type { OperationOutput } from "@holdfast/contract";
import type { Override } from "../commands/from-operation.ts";
import { shownOnce } from "../commands/shown-once.ts";
import { offerText } from "../present/holding.ts";
import { print } from "../present/index.ts";
import { withNames } from "../present/names.ts";
import { diffForTerminal } from "../projects/diff.ts";

/** Verbs about children and what they offer. */
export const offerOverrides = {
  "child.create": shownOnce({
    name: "child.create",
    field: "secret",
    words: "The helper's key",
    subject: ({ computer, assistant }) => ({ ...(computer as object), helper: assistant }),
  }),
  "offer.list": {
    show: async (app, output) => {
      const { offers, ...page } = output as OperationOutput<"offer.list">;
      const shown = await withNames(app, offers, { child: "computer" });
      await print(app, "offer.list", { offers: shown, ...page });
    },
  },
  "offer.diff": {
    show: async (app, output) => {
      const { offer, differences, text, truncated } = output as OperationOutput<"offer.diff">;
      const { console } = app;
      const [shown = offer] = await withNames(app, [offer], { child: "computer", parent: "computer" });
      await console.out(`${offerText(shown, { now: app.now(), width: console.width })}\n`);
      await print(app, "offer.diff", { differences });
      if (text !== "")
        await console.out(`\n${console.stdoutIsTty ? diffForTerminal(text, console.stdoutColor) : text}`);
      if (truncated) console.say("The diff goes on; the rest is left out.");
      if (offer.state !== "open") return;
      console.hint(`To take exactly this: holdfast offers accept ${offer.id} --digest ${offer.digest}`);
    },
  },
} satisfies Readonly<Record<string, Override>>;
