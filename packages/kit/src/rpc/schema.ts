import { z } from "zod";
import { errorCodes, type ErrorCode } from "@holdfast/contract";

/** A table of methods: what a callee offers to one caller. Lives in contract; see `contract/programs`. */
export type RpcMethods = Readonly<Record<string, { readonly params: z.ZodType; readonly result: z.ZodType }>>;

export type RpcParams<M extends RpcMethods, K extends keyof M> = z.input<M[K]["params"]>;
export type RpcResult<M extends RpcMethods, K extends keyof M> = z.output<M[K]["result"]>;

/** One function for each method, given validated params. */
export type RpcHandlers<M extends RpcMethods> = {
  readonly [K in keyof M]: (
    params: z.output<M[K]["params"]>,
    signal: AbortSignal,
  ) => Promise<z.input<M[K]["result"]>>;
};

export const requestMessage = z.object({
  id: z.number().int().positive(),
  method: z.string().max(64),
  params: z.unknown(),
});

export const replyMessage = z.object({
  id: z.number().int().positive(),
  result: z.unknown().optional(),
  error: z
    .object({
      code: z.enum(errorCodes as [ErrorCode, ...ErrorCode[]]).catch("internal"),
      message: z.string().max(4000),
      details: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
});
