import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

const feedbackMax = 5000;
const pageSize = 20;

/** Feedback in SQLite. What `add` answered for is on disk. */
export const openBoard = (file) => {
  mkdirSync(dirname(file), { recursive: true });
  const db = new DatabaseSync(file, { timeout: 5000 });
  db.exec(`
    pragma journal_mode = wal;
    create table if not exists feedback (
      id integer primary key autoincrement,
      kind text not null,
      text text not null,
      author text not null,
      votes integer not null default 0,
      created_at integer not null
    ) strict;
    create index if not exists feedback_by_votes on feedback (votes desc, id desc);
  `);
  const insert = db.prepare(`
    insert into feedback (kind, text, author, created_at)
    select ?, ?, ?, ? where (select count(*) from feedback) < ${feedbackMax} returning id
  `);
  const pages = {
    new: db.prepare("select * from feedback order by id desc limit ? offset ?"),
    top: db.prepare("select * from feedback order by votes desc, id desc limit ? offset ?"),
  };
  const count = db.prepare("select count(*) as count from feedback");
  const vote = db.prepare("update feedback set votes = votes + 1 where id = ?");
  const remove = db.prepare("delete from feedback where id = ?");

  return {
    /** Answers the new id, or undefined when the board is full. */
    add: ({ kind, text, author }) => insert.get(kind, text, author, Date.now())?.id,
    /** One page, the first being 1; `sort` is `new` or `top`. */
    list({ sort, page }) {
      const total = count.get().count;
      const feedback = pages[sort].all(pageSize, (page - 1) * pageSize).map(asFeedback);
      return { feedback, total, pages: Math.max(Math.ceil(total / pageSize), 1) };
    },
    /** False when there is no such feedback. */
    vote: (id) => vote.run(id).changes === 1,
    delete: (id) => remove.run(id).changes === 1,
    close: () => db.close(),
  };
};

const asFeedback = (row) => ({ ...row, created_at: new Date(row.created_at) });
