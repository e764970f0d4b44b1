"""Judgments as they were given: rows appended to one file, never changed, safe against a crash.

Every writer takes the lock, cuts off what a killed process left half written, reads all rows,
decides, and appends one line in a single write that is flushed to disk before it is acknowledged.
Readers take no lock and ignore an unfinished last line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from reward_model.schema import Judgment
from workbench.errors import WorkspaceError
from workbench.schema import Record
from workbench.workspace import Workspace

__all__ = ["Act", "JudgmentLog", "Row", "in_force"]

WAIT_SECONDS = 30.0

Act = Literal["shown", "judged", "undone"]


class Row(Record, frozen=True, kw_only=True):
    """One thing that happened: an item was shown, judged, or its judgment taken back.

    `token` names one display of the item: a judgment carries the token that it was shown with, and
    taking it back that of the judgment. `at` is the time of the machine that wrote it.
    """

    n: int
    act: Act
    item: str
    token: str
    at: datetime
    judgment: Judgment | None = None
    note: str = ""


class JudgmentLog:
    """The rows of one participant's collection, in the order in which they happened."""

    def __init__(self, workspace: Workspace, path: Path, lock: str) -> None:
        self.workspace = workspace
        self.path = path
        self.lock = lock

    def rows(self) -> list[Row]:
        """Every whole row. Raises WorkspaceError where one that is not the last is damaged."""
        return self._read()[0]

    @contextmanager
    def writing(self) -> Iterator[tuple[list[Row], Callable[[Row], None]]]:
        """The rows so far, and a function that appends one; nobody else writes meanwhile.

        Waits at most 30 s for other writers, then raises a WorkspaceError that names one.
        """
        with self.workspace.lock(self.lock, WAIT_SECONDS):
            rows, end = self._read()
            self._cut(end)
            yield rows, lambda row: self._append(row, rows)

    def _read(self) -> tuple[list[Row], int]:
        """Whole rows, and how many bytes they take."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return [], 0
        rows: list[Row] = []
        end = 0
        lines = data.split(b"\n")
        # What follows the last newline is torn.
        for number, line in enumerate(lines[:-1], start=1):
            try:
                row = DECODER.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                if number == len(lines) - 1 and not lines[-1]:
                    break  # written in part: blocks of it never reached the disk
                raise WorkspaceError(f"{self.path}, line {number}: {error}") from error
            if row.n != number:
                raise WorkspaceError(
                    f"{self.path}, line {number}: row {row.n} stands there; the file was changed "
                    "by hand. Put the original back, or remove the line that is too many"
                )
            rows.append(row)
            end += len(line) + 1
        return rows, end

    def _cut(self, end: int) -> None:
        """Remove what lies after the last whole row: it was never acknowledged."""
        if self.path.exists() and self.path.stat().st_size > end:
            with self.path.open("rb+") as stream:
                stream.truncate(end)
                os.fsync(stream.fileno())

    def _append(self, row: Row, rows: list[Row]) -> None:
        row = msgspec.structs.replace(row, n=len(rows) + 1)
        line = msgspec.json.encode(row) + b"\n"
        with self.path.open("ab", buffering=0) as stream:
            stream.write(line)
            os.fsync(stream.fileno())
        rows.append(row)


DECODER = msgspec.json.Decoder(Row)


def in_force(rows: Sequence[Row]) -> dict[str, Row]:
    """The judgment that counts of each item: its last one that was not taken back."""
    held: dict[str, Row] = {}
    for row in rows:
        if row.act == "judged":
            held[row.item] = row
        elif row.act == "undone" and held.get(row.item, row).token == row.token:
            held.pop(row.item, None)
    return held
