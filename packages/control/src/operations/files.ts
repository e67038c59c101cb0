import type { OperationName } from "@holdfast/contract";
import type { Computer, Computers } from "../domain/computer.ts";
import type { Handlers, OperationContext } from "../domain/handler.ts";
import type { Files } from "../work/index.ts";
import { bodyOf } from "./body.ts";

type Names = Extract<OperationName, `file.${string}` | `archive.${string}`>;

/** Nothing about files is written down here: the computer's disk is where they are. Their record's target is the computer. */
export const fileHandlers = ({
  files,
  computers,
}: {
  readonly files: Files;
  readonly computers: Computers;
}): Handlers<Names> => {
  const on = async <T>(
    context: OperationContext,
    params: { readonly computer: string },
    work: (computer: Computer) => Promise<T>,
  ): Promise<{ output: T; target: string }> => {
    const computer = await computers.find(context.principal, params.computer);
    return { output: await work(computer), target: computer.id };
  };
  const stream = async <T>(
    context: OperationContext,
    params: { readonly computer: string },
    work: (computer: Computer) => Promise<T>,
  ): Promise<T & { target: string }> => {
    const computer = await computers.find(context.principal, params.computer);
    return { ...(await work(computer)), target: computer.id };
  };
  return {
    "file.read": {
      run: (context, params) =>
        on(context, params, (computer) => files.read(computer, params, context.signal)),
    },
    "file.write": {
      run: (context, params) =>
        on(context, params, (computer) => files.write(computer, params, context.signal)),
    },
    "file.edit": {
      run: (context, params) =>
        on(context, params, (computer) => files.edit(computer, params, context.signal)),
    },
    "file.list": {
      run: (context, params) =>
        on(context, params, (computer) => files.list(computer, params, context.signal)),
    },
    "file.stat": {
      run: (context, params) =>
        on(context, params, (computer) => files.stat(computer, params, context.signal)),
    },
    "file.move": {
      run: (context, params) =>
        on(context, params, (computer) => files.move(computer, params, context.signal)),
    },
    "file.delete": {
      run: (context, params) =>
        on(context, params, (computer) => files.delete(computer, params, context.signal)),
    },
    "file.mkdir": {
      run: (context, params) =>
        on(context, params, (computer) => files.mkdir(computer, params, context.signal)),
    },
    "file.download": {
      run: (context, params) =>
        stream(context, params, (computer) => files.download(computer, params, context.signal)),
    },
    "file.upload": {
      run: (context, params) =>
        on(context, params, (computer) => files.upload(computer, params, bodyOf(context), context.signal)),
    },
    "file.watch": {
      run: (context, params) =>
        stream(context, params, (computer) => files.watch(computer, params, context.signal)),
    },
    "archive.export": {
      run: (context, params) =>
        stream(context, params, (computer) => files.exportArchive(computer, params, context.signal)),
    },
    "archive.import": {
      run: (context, params) =>
        on(context, params, (computer) =>
          files.importArchive(computer, params, bodyOf(context), context.signal),
        ),
    },
  };
};
