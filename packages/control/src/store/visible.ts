import { type Expression, expressionBuilder, type SqlBool } from "kysely";
import type { Principal } from "../domain/principal.ts";
import type { Tables } from "./tables/index.ts";

/** Whose computers a principal may see: an owner all of the account, an assistant its own and their children. Null is all. */
export const visibleTo = (principal: Principal): string | null =>
  principal.kind === "owner" ? null : principal.id;

/** The same of the account too, as a condition on the table `computers` of a query. */
export const mayBeSeenBy = (principal: Principal): Expression<SqlBool> => {
  const where = expressionBuilder<Tables, "computers">();
  const ofAccount = where("computers.account_id", "=", principal.accountId);
  const whose = visibleTo(principal);
  return whose === null
    ? ofAccount
    : ofAccount.and(
        where.or([where("computers.principal_id", "=", whose), where("computers.delegator_id", "=", whose)]),
      );
};
