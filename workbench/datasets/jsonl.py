"""The workbench's own format: UTF-8 JSONL, one JSON object a line, in any order.

Every row may state its `kind`; "turn" is the default, so `{"text": "hi"}` is a whole row.

`turn`: `text`; and, where they differ from the defaults,
    `scope` (whose memory it enters; the dataset's name), `dialogue` (the scope), `title`,
    `session` ("1"), `id` ("SESSION:POSITION"), `time` (ISO 8601; a zone only where it is stated),
    `speaker` ("user"), `role` ("person", "user", "assistant" or "tool"),
    `caption` (a machine's words for a picture), `attachment` (the text of a file), `aside` (why the
    turn is kept but not part of the conversation).
`question`: `text`; `id` ("qPOSITION"), `scope`, `people` (whose profiles may help; all people of
    the scope), `category`, `answer`, `evidence` (turn ids), `sessions` (those of the evidence),
    `unresolved`, `asked` (time), `until` (the last turn that existed then), `abstention` (true
    for the categories "abstention" and "adversarial"), `choices`, `audited` (an object with
    `answer`, `evidence`, `sessions`, `unresolved`) and `audit` (the kind of error).
`observation`: `text`, `sources` (turn ids); `id` (made from both), `scope`, `owner` (who said it),
    `subject` (whom it is about; the owner), `role`, `session` and `time` (those of the first
    source), `dimensions` (`tense`, `subjectivity`, `certainty`).
`dialogue`: `id`; `scope`, `title`. Only needed for a title or an empty dialogue.
`dataset`: `name`, `format`, `licence`, `splits` (scope to split). At most one.

A POSITION counts the non-blank lines before the row, so such ids stay when the file grows at its
end; where a folder holds several files it is preceded by the file's name. An unknown field is left
out with a warning. Lines that cannot be used are reported with their numbers; the others are
imported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from workbench.datasets.gathering import Gathering
from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.rows import ROWS, DatasetRow, Row
from workbench.datasets.source import Document, Source, scrub
from workbench.errors import DataError
from workbench.schema import Gold, Memory, Question

__all__ = ["LICENCE", "default_name", "export", "first_object", "load", "recognises"]

LICENCE = "not stated by the source"


class _Line(NamedTuple):
    where: str
    position: str
    row: Row


def recognises(source: Source) -> bool:
    """Whether a document's first readable line is an object with `text` or a known `kind`."""
    return any(_is_ours(document) for document in source.documents)


def default_name(source: Source) -> str | None:
    """The name that a `dataset` row at the beginning of the file gives, if any."""
    for document in source.documents:
        first = first_object(document)
        if first.get("kind") == "dataset" and isinstance(first.get("name"), str):
            return str(first["name"])
    return None


def load(source: Source, name: str, log: ImportLog) -> Dataset:
    """Read every line of the source's JSONL documents. `name` wins over the file's own."""
    ours = [document for document in source.documents if _is_ours(document)]
    for document in source.documents:
        if ours and document not in ours:
            log.warn(document.name, "not a file of this format; left out")
    documents = ours or list(source.documents)
    lines = [
        line
        for document in documents
        for line in _lines(document, "" if len(documents) == 1 else f"{document.name}:", log)
    ]
    gathering = Gathering(name, log)
    header = DatasetRow()
    for line in lines:
        if isinstance(line.row, DatasetRow):
            log.keep()
            header = line.row
        else:
            gathering.add_dialogue_or_turn(line.where, line.position, line.row)
    for line in lines:
        gathering.add_question_or_observation(line.where, line.position, line.row)
    return Dataset(
        name=name,
        format=header.format or "jsonl",
        licence=header.licence or LICENCE,
        dialogues=gathering.dialogues(),
        questions=tuple(gathering.questions.values()),
        observations=tuple(gathering.observations.values()),
        splits=header.splits,
    )


def export(dataset: Dataset) -> Iterator[bytes]:
    """The dataset in this format, a line each; importing them again gives an equal dataset."""
    yield _encoded(
        "dataset",
        {
            "name": dataset.name,
            "format": dataset.format,
            "licence": dataset.licence,
            "splits": dataset.splits,
        },
    )
    for dialogue in dataset.dialogues:
        about = {"id": dialogue.id, "scope": dialogue.scope, "title": dialogue.title}
        yield _encoded("dialogue", about)
        place = {"scope": dialogue.scope, "dialogue": dialogue.id}
        for turn in (*dialogue.turns, *dialogue.aside):
            yield _encoded("turn", place | msgspec.to_builtins(turn))
    for question in dataset.questions:
        yield _encoded("question", _question_fields(question))
    for memory in dataset.observations:
        yield _encoded("observation", _observation_fields(memory))


def _is_ours(document: Document) -> bool:
    first = first_object(document)
    return "text" in first if "kind" not in first else first["kind"] in tuple(ROWS)


def first_object(document: Document) -> dict[str, Any]:
    """The first line that is a JSON object; {} where there is none among the first few."""
    try:
        filled = (line for _, line in document.lines() if line.strip())
        for _, line in zip(range(5), filled, strict=False):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                return value
    except DataError:
        pass  # It is not even text: whoever reads it next says so.
    return {}


def _lines(document: Document, prefix: str, log: ImportLog) -> Iterator[_Line]:
    """Every non-blank line that is a row; the others fail here, with their numbers.

    `prefix` keeps the positions of several documents apart.
    """
    strangers: set[str] = set()
    position = -1
    for number, data in document.lines():
        if not data.strip():
            continue
        position += 1
        where = f"{document.name}, line {number}"
        log.read()
        try:
            row, unknown = _row(data, where, log)
        except (ValueError, RecursionError, msgspec.ValidationError, DataError) as error:
            reason = str(error) if isinstance(error, DataError) else f"not a row: {error}"
            log.fail(where, reason, data[:400].decode("utf-8", "replace"))
            continue
        for field in sorted(unknown - strangers):
            log.warn(where, f"the unknown field {field!r} was left out, here and further on")
        strangers |= unknown
        yield _Line(where, f"{prefix}{position}", row)


def _row(data: bytes, where: str, log: ImportLog) -> tuple[Row, set[str]]:
    """(row, unknown fields) of one line."""
    value = scrub(json.loads(data), log, where)
    if not isinstance(value, dict):
        raise DataError("a row is a JSON object")
    kind = value.pop("kind", "turn")
    if kind not in tuple(ROWS):
        raise DataError(f"unknown kind {kind!r}; known are {', '.join(ROWS)}")
    row = msgspec.convert(value, ROWS[kind])
    return row, value.keys() - set(row.__struct_fields__)


def _encoded(kind: str, fields: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"kind": kind} | fields) + b"\n"


def _gold_fields(gold: Gold) -> dict[str, Any]:
    return {
        "answer": gold.answer,
        "evidence": gold.evidence,
        "sessions": gold.sessions,
        "unresolved": gold.unresolved,
    }


def _question_fields(question: Question) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(question)
    fields.pop("gold", None)
    fields |= _gold_fields(question.gold)
    if question.audited is not None:
        fields["audited"] = _gold_fields(question.audited)
    return fields | {"people": question.people, "abstention": question.abstention}


def _observation_fields(memory: Memory) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(memory)
    del fields["kind"]
    derived = {"subject": memory.subject, "session": memory.session, "time": memory.time}
    return fields | derived
