"""Turns that are forgotten for good: out of dialogues, evidence and observations alike."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import msgspec

from workbench.datasets.report import Dataset, ImportLog
from workbench.schema import Dialogue, Gold, Question

__all__ = ["without_turns"]

Forgotten = AbstractSet[tuple[str, str]]


def without_turns(dataset: Dataset, forgotten: Forgotten, log: ImportLog) -> Dataset:
    """The dataset without the turns in `forgotten`, pairs of (scope, turn id).

    Evidence that named one becomes unresolved, "ID (forgotten)"; observations that rest on one go
    with it, and so does a question that could see no other turn. Records of `log` that are left
    out here count as skipped instead of written.
    """
    if not forgotten:
        return dataset
    dialogues = tuple(_dialogue(dialogue, forgotten, log) for dialogue in dataset.dialogues)
    sessions = {(one.scope, session) for one in dialogues for session in one.sessions}
    lost = {
        (one.scope, session) for one in dataset.dialogues for session in one.sessions
    } - sessions
    untils = _last_kept(dataset, forgotten)
    questions = []
    for question in dataset.questions:
        until = untils.get((question.scope, question.until or ""), question.until)
        if question.until is not None and until is None:
            _withdraw(log, f"question {question.id}", "every turn that it could see is forgotten")
        else:
            questions.append(_question(question, until, forgotten, lost))
    observations = []
    for memory in dataset.observations:
        if any((memory.scope, source) in forgotten for source in memory.sources):
            _withdraw(log, f"{memory.scope}, observation {memory.id}", "its source is forgotten")
        else:
            observations.append(memory)
    return msgspec.structs.replace(
        dataset,
        dialogues=dialogues,
        questions=tuple(questions),
        observations=tuple(observations),
    )


def _dialogue(dialogue: Dialogue, forgotten: Forgotten, log: ImportLog) -> Dialogue:
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


def _last_kept(dataset: Dataset, forgotten: Forgotten) -> dict[tuple[str, str], str | None]:
    """For each forgotten turn the last turn before it that stays, None where there is none."""
    before: dict[tuple[str, str], str | None] = {}
    last: dict[str, str | None] = {}
    for dialogue in dataset.dialogues:
        for turn in dialogue.turns:
            if (dialogue.scope, turn.id) in forgotten:
                before[dialogue.scope, turn.id] = last.get(dialogue.scope)
            else:
                last[dialogue.scope] = turn.id
    return before


def _question(
    question: Question, until: str | None, forgotten: Forgotten, lost: Forgotten
) -> Question:
    scope, audited = question.scope, question.audited
    return msgspec.structs.replace(
        question,
        until=until,
        gold=_gold(question.gold, scope, forgotten, lost),
        audited=None if audited is None else _gold(audited, scope, forgotten, lost),
    )


def _gold(gold: Gold, scope: str, turns: Forgotten, sessions: Forgotten) -> Gold:
    """Gold without references to forgotten `turns`, and to `sessions` of which no turn is left."""
    lost = [turn for turn in gold.evidence if (scope, turn) in turns]
    lost += [session for session in gold.sessions if (scope, session) in sessions]
    return msgspec.structs.replace(
        gold,
        evidence=tuple(turn for turn in gold.evidence if (scope, turn) not in turns),
        sessions=tuple(name for name in gold.sessions if (scope, name) not in sessions),
        unresolved=(*gold.unresolved, *(f"{name} (forgotten)" for name in lost)),
    )
