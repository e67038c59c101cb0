import type { OperationName } from "@holdfast/contract";
import type { App } from "../app.ts";

type Hint = (app: App, output: unknown) => void;

const named = (output: unknown): string => String((output as { name?: unknown }).name);

const slugOf = (output: unknown): string => String((output as { slug?: unknown }).slug);

/** What people usually do next. Printed only to a terminal. */
export const hints: { readonly [N in OperationName]?: Hint } = {
  "computer.create": (app, output) => app.console.hint(`Next: holdfast exec ${named(output)} -- uname -a`),
  "computer.stop": (app, output) =>
    app.console.hint(`Its disk is kept. Bring it back: holdfast computers wake ${named(output)}`),
  "computer.sleep": (app, output) =>
    app.console.hint(`It wakes by itself when used, or: holdfast computers wake ${named(output)}`),
  "process.start": (app, output) => {
    const { id, computer } = output as { id: string; computer: string };
    app.console.hint(`Next: holdfast processes follow ${computer} ${id}`);
  },
  "service.create": (app, output) => {
    const { name, computer } = output as { name: string; computer: string };
    app.console.hint(`Next: holdfast logs ${computer} ${name} --follow`);
  },
  "project.create": (app, output) => {
    const { slug, folder } = output as { slug: string; folder: string };
    app.console.hint(`Look at it: holdfast projects open ${slug}`);
    app.console.hint(
      `Change what is in ${folder} on the computer (or in a clone: holdfast projects clone ${slug}), then: holdfast projects deploy ${slug}`,
    );
  },
  "project.update": (app, output) =>
    app.console.hint(`What it runs changes with: holdfast projects deploy ${slugOf(output)}`),
  "project.publish": (app, output) =>
    app.console.hint(`To close it again: holdfast projects unpublish ${slugOf(output)}`),
};
