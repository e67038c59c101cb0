import assert from "node:assert/strict";
import { python } from "./computer.ts";
import type { Assistant } from "./instance.ts";
import { hangMs, until } from "./until.ts";

export interface Writer {
  readonly process: string;
  /** The last commit that was heard of from outside: everything up to it is committed. */
  readonly acknowledged: () => number;
  /** Waits until that is at least `count`. */
  untilAt(count: number): Promise<void>;
  /** Ends the writer. */
  stop(): Promise<void>;
}

/**
 * A SQLite writer at full speed in the computer: each row is a commit of its own that is written through, and every few are said on standard
 * output after they have been committed. With `times` the moment of each is in /work/times, Unix milliseconds; kept in memory until then, so
 * that it is no write of its own.
 */
export const startWriter = async (
  { client }: Assistant,
  computer: string,
  journal: "wal" | "delete",
  options: { readonly times?: boolean } = {},
): Promise<Writer> => {
  const argv = ["python3", "-u", "-c", writer, journal, ...(options.times ? ["times"] : [])];
  const { id: process } = await client.processes.start({ computer, argv });
  let acknowledged = 0;
  const enough = new AbortController();
  const listen = async (): Promise<void> => {
    let rest = "";
    const events = client.processes.follow({ computer, process }, { signal: enough.signal });
    for await (const event of events) {
      if (event.type !== "output" || event.stream !== "stdout") continue;
      const lines = (rest + Buffer.from(event.bytes).toString()).split("\n");
      rest = lines.pop() ?? "";
      acknowledged = Math.max(acknowledged, Number(lines.at(-1) ?? 0));
    }
  };
  listen().catch(() => {});
  return {
    process,
    acknowledged: () => acknowledged,
    untilAt: (count) =>
      until(`${count} rows are committed`, () => acknowledged >= count, {
        withinMs: 2 * hangMs,
        detail: () => String(acknowledged),
      }),
    stop: async () => {
      enough.abort();
      await client.processes.signal({ computer, process, signal: "TERM", scope: "process" });
      await client.processes.get({ computer, process, wait_ms: 20_000 });
    },
  };
};

const writer = `
import signal, sqlite3, sys, time
db = sqlite3.connect("/work/rows.db", isolation_level=None)
db.execute("pragma journal_mode = " + sys.argv[1])
db.execute("pragma synchronous = full")
db.execute("create table if not exists rows (n integer primary key, body text)")
n = db.execute("select coalesce(max(n), 0) from rows").fetchone()[0]
times = []
def tell(*_):
    with open("/work/times", "w") as file: file.writelines(f"{at:.2f}\\n" for at in times[-60000:])
    sys.exit(0)
signal.signal(signal.SIGTERM, tell)
while True:
    n += 1
    db.execute("insert into rows values (?, ?)", (n, "x" * (n % 3000)))
    if len(sys.argv) > 2: times.append(time.time() * 1000)
    if n % 10 == 0: print(n, flush=True)
`;

/** What is in the writer's file: SQLite's own judgement of it, the last row, and how many there are. */
export const lookAtRows = async (
  assistant: Assistant,
  computer: string,
): Promise<{ readonly whole: string; readonly last: number }> => {
  const out = await python(
    assistant,
    computer,
    `
import sqlite3
db = sqlite3.connect("/work/rows.db", timeout=20)
whole = db.execute("pragma integrity_check").fetchone()[0]
last, count = db.execute("select coalesce(max(n), 0), count(*) from rows").fetchone()
print(whole.replace(" ", "_"), last, count)
`,
  );
  const [whole = "", last, count] = out.trim().split(" ");
  assert.equal(last, count, "a row is missing");
  return { whole, last: Number(last) };
};
