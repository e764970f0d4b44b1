"""LoCoMo: ten long conversations between two peers, with questions and observed facts.

Source: Maharana et al., "Evaluating Very Long-Term Conversational Memory of LLM Agents" (2024),
`locomo10.json`. A conversation is a scope of its own. The category ids are those of the file:
1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial. Pictures are never fetched;
their machine captions are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from workbench.datasets.evidence import References, parse_references
from workbench.datasets.locomo_turns import dates_without_dialogue, read_dialogue
from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import Document, Source
from workbench.schema import Dialogue, Gold, Memory, Question, Turn, digest_of

__all__ = ["LICENCE", "load", "named_people", "recognises"]

LICENCE = "CC BY-NC 4.0"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
SPLITS = {"conv-26": "train", "conv-30": "validation"}
SESSION_OBSERVATION = re.compile(r"(session_\d+)_observation")
WORD = re.compile(r"\w+")
SHORTEST_NICKNAME = 3


class _Question(msgspec.Struct):
    question: str
    category: int
    answer: str | int | float | None = None
    evidence: Any = None


def recognises(source: Source) -> bool:
    """Whether a document holds conversations with `sample_id` and `conversation`."""
    return any(_is_locomo(document) for document in source.documents)


def load(source: Source, name: str, log: ImportLog) -> Dataset:
    """Read every conversation of the source. Records that cannot be used fail one by one."""
    dialogues: dict[str, Dialogue] = {}
    questions: list[Question] = []
    observations: list[Memory] = []
    for document in _documents(source, log):
        for where, raw in _conversations(document, dialogues.keys(), log):
            scope = raw["sample_id"]
            dialogue = read_dialogue(scope, raw["conversation"], where, log)
            dialogues[scope] = dialogue
            questions += _questions(raw.get("qa", []), dialogue, where, log)
            observations += _observations(raw.get("observation", {}), dialogue, where, log)
    return Dataset(
        name=name,
        format="locomo",
        licence=LICENCE,
        dialogues=tuple(dialogues.values()),
        questions=tuple(questions),
        observations=tuple(observations),
        splits={scope: SPLITS.get(scope, "test") for scope in dialogues},
    )


def named_people(text: str, dialogue: Dialogue) -> tuple[str, ...]:
    """Speakers that a question names: both where it names both or none.

    A name counts as a whole word in any case, its possessive too. A capitalised beginning of at
    least three letters ("Mel" for Melanie) counts where it fits one speaker only and is no word
    of the conversation in lower case ("and" is not Andrew).
    """
    return _named(text, dialogue.people, _lower_case_words(dialogue))


def _is_locomo(document: Document) -> bool:
    data = document.peek()
    records = data if isinstance(data, list) else [data]
    return any(
        isinstance(one, dict) and {"sample_id", "conversation"} <= one.keys() for one in records
    )


def _documents(source: Source, log: ImportLog) -> list[Document]:
    """Those that hold conversations; all of them where none is recognised."""
    ours = [document for document in source.documents if _is_locomo(document)]
    for document in source.documents:
        if ours and document not in ours:
            log.warn(document.name, "not a LoCoMo file; left out")
    return ours or list(source.documents)


def _conversations(
    document: Document, taken: Any, log: ImportLog
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Well-formed conversations of a document, each with its name for the log."""
    data = document.json()
    listed = data if isinstance(data, list) else [data]
    undated = 0
    for position, raw in enumerate(listed):
        scope = raw.get("sample_id") if isinstance(raw, dict) else None
        where = f"{document.name}: {scope or f'conversation {position}'}"
        if not isinstance(scope, str) or not isinstance(raw.get("conversation"), dict):
            log.read()
            log.fail(where, "not a conversation with `sample_id` and `conversation`", raw)
        elif scope in taken:
            log.read()
            log.fail(where, "a second conversation with this sample_id was left out whole")
        else:
            undated += dates_without_dialogue(raw["conversation"])
            yield where, raw
    if undated:
        log.warn(document.name, f"{undated} date{'s' * (undated > 1)} without dialogue")


def _questions(raw: Any, dialogue: Dialogue, where: str, log: ImportLog) -> Iterator[Question]:
    if not isinstance(raw, list):
        log.read()
        log.fail(f"{where}, qa", "not a list of questions", raw)
        return
    turns = {turn.id: turn for turn in dialogue.turns}
    ordinary = _lower_case_words(dialogue)
    for position, record in enumerate(raw):
        place = f"{where}, question {position}"
        log.read()
        try:
            found = msgspec.convert(record, _Question)
            category = CATEGORIES[found.category]
        except msgspec.ValidationError as error:
            log.fail(place, str(error), record)
            continue
        except KeyError as error:
            log.fail(place, f"unknown category id {error}; known are 1 to 5", record)
            continue
        log.keep()
        references = parse_references(found.evidence, turns)
        _count_evidence(references, place, log)
        yield Question(
            id=f"{dialogue.scope}/{position}",
            scope=dialogue.scope,
            text=found.question,
            category=category,
            people=_named(found.question, dialogue.people, ordinary),
            gold=_gold(found.answer, references, turns),
            abstention=category == "adversarial",
        )


def _gold(answer: str | int | float | None, references: References, turns: dict[str, Turn]) -> Gold:
    """An adversarial question has no answer: its `adversarial_answer` is the wrong one."""
    return Gold(
        answer=None if answer is None else str(answer),
        evidence=references.resolved,
        sessions=tuple(dict.fromkeys(turns[turn].session for turn in references.resolved)),
        unresolved=references.unresolved,
    )


def _count_evidence(references: References, place: str, log: ImportLog) -> None:
    """Tell the log what became of a question's evidence."""
    log.counts["evidence_irregular"] += references.irregular
    log.counts["evidence_duplicate"] += bool(references.repeated)
    log.counts["evidence_empty"] += not (references.resolved or references.unresolved)
    _remark_on_references(references, place, log)


def _remark_on_references(references: References, place: str, log: ImportLog) -> None:
    for raw, how in references.repairs:
        log.repair(place, how, raw)
    for raw in references.unresolved:
        log.unresolved(place, "names no turn of the conversation", raw)


def _observations(raw: Any, dialogue: Dialogue, where: str, log: ImportLog) -> Iterator[Memory]:
    """Facts that the authors' own model observed, each with the turns that it names as sources."""
    turns = {turn.id: turn for turn in dialogue.turns}
    seen: set[str] = set()
    for place, speaker, record in _observed_records(raw, where):
        log.read()
        try:
            text, named = msgspec.convert(record, tuple[str, Any])
        except msgspec.ValidationError as error:
            log.fail(place, f"not a pair of text and sources: {error}", record)
            continue
        references = parse_references(named, turns)
        _remark_on_references(references, place, log)
        memory_id = "o:" + digest_of((text, references.resolved))
        if not references.resolved:
            log.counts["observations_without_source"] += 1
            log.skip(place, "none of its sources exists", record)
        elif memory_id in seen:
            log.skip(place, "a duplicate", record)
        else:
            log.keep()
            seen.add(memory_id)
            yield Memory(
                id=memory_id,
                scope=dialogue.scope,
                kind="observation",
                text=text,
                sources=references.resolved,
                owner=speaker,
                subject=speaker,
                session=turns[references.resolved[0]].session,
                time=turns[references.resolved[0]].time,
            )


def _observed_records(raw: Any, where: str) -> Iterator[tuple[str, str, Any]]:
    """(place, speaker, record) of every observation; a misshapen part is one broken record."""
    for key, by_speaker in raw.items() if isinstance(raw, dict) else [("observation", raw)]:
        place = f"{where}, {key}"
        if not SESSION_OBSERVATION.fullmatch(key) or not isinstance(by_speaker, dict):
            yield place, "", by_speaker
            continue
        for speaker, listed in by_speaker.items():
            for position, record in enumerate(listed if isinstance(listed, list) else [listed]):
                yield f"{place}, {speaker} {position}", speaker, record


def _lower_case_words(dialogue: Dialogue) -> set[str]:
    words = (word for turn in dialogue.turns for word in WORD.findall(turn.text))
    return {word for word in words if word.islower()}


def _named(text: str, people: tuple[str, ...], ordinary: set[str]) -> tuple[str, ...]:
    named = {
        person
        for person in people
        if person and re.search(rf"(?<!\w){re.escape(person)}(?!\w)", text, re.IGNORECASE)
    }
    for word in WORD.findall(text):
        if len(word) >= SHORTEST_NICKNAME and word[0].isupper() and word.lower() not in ordinary:
            bearers = [person for person in people if person.lower().startswith(word.lower())]
            named |= set(bearers) if len(bearers) == 1 else set()
    return tuple(person for person in people if person in named) or people
