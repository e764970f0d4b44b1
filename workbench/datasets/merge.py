"""Two versions of a dataset become one: a union by id, in which the newer content wins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from workbench.datasets.forgetting import without_references
from workbench.datasets.report import Dataset, ImportLog
from workbench.schema import Dialogue, Question, Turn

__all__ = ["MergeCounts", "merge"]


class MergeCounts(NamedTuple):
    """How the records of an import (turns, questions, observations) relate to what was there."""

    imported: int
    updated: int
    unchanged: int


def merge(old: Dataset, new: Dataset) -> tuple[Dataset, MergeCounts]:
    """The union of both versions, and what became of each record of `new`.

    Records that only `old` has stay. A dialogue of which `new` has every turn takes the order of
    `new`; otherwise new turns follow the old ones, and their sessions are put in order of time
    where all have one. A turn set aside in `new` is set aside, and no longer evidence. An audit
    stays on its question until another one replaces it.
    """
    dialogues = {(dialogue.scope, dialogue.id): dialogue for dialogue in old.dialogues}
    strays = _moved_turns(old, new)
    for place, dialogue in dialogues.items():
        if strays.get(place):
            dialogues[place] = _without(dialogue, strays[place])
    for dialogue in new.dialogues:
        place = (dialogue.scope, dialogue.id)
        dialogues[place] = (
            _merge_dialogue(dialogues[place], dialogue) if place in dialogues else dialogue
        )
    questions = {one.id: one for one in old.questions}
    for question in new.questions:
        questions[question.id] = _keep_audit(questions.get(question.id), question)
    observations = {(one.scope, one.id): one for one in (*old.observations, *new.observations)}
    merged = msgspec.structs.replace(
        new,
        dialogues=tuple(dialogues.values()),
        questions=tuple(questions.values()),
        observations=tuple(observations.values()),
        splits={**old.splits, **new.splits},
    )
    silenced = _spoken(old) - _spoken(merged)
    if silenced:
        merged = without_references(merged, old, silenced, "set aside", ImportLog())
    return merged, _counts(_records(old), _records(new), _records(merged))


def _spoken(dataset: Dataset) -> set[tuple[str, str]]:
    return {(one.scope, turn.id) for one in dataset.dialogues for turn in one.turns}


def _keep_audit(old: Question | None, new: Question) -> Question:
    if old is None or old.audited is None or new.audited is not None:
        return new
    return msgspec.structs.replace(new, audited=old.audited, audit=old.audit)


def _merge_dialogue(old: Dialogue, new: Dialogue) -> Dialogue:
    arrived = {turn.id for turn in (*new.turns, *new.aside)}
    missing = {turn.id for turn in (*old.turns, *old.aside)} - arrived
    if not missing:
        return new
    spoken = {turn.id for turn in new.turns}
    turns = _union([turn for turn in old.turns if turn.id in missing | spoken], new.turns)
    aside = _union([turn for turn in old.aside if turn.id not in spoken], new.aside)
    if {turn.session for turn in new.turns} - {turn.session for turn in old.turns}:
        turns = _by_session_time(turns)
    return Dialogue(
        id=new.id,
        scope=new.scope,
        title=new.title or old.title,
        turns=tuple(turns),
        aside=tuple(aside),
    )


def _union(old: Iterable[Turn], new: Iterable[Turn]) -> list[Turn]:
    """Turns in the order of `old`, those of `new` alone after them; the content of `new` wins."""
    return list({turn.id: turn for turn in (*old, *new)}.values())


def _by_session_time(turns: list[Turn]) -> list[Turn]:
    """Sessions in order of the time of their first turn; unchanged where a session has none."""
    sessions: dict[str, list[Turn]] = {}
    for turn in turns:
        sessions.setdefault(turn.session, []).append(turn)
    times = {session: _start(found) for session, found in sessions.items()}
    known = {session: time for session, time in times.items() if time is not None}
    zoned = {time.tzinfo is not None for time in known.values()}
    if len(known) < len(sessions) or len(zoned) > 1:
        return turns
    return [turn for session in sorted(known, key=known.__getitem__) for turn in sessions[session]]


def _start(turns: list[Turn]) -> datetime | None:
    return next((turn.time for turn in turns if turn.time is not None), None)


def _moved_turns(old: Dataset, new: Dataset) -> dict[tuple[str, str], set[str]]:
    """Turns that `new` has in another dialogue of the scope than `old`: dialogue -> their ids.

    An id is unique in its scope, so they must leave the dialogue where they were.
    """
    homes = {
        (dialogue.scope, turn.id): dialogue.id
        for dialogue in new.dialogues
        for turn in (*dialogue.turns, *dialogue.aside)
    }
    moved: dict[tuple[str, str], set[str]] = {}
    for dialogue in old.dialogues:
        for turn in (*dialogue.turns, *dialogue.aside):
            if homes.get((dialogue.scope, turn.id), dialogue.id) != dialogue.id:
                moved.setdefault((dialogue.scope, dialogue.id), set()).add(turn.id)
    return moved


def _without(dialogue: Dialogue, turns: set[str]) -> Dialogue:
    return msgspec.structs.replace(
        dialogue,
        turns=tuple(turn for turn in dialogue.turns if turn.id not in turns),
        aside=tuple(turn for turn in dialogue.aside if turn.id not in turns),
    )


def _records(dataset: Dataset) -> dict[Hashable, object]:
    """Turns, questions and observations by what identifies each."""
    found: dict[Hashable, object] = {}
    for dialogue in dataset.dialogues:
        for turn in dialogue.turns:
            found["turn", dialogue.scope, turn.id] = turn
    for question in dataset.questions:
        found["question", question.id] = question
    for memory in dataset.observations:
        found["observation", memory.scope, memory.id] = memory
    return found


def _counts(
    old: dict[Hashable, object], new: dict[Hashable, object], merged: dict[Hashable, object]
) -> MergeCounts:
    imported = sum(key not in old for key in new)
    unchanged = sum(key in old and old[key] == merged[key] for key in new)
    return MergeCounts(imported, len(new) - imported - unchanged, unchanged)
