"""LongMemEval: each question brings its own haystack of sessions between one user and an assistant.

Source: Wu et al., "LongMemEval: Benchmarking Chat Assistants on Long-Term Interactive Memory"
(2024); the same layout serves its S, M and oracle files. A question is a scope of its own. Gold is
kept at both levels: `answer_session_ids` as sessions, turns with `has_answer` as evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import Document, Source
from workbench.errors import DataError
from workbench.schema import Dialogue, Gold, Question, Turn

__all__ = ["LICENCE", "load", "parse_time", "recognises"]

LICENCE = "MIT"
TIME = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s+\([^)]*\))?(?:\s+(\d{1,2}):(\d{2}))?")
ABSTENTION = "_abs"


class _Record(msgspec.Struct):
    question_id: str
    question_type: str
    question: str
    haystack_sessions: list[list[Any]]
    haystack_session_ids: list[str]
    haystack_dates: list[str | None]
    answer_session_ids: list[str] = []
    answer: str | int | float | None = None
    question_date: str | None = None


class _Message(msgspec.Struct):
    role: Literal["user", "assistant"]
    content: str
    has_answer: bool | None = None


class _Session(NamedTuple):
    id: str
    time: datetime | None
    messages: list[Any]


def recognises(source: Source) -> bool:
    """Whether a document holds records with `question_id` and `haystack_sessions`."""
    return any(_is_longmemeval(document) for document in source.documents)


def load(source: Source, name: str, log: ImportLog) -> Dataset:
    """Read every record of the source. One whose shape is broken fails as a whole."""
    dialogues: dict[str, Dialogue] = {}
    questions: list[Question] = []
    for where, raw in _records(source, log):
        try:
            record = _checked(raw)
            if record.question_id in dialogues:
                raise DataError("a second record has this question_id")
        except (msgspec.ValidationError, DataError) as error:
            log.read()
            log.fail(where, str(error), raw)
            continue
        dialogue, evidence = _haystack(record, where, log)
        dialogues[record.question_id] = dialogue
        questions.append(_question(record, dialogue, evidence, where, log))
    return Dataset(
        name=name,
        format="longmemeval",
        licence=LICENCE,
        dialogues=tuple(dialogues.values()),
        questions=tuple(questions),
    )


def parse_time(text: str | None) -> datetime | None:
    """`2023/05/24 (Wed) 03:21` as a time without a zone; None where it reads otherwise.

    The name of the day is not checked, so that the system's language plays no part.
    """
    match = TIME.fullmatch(text.strip()) if text else None
    if match is None:
        return None
    year, month, day, hour, minute = (int(number or 0) for number in match.groups())
    try:
        return datetime(year, month, day, hour, minute)
    except ValueError:
        return None


def _is_longmemeval(document: Document) -> bool:
    data = document.peek()
    records = data if isinstance(data, list) else [data]
    return any(
        isinstance(one, dict) and {"question_id", "haystack_sessions"} <= one.keys()
        for one in records
    )


def _records(source: Source, log: ImportLog) -> Iterator[tuple[str, Any]]:
    """(place, record) of the documents that hold any; of all where none is recognised."""
    ours = [document for document in source.documents if _is_longmemeval(document)]
    for document in source.documents:
        if ours and document not in ours:
            log.warn(document.name, "not a LongMemEval file; left out")
            continue
        data = document.json()
        for position, raw in enumerate(data if isinstance(data, list) else [data]):
            named = raw.get("question_id") if isinstance(raw, dict) else None
            yield f"{document.name}: {named or f'record {position}'}", raw


def _checked(raw: Any) -> _Record:
    """The record, where its fields have the right types and its three lists are of one length."""
    record = msgspec.convert(raw, _Record)
    lengths = {
        "haystack_sessions": len(record.haystack_sessions),
        "haystack_session_ids": len(record.haystack_session_ids),
        "haystack_dates": len(record.haystack_dates),
    }
    if len(set(lengths.values())) > 1:
        stated = ", ".join(f"{length} {field}" for field, length in lengths.items())
        raise DataError(f"lists of unequal length: {stated}")
    return record


def _haystack(record: _Record, where: str, log: ImportLog) -> tuple[Dialogue, tuple[str, ...]]:
    """The sessions in order of time as one dialogue, and the ids of the turns with the answer."""
    turns: list[Turn] = []
    evidence: list[str] = []
    for session in _sessions(record, where, log):
        for position, raw in enumerate(session.messages):
            log.read()
            try:
                message = msgspec.convert(raw, _Message)
            except msgspec.ValidationError as error:
                log.fail(f"{where}, session {session.id}, message {position}", str(error), raw)
                continue
            log.keep()
            turn = Turn(
                id=f"{session.id}:{position}",
                session=session.id,
                speaker=message.role,
                role=message.role,
                text=message.content,
                time=session.time,
            )
            turns.append(turn)
            if message.has_answer:
                evidence.append(turn.id)
    scope = record.question_id
    return Dialogue(id=scope, scope=scope, turns=tuple(turns)), tuple(evidence)


def _sessions(record: _Record, where: str, log: ImportLog) -> list[_Session]:
    """Sessions by date, those of one date as listed; as listed where a date can't be read."""
    sessions: list[_Session] = []
    taken: dict[str, int] = {}
    listed = zip(
        record.haystack_session_ids, record.haystack_dates, record.haystack_sessions, strict=True
    )
    for name, date, messages in listed:
        taken[name] = taken.get(name, 0) + 1
        unique = name if taken[name] == 1 else f"{name}#{taken[name]}"
        if unique != name:
            log.warn(where, f"the session id {name} is repeated; this one is kept as {unique}")
        time = parse_time(date)
        if time is None:
            log.warn(f"{where}, session {unique}", "no date that can be read", date)
        sessions.append(_Session(unique, time, messages))
    times = [session.time for session in sessions if session.time is not None]
    if len(times) < len(sessions) or times == sorted(times):
        return sessions
    log.warn(where, "the haystack was not sorted by date; its sessions are put in order")
    return [session for _, session in sorted(zip(times, sessions, strict=True), key=_first)]


def _first(pair: tuple[datetime, _Session]) -> datetime:
    return pair[0]


def _question(
    record: _Record, dialogue: Dialogue, evidence: tuple[str, ...], where: str, log: ImportLog
) -> Question:
    log.read()
    log.keep()
    asked = parse_time(record.question_date)
    if record.question_date and asked is None:
        log.warn(where, "a question_date that can't be read", record.question_date)
    later = [turn.session for turn in dialogue.turns if asked and turn.time and turn.time > asked]
    if later:
        sessions = ", ".join(dict.fromkeys(later))
        log.warn(where, "the question is dated before sessions of its own haystack", sessions)
    return Question(
        id=record.question_id,
        scope=dialogue.scope,
        text=record.question,
        category=record.question_type,
        people=("user",),
        gold=_gold(record, dialogue, evidence, where, log),
        asked=asked,
        abstention=record.question_id.endswith(ABSTENTION),
    )


def _gold(
    record: _Record, dialogue: Dialogue, evidence: tuple[str, ...], where: str, log: ImportLog
) -> Gold:
    named = tuple(dict.fromkeys(record.answer_session_ids))
    known = set(dialogue.sessions)
    unresolved = tuple(session for session in named if session not in known)
    for session in unresolved:
        log.unresolved(where, "names no session of the haystack", session)
    return Gold(
        answer=None if record.answer is None else str(record.answer),
        evidence=evidence,
        sessions=tuple(session for session in named if session in known),
        unresolved=unresolved,
    )
