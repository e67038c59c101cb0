import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { keptHeaders } from "./headers.mjs";

/** With bodies of at most 256 KB, the database stays under 130 MB. */
const hooksMax = 500;
const pageSize = 25;
const previewBytes = 400;

/** Hooks in SQLite, newest first. What `add` answered for is on disk. */
export const openInbox = (file) => {
  mkdirSync(dirname(file), { recursive: true });
  const db = new DatabaseSync(file, { timeout: 5000 });
  db.exec(`
    pragma journal_mode = wal;
    create table if not exists hooks (
      id integer primary key autoincrement,
      name text not null,
      received_at integer not null,
      headers text not null,
      body blob not null
    ) strict;
  `);
  const insert = db.prepare("insert into hooks (name, received_at, headers, body) values (?, ?, ?, ?)");
  const trim = db.prepare(
    "delete from hooks where id <= (select id from hooks order by id desc limit 1 offset ?)",
  );
  const page = db.prepare(`
    select id, name, received_at, headers, length(body) as size, substr(body, 1, ${previewBytes}) as body from hooks
    where (:name is null or name = :name) and (:before is null or id < :before) order by id desc limit ${pageSize + 1}
  `);
  const one = db.prepare("select *, length(body) as size from hooks where id = ?");
  const names = db.prepare(
    "select name, count(*) as count from hooks group by name order by count desc, name limit 30",
  );
  const remove = db.prepare("delete from hooks where id = ?");

  return {
    /** Answers the new hook's id. The oldest go when there are more than are kept. */
    add({ name, headers, body }) {
      const { lastInsertRowid } = insert.run(name, Date.now(), JSON.stringify(keptHeaders(headers)), body);
      trim.run(hooksMax);
      return Number(lastInsertRowid);
    },
    /** One page of hooks with the first bytes of their bodies; `older` is the `before` of the next page. */
    list({ name, before }) {
      const rows = page.all({ name: name ?? null, before: before ?? null });
      const hooks = rows.slice(0, pageSize).map(asHook);
      return { hooks, older: rows.length > pageSize ? hooks.at(-1).id : undefined, names: names.all() };
    },
    get(id) {
      const row = one.get(id);
      return row && asHook(row);
    },
    delete: (id) => void remove.run(id),
    close: () => db.close(),
  };
};

const asHook = ({ id, name, received_at, headers, size, body }) => ({
  id,
  name,
  receivedAt: new Date(received_at),
  headers: JSON.parse(headers),
  size,
  body: Buffer.from(body),
});
