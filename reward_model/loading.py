"""Comparisons in from a file and out to one, with every row accounted for.

`reward_model.columns.FIELDS` is the documented schema: what each field holds, which are required,
and how its column may be called. `reward_model.wordings` says how values may be written. JSONL,
JSON (a list, or an object whose `comparisons` is one), Parquet and CSV hold the same fields.

A row is imported, or a duplicate of one (the same id and content), or refused with its line, field
and reason. Nothing is guessed: an order of display that is not stated, or a number that could be
of another scale, is refused rather than read somehow.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from reward_model import wordings
from reward_model.columns import FIELDS, known_names, resolved
from reward_model.row_reading import RefusedRowError, RowReading
from reward_model.schema import Comparison
from reward_model.source_rows import read_table
from reward_model.spreadsheet import SourceRow, csv_text
from workbench.datasets.report import ImportLog
from workbench.datasets.source import scrub
from workbench.errors import UsageError, WorkbenchError
from workbench.schema import Record
from workbench.workspace import Content, write_atomically

__all__ = ["FIELDS", "ImportReport", "Refusal", "export_comparisons", "load_comparisons"]


class Refusal(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A row that was not imported: its line (JSON and Parquet: its number), field and reason."""

    line: int
    field: str
    reason: str
    id: str = ""


class ImportReport(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What became of a file: `rows` = `imported` + `duplicates` + the number of `refused`.

    `blank` lines are no rows. `unknown_columns` were left out; `absent` are optional fields without
    a column, each with what it was taken to be. `readings` says how written values were read, by
    field. `repaired` are rows with characters that no file can hold, replaced by U+FFFD.
    """

    file: str
    format: str
    encoding: str
    sha256: str
    rows: int
    imported: int
    duplicates: int
    refused: tuple[Refusal, ...]
    blank: int
    unknown_columns: tuple[str, ...]
    absent: dict[str, str]
    readings: dict[str, dict[str, str]]
    repaired: tuple[str, ...]

    @property
    def reasons(self) -> dict[str, int]:
        """How many rows were refused for which field, most first."""
        return dict(Counter(one.field for one in self.refused).most_common())


def load_comparisons(
    path: Path | str,
    columns: Mapping[str, str] | None = None,
    judgments: Mapping[str, str] | None = None,
) -> tuple[list[Comparison], ImportReport]:
    """Comparisons of a CSV, JSON, JSONL or Parquet file in their order, and the report.

    `columns` maps fields to columns that are called otherwise, {"participant": "Prolific ID"};
    `judgments` what is written to what it means, {"1": "A much better"}. Raises DataError where
    the file as a whole cannot be read or lacks a required column, UsageError where the mappings
    name what does not exist.
    """
    table = read_table(Path(path), known_names(columns))
    where = resolved(table.file, table.columns, columns)
    log = ImportLog()
    rows = [row._replace(cells=scrub(row.cells, log, f"line {row.line}")) for row in table.rows]
    reading = RowReading(where, rows, judgments)
    kept, duplicates, refused = _sorted_out(rows, reading)
    if len(rows) != len(kept) + duplicates + len(refused):
        raise WorkbenchError(f"{table.file}: the import does not add up; please report this")
    report = ImportReport(
        file=table.file,
        format=table.format,
        encoding=table.encoding,
        sha256=table.sha256,
        rows=len(rows),
        imported=len(kept),
        duplicates=duplicates,
        refused=tuple(refused),
        blank=table.blank,
        unknown_columns=where.unknown,
        absent={field: FIELDS[field].default for field in where.absent},
        readings=reading.readings,
        repaired=tuple(f"{one.where}: {one.why}" for one in log.problems),
    )
    return kept, report


def export_comparisons(comparisons: Iterable[Comparison], path: Path | str) -> Path:
    """Write comparisons as the suffix says (.jsonl, .csv, .parquet), every field of each.

    `load_comparisons` gives the same ones back. Texts in CSV are inert in a spreadsheet. Times are
    ISO 8601 texts. Raises UsageError for another suffix, and for none at all.
    """
    target = Path(path)
    rows = [msgspec.to_builtins(msgspec.structs.asdict(one)) for one in comparisons]
    if not rows:
        raise UsageError(f"{target.name}: there are no comparisons to export")
    suffix = target.suffix.casefold()
    if suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        content: Content = "".join(lines).encode()
    elif suffix == ".csv":
        table = csv_text(list(rows[0]), ([_cell(value) for value in row.values()] for row in rows))
        content = table.encode()
    elif suffix == ".parquet":
        content = _parquet(rows)
    else:
        raise UsageError(f"{target.name}: exports are .jsonl, .csv or .parquet")
    write_atomically(target, content)
    return target


def _cell(value: object) -> str:
    if isinstance(value, list | tuple):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _parquet(rows: list[dict[str, object]]) -> Content:
    import polars as pl

    schema: dict[str, Any] = dict.fromkeys(rows[0], pl.String)
    schema |= {"memories": pl.List(pl.String), "synthetic": pl.Boolean}
    frame = pl.DataFrame(rows, schema=schema)

    def write(path: Path) -> None:
        frame.write_parquet(path)

    return write


def _sorted_out(
    rows: Sequence[SourceRow], reading: RowReading
) -> tuple[list[Comparison], int, list[Refusal]]:
    """Comparisons, the number of duplicates, and refusals."""
    kept: dict[str, Comparison] = {}
    lines: dict[str, int] = {}
    duplicates, refused = 0, []
    for row in rows:
        try:
            one = reading.comparison(row)
            earlier = kept.setdefault(one.id, one)
            lines.setdefault(one.id, row.line)
            if earlier is not one and earlier != one:
                why = f"line {lines[one.id]} has the same id and other content"
                raise RefusedRowError("id", f"{why}; give each its own, or say which it repeats")
            duplicates += earlier is not one
        except RefusedRowError as error:
            name = wordings.written(reading.cell(row, "id"))
            refused.append(
                Refusal(line=row.line, field=error.field, reason=str(error), id=name[:60])
            )
    return list(kept.values()), duplicates, refused
