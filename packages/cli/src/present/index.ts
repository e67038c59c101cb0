import type { OperationName } from "@holdfast/contract";
import type { App } from "../app.ts";
import { holdingTexts } from "./holding.ts";
import { projectTexts } from "./projects.ts";
import { card, table } from "./table.ts";
import { entriesOf, lists } from "./views.ts";

/** Prints a result: JSON with `--json`, else a table or a card. */
export const print = async (app: App, name: OperationName, output: unknown): Promise<void> => {
  if (app.json)
    return app.console.out(`${JSON.stringify(output, null, app.console.stdoutIsTty ? 2 : undefined)}\n`);
  const text = projectTexts[name] ?? holdingTexts[name];
  if (text) return app.console.out(text(output, { now: app.now(), width: app.console.width }));
  const value = output as Readonly<Record<string, unknown>>;
  const list = lists[name];
  if (!list) return app.console.out(card(entriesOf(value, app.now()), app.console.width));
  const rows = value[list.rows] as readonly Readonly<Record<string, unknown>>[];
  if (rows.length === 0) return app.console.say(list.empty);
  await app.console.out(table(rows, list.columns, app.now(), app.console.width));
  const cursor = value["next_cursor"];
  if (typeof cursor === "string") app.console.say(`There are more: add --cursor ${JSON.stringify(cursor)}`);
};
