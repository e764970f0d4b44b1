"""PersonaMem: multiple-choice questions asked at a point within a long chat history.

Source: Jiang et al., "Know Me, Respond to Me" (2025). The questions are a JSON list; the histories
("shared contexts") lie in JSONL files beside it, a line each: `{id: [{"role", "content"}, ...]}`.
A history is a scope. `end_index_in_shared_context` is exclusive: the question sees the messages
before it. System messages describe the persona and begin a session; they are set aside, since
remembering them would give answers away.
"""

from __future__ import annotations

import ast
import json
from typing import Any, Literal, NamedTuple

import msgspec

from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import Document, Source, open_source, scrub
from workbench.errors import DataError
from workbench.schema import Dialogue, Gold, Question, Turn

__all__ = ["LICENCE", "load", "read_options", "recognises"]

LICENCE = "MIT"
QUESTIONS = "questions"
CONTEXTS = "shared_contexts"
# What messages begin with where it only repeats their role.
PREFIXES = {"user": "User: ", "assistant": "Assistant: ", "system": ""}


class _Row(msgspec.Struct):
    question_id: str
    question_type: str
    user_question_or_message: str
    correct_answer: str
    all_options: str | list[str]
    shared_context_id: str
    end_index_in_shared_context: int


class _Message(msgspec.Struct):
    role: Literal["user", "assistant", "system"]
    content: str


class _Context(NamedTuple):
    """A history, the index of each of its turns in the list of messages, and that list's length."""

    dialogue: Dialogue
    indices: tuple[int, ...]
    length: int


def recognises(source: Source) -> bool:
    """Whether a document holds questions or shared contexts."""
    return any(_has_questions(one) or _has_contexts(one) for one in source.documents)


def load(source: Source, name: str, log: ImportLog) -> Dataset:
    """Read the histories and the questions whose history is there; the others are skipped.

    `source` may be the questions file (histories are looked for beside it), a folder of both, or a
    file of histories alone.
    """
    asked = [document for document in source.documents if _has_questions(document)]
    held = [document for document in source.documents if _has_contexts(document)]
    if not asked and not held:
        raise DataError(f"{source.path}: neither PersonaMem questions nor shared contexts")
    for document in source.documents:
        if document not in asked and document not in held:
            log.warn(document.name, "not a PersonaMem file; left out")
    contexts: dict[str, _Context] = {}
    for document in held or _contexts_beside(source, log):
        _read_contexts(document, contexts, log)
    questions: dict[str, Question] = {}
    for document in asked:
        _read_questions(document, contexts, questions, log)
    return Dataset(
        name=name,
        format="personamem",
        licence=LICENCE,
        dialogues=tuple(context.dialogue for context in contexts.values()),
        questions=tuple(questions.values()),
    )


def read_options(raw: str | list[str]) -> tuple[str, ...]:
    """The options of a question, written as JSON in some rows and as a Python list in others.

    Raises DataError where the text is neither, or holds anything but texts.
    """
    if isinstance(raw, list):
        return tuple(raw)
    try:
        options = json.loads(raw)
    except (ValueError, RecursionError):
        options = _python_literal(raw)
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise DataError("all_options is not a list of texts")
    return tuple(options)


def _python_literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise DataError("all_options is neither a JSON list nor a Python one") from error


def _has_questions(document: Document) -> bool:
    data = None if document.name.endswith(".jsonl") else document.peek()
    keys = {"shared_context_id", "all_options"}
    rows = data if isinstance(data, list) else []
    return any(isinstance(row, dict) and keys <= row.keys() for row in rows)


def _has_contexts(document: Document) -> bool:
    """Whether the first line of a JSONL file maps an id to a list of messages."""
    if not document.name.endswith(".jsonl"):
        return False
    try:
        first = json.loads(next((line for _, line in document.lines() if line.strip()), b""))
    except (DataError, ValueError, RecursionError):
        return False
    lists = list(first.values()) if isinstance(first, dict) else []
    message = lists[0][0] if lists and isinstance(lists[0], list) and lists[0] else None
    return isinstance(message, dict) and {"role", "content"} <= message.keys()


def _contexts_beside(source: Source, log: ImportLog) -> list[Document]:
    """Histories next to a questions file: those of the same size ("32k") where there are any."""
    size = source.path.stem.removeprefix(QUESTIONS)
    folder = source.path.parent
    found = sorted(folder.glob(f"{CONTEXTS}{size}*.jsonl"))
    found = found or sorted(folder.glob(f"{CONTEXTS}*.jsonl"))
    if not found:
        log.warn(source.path.name, f"no {CONTEXTS}*.jsonl beside it; put the histories there")
    return [document for path in found for document in open_source(path, log).documents]


def _read_contexts(document: Document, contexts: dict[str, _Context], log: ImportLog) -> None:
    for number, line in document.lines():
        if not line.strip():
            continue
        where = f"{document.name}, line {number}"
        try:
            row = scrub(json.loads(line), log, where)
        except (ValueError, RecursionError) as error:
            log.read()
            log.fail(where, f"not JSON ({error})", line[:200].decode("utf-8", "replace"))
            continue
        for scope, messages in row.items() if isinstance(row, dict) else [("", None)]:
            if not isinstance(messages, list) or scope in contexts:
                log.read()
                log.fail(where, "a second history of this id, or not a list of messages", scope)
            else:
                contexts[scope] = _context(scope, messages, f"{where}, {scope[:12]}", log)


def _context(scope: str, messages: list[Any], where: str, log: ImportLog) -> _Context:
    turns: dict[int, Turn] = {}
    aside: list[Turn] = []
    for index, raw in enumerate(messages):
        log.read()
        try:
            message = msgspec.convert(raw, _Message)
        except msgspec.ValidationError as error:
            log.fail(f"{where}, message {index}", str(error), raw)
            continue
        blocks = len(aside) + (message.role == "system")
        session = f"s{max(0, blocks - 1)}"
        turn = _turn(message, session, index)
        if turn.aside:
            log.skip(f"{where}, message {index}", turn.aside, turn.text)
            aside.append(turn)
        else:
            log.keep()
            turns[index] = turn
    dialogue = Dialogue(id=scope, scope=scope, turns=tuple(turns.values()), aside=tuple(aside))
    return _Context(dialogue, tuple(turns), len(messages))


def _turn(message: _Message, session: str, index: int) -> Turn:
    system = message.role == "system"
    return Turn(
        id=f"{session}:{index}",
        session=session,
        speaker=message.role,
        role="tool" if message.role == "system" else message.role,
        text=message.content.removeprefix(PREFIXES[message.role]),
        aside="system" if system else None,
    )


def _read_questions(
    document: Document,
    contexts: dict[str, _Context],
    questions: dict[str, Question],
    log: ImportLog,
) -> None:
    for position, raw in enumerate(document.json()):
        where = f"{document.name}: question {position}"
        log.read()
        try:
            row = msgspec.convert(raw, _Row)
            context = contexts.get(row.shared_context_id)
            if context is None:
                log.skip(where, f"its history {row.shared_context_id[:12]}… is not here")
                continue
            if row.question_id in questions:
                raise DataError("a second question has this question_id")
            question = _question(row, context, where, log)
        except (msgspec.ValidationError, DataError) as error:
            log.fail(where, str(error), raw)
            continue
        log.keep()
        questions[question.id] = question


def _question(row: _Row, context: _Context, where: str, log: ImportLog) -> Question:
    options = read_options(row.all_options)
    end = row.end_index_in_shared_context
    if end > context.length:
        log.warn(where, f"ends at message {end} of {context.length}; it sees the whole history")
    seen = [
        turn.id
        for turn, index in zip(context.dialogue.turns, context.indices, strict=True)
        if index < end
    ]
    if not seen:
        raise DataError(f"end_index_in_shared_context {end} leaves no message to see")
    return Question(
        id=row.question_id,
        scope=row.shared_context_id,
        text=row.user_question_or_message.removeprefix(PREFIXES["user"]),
        category=row.question_type,
        people=("user",),
        gold=Gold(answer=_correct_option(options, row.correct_answer)),
        until=seen[-1],
        choices=options,
    )


def _correct_option(options: tuple[str, ...], label: str) -> str:
    """The one option that begins with the label "(c)", or is the label itself."""
    fitting = [option for option in options if option.startswith(label)]
    if len(fitting) != 1 or not label:
        raise DataError(f"{len(fitting)} options begin with the correct answer {label!r}")
    return fitting[0]
