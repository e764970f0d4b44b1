"""The rows of a file of comparisons: CSV, JSON, JSONL or Parquet, each with its place in the file.

A file is data: nothing in it is run, followed or written. A row that cannot be read keeps its
place with the reason; a file that cannot is refused as a whole.
"""

from __future__ import annotations

import hashlib
import io
import json
import stat
from pathlib import Path
from typing import Any, Literal, NamedTuple

from reward_model.spreadsheet import MAX_ROWS, SourceRow, read_csv
from workbench.errors import DataError

__all__ = ["Format", "Table", "read_table"]

MAX_BYTES = 512 * 2**20
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
BINARY = {
    b"PK\x03\x04": "a zip or an Excel workbook; save the sheet as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as CSV UTF-8",
    b"\x1f\x8b": "compressed; unpack it first",
    b"%PDF": "a PDF; export the table as CSV",
}

Format = Literal["CSV", "JSON", "JSONL", "Parquet"]


class Table(NamedTuple):
    """A file's rows. `blank` is how many lines or rows held nothing and are no rows."""

    file: str
    format: Format
    encoding: str
    sha256: str
    columns: tuple[str, ...]
    rows: list[SourceRow]
    blank: int


def read_table(path: Path, known: frozenset[str]) -> Table:
    """Read a file by its suffix, or by its content where the suffix is none of ours.

    `known` are the plain names of columns, by which a CSV's separator is told. Raises DataError
    where the file is missing, empty, too large, binary, or as a whole not what it should be.
    """
    data = _bytes(path)
    digest = hashlib.sha256(data).hexdigest()
    suffix = path.suffix.casefold()
    if data.startswith(b"PAR1") or suffix == ".parquet":
        columns, rows = _parquet(path.name, data)
        return _checked(Table(path.name, "Parquet", "", digest, columns, rows, 0))
    text, encoding = _text(path.name, data, suffix)
    format = _format(text, suffix)
    if format == "CSV":
        columns, rows, blank = read_csv(path.name, text, known)
    else:
        rows, blank = _json(path.name, text) if format == "JSON" else _jsonl(text)
        columns = tuple(dict.fromkeys(key for row in rows for key in row.cells))
    return _checked(Table(path.name, format, encoding, digest, columns, rows, blank))


def _checked(table: Table) -> Table:
    if not table.rows:
        raise DataError(f"{table.file}: holds no rows; export it again")
    if len(table.rows) > MAX_ROWS:
        raise DataError(f"{table.file}: more than {MAX_ROWS} rows; split it")
    return table


def _bytes(path: Path) -> bytes:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise DataError(f"{path}: not a file; name a CSV, JSON, JSONL or Parquet file")
        if about.st_size > MAX_BYTES:
            raise DataError(f"{path}: {about.st_size} bytes, over the limit of {MAX_BYTES}")
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    if not data.strip():
        raise DataError(f"{path.name}: empty; export it again")
    for start, what in BINARY.items():
        if data.startswith(start):
            raise DataError(f"{path.name}: {what}")
    return data


def _text(name: str, data: bytes, suffix: str) -> tuple[str, str]:
    """UTF-8, or UTF-16 with its mark; else, for tables only, Windows' cp1252."""
    marked = next((code for mark, code in MARKS.items() if data.startswith(mark)), "utf-8")
    if b"\0" in data and marked != "utf-16":
        raise DataError(f"{name}: binary; name a CSV, JSON, JSONL or Parquet file")
    for encoding in (marked, "cp1252"):
        try:
            return data.decode(encoding), encoding.removesuffix("-sig")
        except UnicodeDecodeError as error:
            if (
                encoding == "cp1252"
                or marked != "utf-8"
                or suffix in (".json", ".jsonl", ".ndjson")
            ):
                raise DataError(
                    f"{name}: byte {error.start} is no {encoding}; save the file as UTF-8"
                ) from error
    raise DataError(f"{name}: in no encoding that is known; save the file as UTF-8")


def _format(text: str, suffix: str) -> Literal["CSV", "JSON", "JSONL"]:
    if suffix in (".csv", ".tsv"):
        return "CSV"
    if suffix in (".jsonl", ".ndjson"):
        return "JSONL"
    start = text.lstrip()[:1]
    if suffix != ".json" and start not in ("{", "["):
        return "CSV"
    first = text.lstrip().partition("\n")[0].strip()
    # One object to a line is JSONL, whatever the suffix says; one spread over lines is JSON.
    return "JSONL" if start == "{" and first.endswith("}") and _is_object(first) else "JSON"


def _is_object(text: str) -> bool:
    try:
        return "comparisons" not in json.loads(text)
    except (ValueError, RecursionError):
        return False


def _jsonl(text: str) -> tuple[list[SourceRow], int]:
    rows, blank = [], 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            blank += number <= text.count("\n")  # nothing follows the last line's end
            continue
        try:
            rows.append(_object(number, json.loads(line)))
        except (ValueError, RecursionError) as error:
            why = getattr(error, "msg", "") or "nested too deeply, or a number too long"
            rows.append(SourceRow(number, {}, f"not JSON ({why})"))
    return rows, blank


def _json(name: str, text: str) -> tuple[list[SourceRow], int]:
    """A list of objects, or an object whose `comparisons` is one, or a single comparison."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise DataError(f"{name}, {where}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name}: nested too deeply, or a number too long") from error
    if isinstance(value, dict):
        value = value.get("comparisons", [value])
    if not isinstance(value, list):
        raise DataError(f"{name}: no list of comparisons; write one, or JSONL")
    return [_object(number, one) for number, one in enumerate(value, start=1)], 0


def _object(line: int, value: Any) -> SourceRow:
    if isinstance(value, dict):
        return SourceRow(line, value)
    return SourceRow(line, {}, "not a JSON object")


def _parquet(name: str, data: bytes) -> tuple[tuple[str, ...], list[SourceRow]]:
    import polars as pl

    try:
        if pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item() > MAX_ROWS:
            raise DataError(f"{name}: more than {MAX_ROWS} rows; split it")
        frame = pl.read_parquet(io.BytesIO(data))
    # Its engine panics on some damaged files, and a panic is not even an Exception.
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise DataError(f"{name}: not a readable Parquet file; export it again") from error
    rows = [SourceRow(n, cells) for n, cells in enumerate(frame.iter_rows(named=True), start=1)]
    return tuple(frame.columns), rows
