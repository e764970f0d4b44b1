"""The rows of the workbench's own JSONL format: their fields, types and defaults."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from workbench.errors import DataError
from workbench.schema import Dimensions, Role

__all__ = [
    "ROWS",
    "DatasetRow",
    "DialogueRow",
    "GoldRow",
    "ObservationRow",
    "QuestionRow",
    "Row",
    "TurnRow",
    "to_time",
]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every row. A field that is None or unset was not given."""


class DatasetRow(Row, frozen=True, kw_only=True):
    name: str | None = None
    format: str | None = None
    licence: str | None = None
    splits: dict[str, str] = {}


class DialogueRow(Row, frozen=True, kw_only=True):
    id: str
    scope: str | None = None
    title: str = ""


class TurnRow(Row, frozen=True, kw_only=True):
    text: str
    scope: str | None = None
    dialogue: str | None = None
    title: str | None = None
    session: str = "1"
    id: str | None = None
    time: str | None = None
    speaker: str = "user"
    role: Role = "person"
    caption: str | None = None
    attachment: str | None = None
    aside: str | None = None


class GoldRow(Row, frozen=True, kw_only=True):
    answer: str | int | float | None = None
    evidence: tuple[str, ...] = ()
    sessions: tuple[str, ...] | None = None
    unresolved: tuple[str, ...] = ()


class QuestionRow(Row, frozen=True, kw_only=True):
    text: str
    id: str | None = None
    scope: str | None = None
    people: tuple[str, ...] | None = None
    category: str = "uncategorised"
    answer: str | int | float | None = None
    evidence: tuple[str, ...] = ()
    sessions: tuple[str, ...] | None = None
    unresolved: tuple[str, ...] = ()
    audited: GoldRow | None = None
    audit: str | None = None
    asked: str | None = None
    until: str | None = None
    abstention: bool | None = None
    choices: tuple[str, ...] = ()

    @property
    def gold(self) -> GoldRow:
        """The gold as the row states it."""
        return GoldRow(
            answer=self.answer,
            evidence=self.evidence,
            sessions=self.sessions,
            unresolved=self.unresolved,
        )


class ObservationRow(Row, frozen=True, kw_only=True):
    text: str
    sources: tuple[str, ...]
    id: str | None = None
    scope: str | None = None
    owner: str = ""
    subject: str | None = None
    role: Role = "person"
    session: str | None = None
    time: str | UnsetType | None = UNSET
    dimensions: Dimensions = Dimensions()


ROWS: dict[str, type[Row]] = {
    "dataset": DatasetRow,
    "dialogue": DialogueRow,
    "turn": TurnRow,
    "question": QuestionRow,
    "observation": ObservationRow,
}


def to_time(text: str | None) -> datetime | None:
    """An ISO 8601 date or time as it stands: no zone is added. A date alone is its midnight.

    Raises DataError where it reads otherwise.
    """
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise DataError(f"time {text!r} is not ISO 8601, such as 2023-05-08T13:56") from error
