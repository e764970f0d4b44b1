"""CSV in and out: a researcher's own spreadsheet, and one that is safe to open in any.

In: any of the usual separators, `sep=` lines, cells of many lines. Out: UTF-8 with a byte order
mark, and an apostrophe before what a spreadsheet would run as a formula, which reading takes off.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from reward_model.columns import plain
from workbench.errors import DataError

__all__ = ["MAX_ROWS", "SourceRow", "csv_text", "read_csv"]

# What makes a spreadsheet read a cell as a formula; the wide forms are East Asian keyboards'.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
BOM = "\ufeff"
MAX_ROWS = 1_000_000
MAX_CELL = 10_000_000


class SourceRow(NamedTuple):
    """One row: its line (CSV, JSONL) or its number from 1, its cells by column, else why none."""

    line: int
    cells: dict[str, Any]
    problem: str = ""


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as CSV, its texts inert in a spreadsheet; `read_csv` gives the same cells back."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_inert(cell) for cell in row] for row in rows)
    return BOM + stream.getvalue()


def read_csv(
    name: str, text: str, known: frozenset[str]
) -> tuple[tuple[str, ...], list[SourceRow], int]:
    """Columns, rows, and how many lines were blank. `known` are the plain names of columns.

    A row that ends early lacks its last cells, as spreadsheets leave blank ones out; one with cells
    too many is a problem. Raises DataError, naming the file and the line, for broken quoting and
    for two columns of one name.
    """
    told = re.match(r"sep=(.)\r?\n", text, re.IGNORECASE)
    body = text[told.end() :] if told else text
    records = _records(name, body, told[1] if told else _separator(body, known))
    _, head = next(records, (0, []))
    while head and not head[-1].strip():
        head.pop()
    named = [cell.strip() or f"(column {place})" for place, cell in enumerate(head, start=1)]
    twice = [column for column in named if named.count(column) > 1]
    if twice:
        raise DataError(f"{name}: two columns are called {twice[0]!r}; rename one")
    rows, blank = [], 0
    for line, cells in records:
        if not any(cell.strip() for cell in cells):
            blank += 1
        elif any(cell.strip() for cell in cells[len(named) :]):
            why = f"{len(cells)} cells under {len(named)} columns; quote cells that hold separators"
            rows.append(SourceRow(line + bool(told), {}, why))
        else:
            values = dict(zip(named, map(_restored, cells), strict=False))
            rows.append(SourceRow(line + bool(told), values))
    return tuple(named), rows, blank


def _separator(text: str, known: frozenset[str]) -> str:
    """The separator that shows most known columns, then most columns, in the first record."""

    def columns(separator: str) -> tuple[int, int]:
        try:
            head = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
        except csv.Error:
            return 0, 0
        return sum(plain(cell) in known for cell in head), len(head)

    return max(",;\t|", key=columns)


def _records(name: str, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Records with the line that each begins on. Broken quoting is an error, never one long cell
    that swallows the rest of the file."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    begins = 1
    limit = csv.field_size_limit(MAX_CELL)
    try:
        for cells in reader:
            yield begins, cells
            begins = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, the record that begins on line {begins}: {error}; quote cells that hold "
            'separators, line ends or quotes, and double the quotes in them ("")'
        ) from error
    finally:
        csv.field_size_limit(limit)


def _restored(cell: str) -> str:
    """A cell without the apostrophe that an export put before what looked like a formula."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(FORMULA) else cell


def _inert(cell: str) -> str:
    return f"'{cell}" if cell.lstrip("'").startswith(FORMULA) else cell
