"""Turns that leave a conversation: forgotten for good, or set aside by a newer version."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import msgspec

from workbench.datasets.report import Dataset, ImportLog
from workbench.schema import Dialogue, Gold, Question

__all__ = ["without_references", "without_turns"]

# Pairs of (scope, turn id) or (scope, session).
Places = AbstractSet[tuple[str, str]]


def without_turns(dataset: Dataset, forgotten: Places, log: ImportLog) -> Dataset:
    """The dataset without the turns in `forgotten`, pairs of (scope, turn id), and references to
    them. Records of `log` that are left out here count as skipped instead of written."""
    if not forgotten:
        return dataset
    dialogues = tuple(_dialogue(dialogue, forgotten, log) for dialogue in dataset.dialogues)
    stripped = msgspec.structs.replace(dataset, dialogues=dialogues)
    return without_references(stripped, dataset, forgotten, "forgotten", log)


def without_references(
    dataset: Dataset, before: Dataset, gone: Places, why: str, log: ImportLog
) -> Dataset:
    """The dataset, whose dialogues lost the turns in `gone` since `before`, without references to
    them.

    Evidence that named one becomes unresolved, "ID (why)", and so does a session of which no turn
    is left. Observations that rest on one go with it, as do questions that could see no other turn.
    """
    lost = _sessions(before) - _sessions(dataset)
    untils = _last_kept(before, gone)
    questions = []
    for question in dataset.questions:
        until = untils.get((question.scope, question.until or ""), question.until)
        if question.until is not None and until is None:
            _withdraw(log, f"question {question.id}", f"every turn that it could see is {why}")
        else:
            questions.append(_question(question, until, gone, lost, why))
    observations = []
    for memory in dataset.observations:
        if any((memory.scope, source) in gone for source in memory.sources):
            _withdraw(log, f"{memory.scope}, observation {memory.id}", f"its source is {why}")
        else:
            observations.append(memory)
    return msgspec.structs.replace(
        dataset, questions=tuple(questions), observations=tuple(observations)
    )


def _sessions(dataset: Dataset) -> Places:
    return {(one.scope, session) for one in dataset.dialogues for session in one.sessions}


def _dialogue(dialogue: Dialogue, forgotten: Places, log: ImportLog) -> Dialogue:
    for turn in dialogue.turns:
        if (dialogue.scope, turn.id) in forgotten:
            _withdraw(log, f"{dialogue.scope}, turn {turn.id}", "forgotten")
    return msgspec.structs.replace(
        dialogue,
        turns=tuple(one for one in dialogue.turns if (dialogue.scope, one.id) not in forgotten),
        aside=tuple(one for one in dialogue.aside if (dialogue.scope, one.id) not in forgotten),
    )


def _withdraw(log: ImportLog, where: str, why: str) -> None:
    """A record that a loader counted as written is skipped after all."""
    log.counts["written"] -= 1
    log.skip(where, why)


def _last_kept(dataset: Dataset, gone: Places) -> dict[tuple[str, str], str | None]:
    """For each turn in `gone` the last turn before it that stays, None where there is none."""
    before: dict[tuple[str, str], str | None] = {}
    last: dict[str, str | None] = {}
    for dialogue in dataset.dialogues:
        for turn in dialogue.turns:
            if (dialogue.scope, turn.id) in gone:
                before[dialogue.scope, turn.id] = last.get(dialogue.scope)
            else:
                last[dialogue.scope] = turn.id
    return before


def _question(
    question: Question, until: str | None, gone: Places, lost: Places, why: str
) -> Question:
    scope, audited = question.scope, question.audited
    return msgspec.structs.replace(
        question,
        until=until,
        gold=_gold(question.gold, scope, gone, lost, why),
        audited=None if audited is None else _gold(audited, scope, gone, lost, why),
    )


def _gold(gold: Gold, scope: str, turns: Places, sessions: Places, why: str) -> Gold:
    """Gold without references to `turns` that are gone, and to `sessions` that are empty."""
    astray = [turn for turn in gold.evidence if (scope, turn) in turns]
    astray += [session for session in gold.sessions if (scope, session) in sessions]
    return msgspec.structs.replace(
        gold,
        evidence=tuple(turn for turn in gold.evidence if (scope, turn) not in turns),
        sessions=tuple(name for name in gold.sessions if (scope, name) not in sessions),
        unresolved=(*gold.unresolved, *(f"{name} ({why})" for name in astray)),
    )
