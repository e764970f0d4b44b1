"""What an import read, kept, left out and mended: every record accounted for, with its locator."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from workbench.errors import WorkbenchError
from workbench.schema import Dialogue, Memory, Question, Record

__all__ = ["Dataset", "ImportLog", "Problem"]

Kind = Literal["skipped", "failed", "repaired", "unresolved", "warning"]


class Dataset(Record, frozen=True, kw_only=True):
    """Everything that one named collection holds. `splits` maps a scope to its split, where the
    source's protocol has any. `observations` are facts that come with the source."""

    name: str
    format: str
    licence: str = "not stated by the source"
    dialogues: tuple[Dialogue, ...] = ()
    questions: tuple[Question, ...] = ()
    observations: tuple[Memory, ...] = ()
    splits: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def scopes(self) -> tuple[str, ...]:
        """Scopes in the order of their first dialogue."""
        return tuple(dict.fromkeys(dialogue.scope for dialogue in self.dialogues))


class Problem(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One thing that a reader of the report should know. `where` locates it in the source
    ("locomo10.json: conv-42, question 88"), `raw` quotes it, shortened."""

    kind: Kind
    where: str
    why: str
    raw: str = ""


class ImportLog:
    """Counts the records of an import (turns, questions, observations) and lists its problems.

    A loader calls `read` once for each record that it meets in the source, and then exactly one of
    `keep`, `skip` and `fail` for it. `repair`, `unresolved` and `warn` are remarks on the way and
    count no record. `check` proves that the sums agree.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: list[Problem] = []

    def read(self, n: int = 1) -> None:
        """A record was met in the source."""
        self.counts["read"] += n

    def keep(self, n: int = 1) -> None:
        """It went into the dataset."""
        self.counts["written"] += n

    def skip(self, where: str, why: str, raw: object = "") -> None:
        """It was left out on purpose (hidden, another branch, a duplicate)."""
        self._note("skipped", where, why, raw)

    def fail(self, where: str, why: str, raw: object = "") -> None:
        """It could not be used; the import is partial."""
        self._note("failed", where, why, raw)

    def repair(self, where: str, why: str, raw: object = "") -> None:
        """It was mended in a stated way."""
        self._note("repaired", where, why, raw)

    def unresolved(self, where: str, why: str, raw: object = "") -> None:
        """A reference to nothing was kept as raw text."""
        self._note("unresolved", where, why, raw)

    def warn(self, where: str, why: str, raw: object = "") -> None:
        self._note("warning", where, why, raw)

    def check(self) -> None:
        """Raise where the records don't add up: that would be a fault of the loader."""
        counts = self.counts
        if counts["read"] != counts["written"] + counts["skipped"] + counts["failed"]:
            raise WorkbenchError(
                f"import does not add up: read {counts['read']}, written {counts['written']}, "
                f"skipped {counts['skipped']}, failed {counts['failed']}; please report this"
            )

    def _note(self, kind: Kind, where: str, why: str, raw: object) -> None:
        self.counts[kind] += 1
        quoted = raw if isinstance(raw, str) else repr(raw)
        shortened = quoted if len(quoted) <= 200 else quoted[:199] + "…"
        self.problems.append(Problem(kind=kind, where=where, why=why, raw=shortened))
