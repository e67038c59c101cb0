import { HoldfastError } from "@holdfast/contract";
import type { OperationContext } from "../domain/handler.ts";

/** The bytes of an operation declared `body: "bytes"`. Dispatch refuses one that comes without. */
export const bodyOf = ({ operation, body }: OperationContext): AsyncIterable<Uint8Array> => {
  if (body) return body;
  throw new HoldfastError("internal", `${operation} came without its body`);
};
