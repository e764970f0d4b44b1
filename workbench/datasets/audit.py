"""The public audit of LoCoMo's answer key, laid over the questions that it corrects.

Source: dial481/locomo-audit, CC BY-NC 4.0. A row's `question_id`, `locomo_<c>_qa<i>`, is a
position: conversation `c` of the file, question `i` of that conversation, both from 0. The original
gold stays; the correction stands beside it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from workbench.datasets.evidence import parse_references
from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import open_source
from workbench.errors import DataError
from workbench.schema import Gold, Question, Turn

__all__ = ["overlay"]

ROW_ID = re.compile(r"locomo_(\d+)_qa(\d+)")


class _Row(msgspec.Struct):
    question_id: str
    question: str
    error_type: str
    correct_answer: str | int | float
    correct_evidence: Any


def overlay(dataset: Dataset, path: Path, log: ImportLog) -> Dataset:
    """The dataset with `Question.audited` and `Question.audit` set from the rows in `path`.

    `dataset` must hold the conversations in the order of the file, as its import gives them. Each
    row counts as a record: it fails where it matches no question, or another question's text.
    Raises DataError where `path` holds no list of rows.
    """
    rows = _rows(path, log)
    questions = {question.id: question for question in dataset.questions}
    turns = {
        (dialogue.scope, turn.id): turn for dialogue in dataset.dialogues for turn in dialogue.turns
    }
    for position, record in enumerate(rows):
        where = f"{path.name}: row {position}"
        log.read()
        try:
            row = msgspec.convert(record, _Row)
            question = _question_of(row, dataset.scopes, questions)
        except (msgspec.ValidationError, DataError) as error:
            log.fail(where, str(error), record)
            continue
        log.keep()
        log.counts["audited"] += 1
        gold = _corrected(row, question.scope, turns, f"{where}, {question.id}", log)
        questions[question.id] = msgspec.structs.replace(
            question, audited=gold, audit=row.error_type
        )
    return msgspec.structs.replace(dataset, questions=tuple(questions.values()))


def _rows(path: Path, log: ImportLog) -> list[Any]:
    rows = [data for document in open_source(path, log).documents if (data := document.json())]
    if len(rows) != 1 or not isinstance(rows[0], list):
        raise DataError(f"{path}: an audit is one JSON file with a list of rows")
    return rows[0]


def _question_of(row: _Row, scopes: tuple[str, ...], questions: dict[str, Question]) -> Question:
    match = ROW_ID.fullmatch(row.question_id)
    if match is None:
        raise DataError(f"{row.question_id!r} does not read locomo_<conversation>_qa<position>")
    conversation = int(match[1])
    scope = scopes[conversation] if conversation < len(scopes) else None
    question = questions.get(f"{scope}/{int(match[2])}")
    if question is None:
        raise DataError(f"{row.question_id} is the position of no question of the dataset")
    if question.text.strip() != row.question.strip():
        raise DataError(f"{row.question_id} is {question.id}, whose text differs")
    return question


def _corrected(
    row: _Row, scope: str, turns: dict[tuple[str, str], Turn], where: str, log: ImportLog
) -> Gold:
    known = {turn for other, turn in turns if other == scope}
    references = parse_references(row.correct_evidence, known)
    for raw, how in references.repairs:
        log.repair(where, how, raw)
    for raw in references.unresolved:
        log.unresolved(where, "names no turn of the conversation", raw)
    sessions = (turns[scope, turn].session for turn in references.resolved)
    return Gold(
        answer=str(row.correct_answer),
        evidence=references.resolved,
        sessions=tuple(dict.fromkeys(sessions)),
        unresolved=references.unresolved,
    )
