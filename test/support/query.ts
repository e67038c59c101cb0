import pg from "pg";

/** One statement on a connection of its own, for looking at what was written. */
export const query = async (
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Record<string, unknown>[]> => {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, [...values])).rows;
  } finally {
    await client.end();
  }
};
