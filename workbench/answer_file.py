"""Files of answers: `{question_id, hypothesis}` rows as JSONL, from any system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from workbench.datasets.report import ImportLog
from workbench.datasets.source import open_source
from workbench.errors import DataError
from workbench.schema import Record

__all__ = ["Answers", "Failure", "read_answers"]


class Failure(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A row that cannot be used: where it stands, whose answer it was (where it says), and why."""

    where: str
    why: str
    question: str | None = None


class Answers(Record, frozen=True, kw_only=True):
    """Hypotheses by question id; `repeated` counts rows that said the same once more."""

    hypotheses: dict[str, str]
    failed: tuple[Failure, ...] = ()
    repeated: int = 0


def read_answers(path: Path) -> Answers:
    """Answers from JSONL; further fields of a row are ignored, blank lines too.

    A row that is no JSON object, or without a string `question_id` or `hypothesis`, fails with its
    line number, unless another row has the answer. Rows that repeat an answer collapse; where two
    *differ* neither is taken, since nothing says which is meant. Raises DataError where the file
    cannot be read or holds no row.
    """
    found: dict[str, str] = {}
    failed: list[Failure] = []
    differing: dict[str, Failure] = {}
    repeated = 0
    for where, line in _lines(path):
        question, said, why = _row(line)
        if question is None or said is None:
            failed.append(Failure(where=where, why=why, question=question))
        elif question not in found:
            found[question] = said
        elif found[question] == said:
            repeated += 1
        else:
            why = "a second answer that differs from the first; keep one of them"
            differing.setdefault(question, Failure(where=where, why=why, question=question))
    if not found and not failed:
        raise DataError(f"{path}: holds no rows; write {{question_id, hypothesis}} a line")
    unanswered = [one for one in failed if one.question not in found]
    return Answers(
        hypotheses={q: said for q, said in found.items() if q not in differing},
        failed=(*unanswered, *differing.values()),
        repeated=repeated + len(failed) - len(unanswered),
    )


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Lines that are not blank, each with its place; UTF-16 and byte order marks are understood."""
    for document in open_source(path, ImportLog()).documents:
        for number, line in document.lines():
            if line.strip():
                yield f"{document.name}, line {number}", line


def _row(line: bytes) -> tuple[str | None, str | None, str]:
    """Question id and hypothesis of a row, None for one that it lacks, and then why."""
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return None, None, f"not JSON ({error})"
    if not isinstance(row, dict):
        return None, None, f"a JSON {type(row).__name__}, not an object"
    found: list[str | None] = []
    whys = []
    for field in ("question_id", "hypothesis"):
        value = row.get(field)
        found.append(value if isinstance(value, str) else None)
        if not isinstance(value, str):
            kind = "null" if value is None else f"of type {type(value).__name__}"
            whys.append(f"{field} is {kind if field in row else 'absent'}, not a string")
    return found[0], found[1], "; ".join(whys)
