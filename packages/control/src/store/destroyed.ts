import type { Transaction } from "./transaction.ts";

/** Of a destroyed computer its row stays, for the records that name it; what may be large or secret in it does not. */
export const forgetEnvironment = async (transaction: Transaction, computerId: string): Promise<void> => {
  await transaction.updateTable("computers").set({ environment: {} }).where("id", "=", computerId).execute();
};
