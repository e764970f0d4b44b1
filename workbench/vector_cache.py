"""Vectors that were computed before, keyed by everything they depend on.

One SQLite file in write-ahead mode: many readers and several writers at once are ordinary use. A
row that is damaged (wrong length or checksum) is a miss. Texts themselves are not stored.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from workbench.errors import WorkspaceError

__all__ = ["VectorCache", "can_write"]

BUSY_SECONDS = 60.0
SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    text BLOB NOT NULL, prompt TEXT NOT NULL, fingerprint TEXT NOT NULL,
    vector BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (text, prompt, fingerprint)
) WITHOUT ROWID
"""

READ = """
SELECT text, vector, checksum FROM vectors WHERE text IN (KEYS) AND prompt = ? AND fingerprint = ?
"""


class VectorCache:
    """The vector cache of a workspace (`ROOT/cache/vectors.sqlite`).

    Threads of a process may share one: they take turns. `read_only`, like a folder that cannot be
    written, means that what is there is read, and what is new is not kept.
    """

    def __init__(self, folder: Path, read_only: bool = False) -> None:
        self.path = folder / "vectors.sqlite"
        self.read_only = read_only
        self.writable = not read_only and can_write(folder)
        self._turn = threading.RLock()
        if not self.writable:  # what is there can be read; what is new is not kept
            there = f"file:{self.path}?mode=ro&immutable=1" if self.path.exists() else ":memory:"
            self._database = sqlite3.connect(there, uri=True, check_same_thread=False)
            if not self.path.exists():
                self._database.execute(SCHEMA)
            return
        folder.mkdir(parents=True, exist_ok=True)
        with self._usable():
            self._database = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA secure_delete=ON")
            with self._database:
                self._database.execute(SCHEMA)

    def __reduce__(self) -> tuple[type[VectorCache], tuple[Path, bool]]:
        """A connection stays in its process; another opens the same file."""
        return VectorCache, (self.path.parent, self.read_only)

    def read(
        self, fingerprint: str, prompt: str, texts: Sequence[str]
    ) -> dict[str, npt.NDArray[np.float32]]:
        """The vectors that are there, by text."""
        by_key = {_key(text): text for text in texts}
        found: dict[str, npt.NDArray[np.float32]] = {}
        if not self.writable and not self.path.exists():
            return found
        for keys in _batches(by_key, 500):
            rows = self._rows((*keys, prompt, fingerprint))
            for key, blob, checksum in rows:
                if len(blob) % 4 == 0 and blob and zlib.crc32(blob) == checksum:
                    found[by_key[key]] = np.frombuffer(blob, dtype="<f4").astype(np.float32)
        return found

    def _rows(self, asked: tuple[object, ...]) -> list[tuple[bytes, bytes, int]]:
        query = READ.replace("KEYS", ",".join("?" * (len(asked) - 2)))
        try:
            with self._usable():
                return self._database.execute(query, asked).fetchall()
        except WorkspaceError:
            # Opened without a look at what a writer is about to merge, the file may be behind.
            if self.read_only:
                return []
            raise

    def write(
        self, fingerprint: str, prompt: str, vectors: Mapping[str, npt.NDArray[np.float32]]
    ) -> None:
        """Keep vectors by text, all of them or, where the process dies, none."""

        def rows() -> Iterator[tuple[bytes, str, str, bytes, int]]:
            for text, vector in vectors.items():
                blob = vector.astype("<f4").tobytes()
                yield _key(text), prompt, fingerprint, blob, zlib.crc32(blob)

        if not self.writable:
            return
        with self._usable(), self._database:
            self._database.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows()
            )

    def keep(self, texts: Iterable[str]) -> int:
        """Remove the vectors of all other texts; returns how many.

        Keys are hashes: what must go cannot be listed once its text is gone, what may stay can.
        """
        with self._usable():
            with self._database:
                self._database.execute("CREATE TEMP TABLE kept (text BLOB PRIMARY KEY)")
                self._database.executemany(
                    "INSERT OR IGNORE INTO kept VALUES (?)", ((_key(text),) for text in texts)
                )
                removed = self._database.execute(
                    "DELETE FROM vectors WHERE text NOT IN (SELECT text FROM kept)"
                ).rowcount
                self._database.execute("DROP TABLE kept")
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return removed

    def check(self) -> None:
        """Raise WorkspaceError where SQLite finds the file damaged."""
        with self._usable():
            found = self._database.execute("PRAGMA quick_check").fetchone()[0]
            if found != "ok":
                raise sqlite3.DatabaseError(found)

    def __len__(self) -> int:
        with self._usable():
            return int(self._database.execute("SELECT count(*) FROM vectors").fetchone()[0])

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
                f"vector cache {self.path} is unusable ({error}); delete it, nothing else is lost"
            ) from error


def can_write(folder: Path) -> bool:
    """Whether the folder, or the nearest one above it that exists, lets this process write."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    return os.access(nearest, os.W_OK)


def _batches(keys: Iterable[bytes], size: int) -> Iterator[tuple[bytes, ...]]:
    """SQLite bounds the number of values in one statement."""
    rest = iter(keys)
    while batch := tuple(islice(rest, size)):
        yield batch


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
