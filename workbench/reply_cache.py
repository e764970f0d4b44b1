"""Replies that a model gave before, keyed by everything that they depend on.

One SQLite file in write-ahead mode: several processes at once are ordinary use. Requests are not
stored, only the digest of (model's identity, request); replies are, and may quote what people said,
so `forget` empties the file. A row that is damaged is a miss. Failures are not kept: the next run
asks again; but a reply that was cut is, where it counts as far as it goes.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from workbench.errors import WorkspaceError
from workbench.llm import Reply, Request
from workbench.schema import digest_of
from workbench.vector_cache import can_write

__all__ = ["ReplyCache", "reply_key"]

BUSY_SECONDS = 60.0
# Raise it where the same request would come to be sent, or its reply read, in another way.
FORM = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    request TEXT NOT NULL PRIMARY KEY, reply BLOB NOT NULL, checksum INTEGER NOT NULL
) WITHOUT ROWID
"""
READ = "SELECT reply, checksum FROM replies WHERE request = ?"


def reply_key(identity: dict[str, Any], request: Request) -> str:
    """What a reply is kept under: a digest of the model's identity and of the whole request."""
    asked = msgspec.structs.asdict(request)
    del asked["cut_counts"]  # says what is kept, not what is asked
    return digest_of([FORM, identity, asked])


class ReplyCache:
    """The replies of a workspace (`ROOT/cache/replies.sqlite`).

    Threads of a process may share one. `read_only`, like a folder that cannot be written, means
    that what is there is read and nothing is kept.
    """

    def __init__(self, folder: Path, read_only: bool = False) -> None:
        self.path = folder / "replies.sqlite"
        self.writable = not read_only and can_write(folder)
        self._turn = threading.RLock()
        if self.writable:
            folder.mkdir(parents=True, exist_ok=True)
            with self._usable():
                self._database = sqlite3.connect(
                    self.path, timeout=BUSY_SECONDS, check_same_thread=False
                )
                self._database.execute("PRAGMA journal_mode=WAL")
                self._database.execute("PRAGMA secure_delete=ON")
                with self._database:
                    self._database.execute(SCHEMA)
            return
        there = f"file:{self.path}?mode=ro&immutable=1" if self.path.exists() else ":memory:"
        self._database = sqlite3.connect(there, uri=True, check_same_thread=False)
        with self._usable():
            # A writer may hold all that there is, the table itself, in its log beside the file.
            if not self._database.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                self._database = sqlite3.connect(":memory:", check_same_thread=False)
                self._database.execute(SCHEMA)

    def read(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The replies that are there, by key; none that is damaged."""
        found = {}
        with self._usable():
            for key in keys:
                row = self._database.execute(READ, (key,)).fetchone()
                reply = _reply(*row) if row else None
                if reply is not None:
                    found[key] = reply
        return found

    def keep(self, key: str, reply: Reply, cut_counts: bool = False) -> Reply:
        """Keep a reply, and return the one that counts: the first, where another process or thread
        has kept one meanwhile, so that both go on with the same. `cut_counts` keeps one that was
        cut, too."""
        if not self.writable or not _counts(reply, cut_counts):
            return reply
        blob = msgspec.json.encode(reply)
        with self._usable(), self._database:
            self._database.execute("BEGIN IMMEDIATE")
            row = self._database.execute(READ, (key,)).fetchone()
            kept = _reply(*row) if row else None
            if kept is not None:
                return kept
            self._database.execute(
                "INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", (key, blob, zlib.crc32(blob))
            )
        return reply

    def clear(self) -> int:
        """Remove every reply; returns how many."""
        with self._usable():
            with self._database:
                removed = self._database.execute("DELETE FROM replies").rowcount
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return removed

    def __len__(self) -> int:
        with self._usable():
            return int(self._database.execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Say which file is at fault, and what to do, where SQLite finds it damaged or locked."""
        try:
            with self._turn:
                yield
        except sqlite3.DatabaseError as error:
            raise WorkspaceError(
                f"reply cache {self.path} is unusable ({error}); delete it, and models are asked "
                "again"
            ) from error


def _reply(blob: Any, checksum: Any) -> Reply | None:
    """A stored reply; None where the row is damaged."""
    if not isinstance(blob, bytes) or zlib.crc32(blob) != checksum:
        return None
    try:
        reply = msgspec.json.decode(blob, type=Reply)
    except msgspec.DecodeError:
        return None
    return reply if _counts(reply, True) else None


def _counts(reply: Reply, cut_counts: bool) -> bool:
    """Whether a reply is kept; a failure is not, so that the next run asks again."""
    return reply.failure is None or (cut_counts and reply.failure == "truncated")
