import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export const title = "Open tasks";

/** Lines such as `- [ ] call the harbour` in the Markdown files of `notes/`. Those with `(2026-12-01)` in them are due then. */
export const look = async ({ now, folder }) => {
  const notes = join(folder, "notes");
  const names = (await readdir(notes)).filter((name) => name.endsWith(".md")).sort();
  const tasks = [];
  for (const name of names)
    for (const [, text] of (await readFile(join(notes, name), "utf8")).matchAll(/^\s*[-*] \[ \] (.+)$/gm))
      tasks.push({ text: text.trim(), due: /\((\d{4}-\d{2}-\d{2})\)/.exec(text)?.[1] });
  const today = now.toISOString().slice(0, 10);
  const late = tasks.filter(({ due }) => due !== undefined && due <= today);
  const count = tasks.length === 1 ? "1 task is open" : `${tasks.length} tasks are open`;
  return {
    summary:
      tasks.length === 0
        ? "Nothing is open."
        : `${count}${late.length > 0 ? `, ${late.length} of them due` : ""}.`,
    attention: late.length > 0,
    items: [...late, ...tasks.filter((task) => !late.includes(task))].slice(0, 20).map(({ text }) => text),
  };
};
