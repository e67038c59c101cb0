import type { App } from "../app.ts";
import { shownText } from "../terminal/log-text.ts";
import { usageError, type Override } from "./from-operation.ts";

/** File verbs that read and write text here. */
export const fileOverrides = {
  "file.read": {
    show: async (app: App, output: unknown) => {
      const { content, next_offset: next } = output as { content: string; next_offset: number | null };
      await app.console.out(app.console.stdoutIsTty ? shownText(content) : content);
      if (next !== null)
        app.console.say(`\nThe file goes on: --offset ${next}, or 'files download' for all of it.`);
    },
  },
  "file.write": {
    omit: ["content"],
    extend: (command) => command.option("--content <text>", "The content; without it, standard input"),
    complete: async (app, input, values) => ({
      ...input,
      content: values["content"] ?? (await app.readAllStdin()),
    }),
  },
  "file.edit": {
    omit: ["edits"],
    extend: (command) =>
      command
        .option("--old <text>", "Text that stands there exactly once")
        .option("--new <text>", "Text to put in its place")
        .option("--all", "Replace it everywhere")
        .option("--edits <json>", "Several edits: [{old, new, all}]"),
    complete: (_app, input, values) => {
      const { old, new: replacement, all, edits } = values;
      if (typeof edits === "string") return { ...input, edits: JSON.parse(edits) as unknown };
      if (typeof old !== "string" || typeof replacement !== "string") {
        throw usageError(
          "There is no edit",
          "Give --old and --new, or --edits.",
          "holdfast files edit box /work/a.txt --old x --new y",
        );
      }
      return { ...input, edits: [{ old, new: replacement, all: all === true }] };
    },
  },
  "process.input": {
    complete: async (app, input) =>
      input["text"] === undefined && input["base64"] === undefined && input["close"] !== true
        ? { ...input, base64: Buffer.from(await app.readAllStdin()).toString("base64") }
        : input,
  },
  "process.output": {
    show: async (app: App, output: unknown) => {
      const part = output as {
        stdout: string;
        stderr: string;
        next_cursor: number;
        more: boolean;
        ended: boolean;
      };
      const { stdoutIsTty, stderrIsTty } = app.console;
      await app.console.out(stdoutIsTty ? shownText(part.stdout) : part.stdout);
      await app.console.errOut(Buffer.from(stderrIsTty ? shownText(part.stderr) : part.stderr));
      if (part.more || !part.ended)
        app.console.hint(
          `${part.more ? "There is more" : "It is still running"}: --cursor ${part.next_cursor}`,
        );
    },
  },
} satisfies Readonly<Record<string, Override>>;
