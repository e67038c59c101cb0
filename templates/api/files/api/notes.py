"""Notes in SQLite."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

NOTES_MAX = 10_000

SCHEMA = """
create table if not exists notes (
  id integer primary key autoincrement,
  title text not null,
  text text not null,
  created_at text not null,
  updated_at text not null
) strict
"""


class NotesFull(Exception):
    """There is no room for one more note."""


class Notes:
    """One connection for all threads, one caller at a time. What a method returned for is on disk."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = Lock()
        self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("pragma journal_mode = wal")
        self._db.execute(SCHEMA)

    def page(self, limit: int, before: int | None) -> list[dict]:
        return self._all(
            "select * from notes where ? is null or id < ? order by id desc limit ?", before, before, limit
        )

    def get(self, id: int) -> dict | None:
        return self._one("select * from notes where id = ?", id)

    def create(self, title: str, text: str) -> dict:
        note = self._one(
            """insert into notes (title, text, created_at, updated_at)
               select ?, ?, ?, ? where (select count(*) from notes) < ? returning *""",
            *(title, text, now(), now(), NOTES_MAX),
        )
        if note is None:
            raise NotesFull(f"There are {NOTES_MAX} notes, and no more fit.")
        return note

    def replace(self, id: int, title: str, text: str) -> dict | None:
        return self._one(
            "update notes set title = ?, text = ?, updated_at = ? where id = ? returning *", title, text, now(), id
        )

    def delete(self, id: int) -> bool:
        return self._one("delete from notes where id = ? returning *", id) is not None

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _one(self, sql: str, *values: object) -> dict | None:
        return next(iter(self._all(sql, *values)), None)

    def _all(self, sql: str, *values: object) -> list[dict]:
        with self._lock:
            return [dict(row) for row in self._db.execute(sql, values).fetchall()]


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
