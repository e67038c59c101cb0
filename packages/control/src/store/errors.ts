import { HoldfastError } from "@holdfast/contract";
import pg from "pg";

/** Lost, refused or shut-down connections become `unavailable`; what Postgres says about a statement stays as it is. */
export const asStoreError = (error: unknown): unknown => {
  if (error instanceof HoldfastError) return error;
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? "";
    // 08 connection, 53 resources, 57P0x shutdown, 25P03 idle in transaction, 40 serialization and deadlock, 55P03 lock timeout.
    if (/^(08|53|57P0|25P03|40001|40P01|55P03|57014)/.test(code)) return unavailable(error);
    return error;
  }
  if (error instanceof Error && (isSystemError(error) || /connection|timeout exceeded/i.test(error.message)))
    return unavailable(error);
  return error;
};

/** True when `error` is a violation of the named unique constraint or index. */
export const isUniqueViolation = (error: unknown, constraint: string): boolean =>
  error instanceof pg.DatabaseError && error.code === "23505" && error.constraint === constraint;

/** True when `finish_operation` found the outcome recorded already. */
export const isSettledAlready = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === "HF001";

const isSystemError = (error: Error): boolean =>
  "code" in error && typeof error.code === "string" && /^(E[A-Z]+)$/.test(error.code) && "syscall" in error;

const unavailable = (cause: Error): HoldfastError =>
  new HoldfastError("unavailable", "the database is not answering", { part: "database" }, { cause });
