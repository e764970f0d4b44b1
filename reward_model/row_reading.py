"""One row of a file as a comparison, or the field that refuses it and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from reward_model import wordings
from reward_model.columns import FIELDS, Columns
from reward_model.schema import REGIMES, Comparison, Judgment, Order
from reward_model.spreadsheet import SourceRow
from workbench.errors import DataError
from workbench.schema import digest_of

__all__ = ["RefusedRowError", "RowReading"]


class RefusedRowError(DataError):
    """A row that cannot be a comparison, and the field that is why."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


class RowReading:
    """How the cells of one file become comparisons, and what its values were read as."""

    def __init__(
        self, where: Columns, rows: Sequence[SourceRow], judgments: Mapping[str, str] | None
    ) -> None:
        self._where = where
        cells = [self.cell(row, "judgment") for row in rows]
        self._judgment = wordings.judgment_reader(cells, judgments)
        self.readings: dict[str, dict[str, str]] = {}

    def cell(self, row: SourceRow, field: str) -> Any:
        """What the row holds for a field; None where it has no such cell."""
        home = self._where.homes.get(field)
        return row.cells.get(home[0]) if home else None

    def comparison(self, row: SourceRow) -> Comparison:
        """The row as a comparison. Raises RefusedRowError naming the field."""
        if row.problem:
            raise RefusedRowError("row", row.problem)
        order: Order = self._read(row, "order", wordings.read_order)
        with_memory, without_memory = self._responses(row, order)
        attention = self._read(row, "attention", wordings.read_side)
        shown, judged = self._times(row)
        one = Comparison(
            id=self._text(row, "id"),
            participant=self._needed(row, "participant").strip(),
            query=self._needed(row, "query"),
            memories=self._memories(row, attention is not None),
            with_memory=with_memory,
            without_memory=without_memory,
            generator=self._text(row, "generator") or FIELDS["generator"].default,
            regime=_regime(self._text(row, "regime")),
            order=order,
            judgment=self._judged(row, order),
            note=self._text(row, "note", strip=False),
            attention=attention,
            repeat_of=self._text(row, "repeat_of") or None,
            shown=shown,
            judged=judged,
            synthetic=self._read(row, "synthetic", wordings.read_flag),
        )
        return one if one.id else _named(one)

    def _read(self, row: SourceRow, field: str, read: Callable[[Any], Any]) -> Any:
        cell = self.cell(row, field)
        try:
            value = read(cell)
        except DataError as error:
            raise RefusedRowError(field, str(error)) from error
        if field in ("order", "attention") and field in self._where.homes:
            told = wordings.written(cell)
            self.readings.setdefault(field, {})[told or "(blank)"] = str(value or "ordinary item")
        return value

    def _judged(self, row: SourceRow, order: Order) -> Judgment | None:
        judgment: Judgment | None = self._read(
            row, "judgment", lambda cell: self._judgment(cell, order)
        )
        told = wordings.written(self.cell(row, "judgment")) or "(blank)"
        # In words of memory, what A and B mean depends on the row's order.
        told += f" ({order})" if "memory" in told.casefold() else ""
        self.readings.setdefault("judgment", {})[told] = judgment or "not judged"
        return judgment

    def _text(self, row: SourceRow, field: str, strip: bool = True) -> str:
        cell = self.cell(row, field)
        if isinstance(cell, bool | list | dict):
            raise RefusedRowError(field, f"{wordings.shortened(cell)} is no text")
        if isinstance(cell, str):
            return cell.strip() if strip else cell
        return wordings.written(cell)

    def _needed(self, row: SourceRow, field: str) -> str:
        text = self._text(row, field, strip=False)
        if not text.strip():
            raise RefusedRowError(field, "is blank; every row needs it")
        return text

    def _responses(self, row: SourceRow, order: Order) -> tuple[str, str]:
        """With and without memory, from whichever pair of columns the file has; both must agree."""
        homes, memory_first = self._where.homes, order == "memory first"
        if "with_memory" not in homes or "without_memory" not in homes:
            a, b = self._needed(row, "response_a"), self._needed(row, "response_b")
            return (a, b) if memory_first else (b, a)
        both = self._needed(row, "with_memory"), self._needed(row, "without_memory")
        shown = dict(
            zip(("response_a", "response_b"), both[:: 1 if memory_first else -1], strict=True)
        )
        for field, text in shown.items():
            if field in homes and self._text(row, field).strip() not in ("", text.strip()):
                raise RefusedRowError(field, f"is not what an order of {order} would show there")
        return both

    def _memories(self, row: SourceRow, attention: bool) -> tuple[str, ...]:
        home = self._where.homes["memories"]
        try:
            if len(home) == 1:
                found = wordings.read_memories(row.cells.get(home[0]))
            else:
                texts = (row.cells.get(column) for column in home)
                found = wordings.read_memories([text for text in texts if text is not None])
        except DataError as error:
            raise RefusedRowError("memories", str(error)) from error
        if not found and not attention:
            raise RefusedRowError("memories", "none; only an attention item can do without")
        return found

    def _times(self, row: SourceRow) -> tuple[datetime | None, datetime | None]:
        shown = self._read(row, "shown", wordings.read_time)
        judged = self._read(row, "judged", wordings.read_time)
        if shown is not None and judged is not None:
            if (shown.tzinfo is None) != (judged.tzinfo is None):
                raise RefusedRowError(
                    "judged", "one of shown and judged has a time zone, the other none"
                )
            if judged < shown:
                raise RefusedRowError("judged", "is before it was shown")
        return shown, judged


def _regime(text: str) -> str:
    lower = text.casefold()
    return lower if lower in REGIMES else text or FIELDS["regime"].default


def _named(one: Comparison) -> Comparison:
    """A comparison of which the file gives no id, with one made from what was displayed to whom.

    The judgment is no part of it: the same display judged twice is a conflict that must be settled.
    """
    shown = (one.participant, one.query, one.memories, one.with_memory, one.without_memory)
    return msgspec.structs.replace(one, id=f"c-{digest_of((shown, one.order, one.generator))}")
