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
  "computer.archive": (app, output) =>
    app.console.hint(`It is unpacked by itself when used, or: holdfast computers wake ${named(output)}`),
  "computer.fork": (app, output) => {
    const { name, expires_at: ends } = output as { name: string; expires_at: string | null };
    app.console.hint(`Next: holdfast exec ${name} -- ls /work`);
    if (ends !== null) app.console.hint(`It ends at ${ends}. To keep it: holdfast computers promote ${name}`);
  },
  "snapshot.create": (app, output) => {
    const { name, computer } = output as { name: string; computer: string };
    app.console.hint(`To come back to it: holdfast snapshots restore ${computer} ${name}`);
    app.console.hint(
      `To try something on a copy: holdfast computers fork ${computer} <name> --snapshot ${name}`,
    );
  },
  "schedule.create": (app, output) => {
    const { id, run_address: address } = output as { id: string; run_address: string | null };
    if (address === null)
      app.console.hint(`Try it now, beside its slots: holdfast schedules run ${id} --follow`);
    else app.console.hint(`A run starts with: POST ${address}, the key as Bearer token`);
  },
  "hold.create": (app, output) => {
    const { id, computer } = output as { id: string; computer: string };
    app.console.hint(`Before it ends: holdfast holds renew ${computer} ${id}`);
  },
  "offer.create": (app, output) =>
    app.console.hint(
      `The parent's side looks at it: holdfast offers diff ${String((output as { id: unknown }).id)}`,
    ),
  "offer.accept": (app, output) => {
    const { commit } = output as { commit: string | null };
    if (commit !== null)
      app.console.hint("What runs stays as it is until: holdfast projects deploy <project>");
  },
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
