import { consequences, HoldfastError, type Operation } from "@holdfast/contract";
import type { Principal } from "../domain/principal.ts";

/** Whether the operation exists for this principal. To an assistant, what is the owners' alone does not. */
export const offers = (principal: Principal, operation: Operation): boolean => {
  switch (operation.scope) {
    case "public":
      return true;
    case "principal":
      return principal.kind === "owner" || principal.kind === "assistant";
    case "owner":
      return principal.kind === "owner";
  }
};

/** Throws `forbidden` above the key's consequence class, `confirmation_required` when an owner's word is too old. */
export const authorize = (principal: Principal, operation: Operation, nowMs: number): void => {
  const ceiling = principal.ceilings?.consequence;
  if (ceiling && consequences.indexOf(operation.consequence) > consequences.indexOf(ceiling))
    throw new HoldfastError(
      "forbidden",
      `${operation.name} is of class ${operation.consequence}; this key goes up to ${ceiling}`,
      { ceiling: "consequence", limit: ceiling, value: operation.consequence },
    );
  if (operation.confirm && principal.confirmedUntilMs <= nowMs)
    throw new HoldfastError("confirmation_required", `${operation.name} needs the passphrase again`);
};
