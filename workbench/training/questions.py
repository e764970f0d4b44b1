"""Which questions train, select and test, and that no two of these know each other's answers.

A dataset with splits keeps them. In one without, the first scope trains, the second selects and the
others test. Abstention items are left out: there is nothing that a better query would find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.datasets.report import Dataset
from workbench.errors import UsageError
from workbench.schema import Question, Record, digest_of

__all__ = ["Parts", "check_overlap", "parts_of"]

# Sessions of fewer turns (a greeting) may be alike by chance.
TURNS = 4


class Parts(Record, frozen=True, kw_only=True):
    """The scopes and questions of each part; `left_out` counts questions by reason, `note` says how
    the scopes were chosen where the dataset doesn't."""

    scopes: dict[str, tuple[str, ...]]
    train: tuple[Question, ...]
    validation: tuple[Question, ...]
    left_out: dict[str, int]
    note: str = ""

    @property
    def sizes(self) -> dict[str, int]:
        return {"train": len(self.train), "validation": len(self.validation)}

    @property
    def without_evidence(self) -> int:
        """Training questions whose retrieval reward is None; that of the answer still counts."""
        return sum(not question.gold.evidence for question in self.train)


def parts_of(dataset: Dataset, train: str = "train", validation: str = "validation") -> Parts:
    """The parts of a dataset, by the names of its splits.

    Raises UsageError where one is missing or empty, or where training or selection would see
    anything of the test.
    """
    splits, note = _splits(dataset)
    scopes = {
        name: tuple(s for s in dataset.scopes if splits.get(s) == split)
        for name, split in (("train", train), ("validation", validation), ("test", "test"))
    }
    reasons: Counter[str] = Counter()
    chosen = {}
    for part, split in (("train", train), ("validation", validation)):
        if not scopes[part]:
            known = ", ".join(sorted(set(splits.values()))) or "none"
            raise UsageError(f"{dataset.name} has no split {split!r}; it has: {known}")
        asked = [q for q in dataset.questions if q.scope in scopes[part]]
        usable = {q.id: _unusable(q) for q in asked}
        reasons.update(why for why in usable.values() if why)
        chosen[part] = tuple(q for q in asked if usable[q.id] is None)
        if not chosen[part]:
            raise UsageError(f"{dataset.name}: no question of {split} can be learnt from")
    check_overlap(dataset, scopes)
    return Parts(scopes=scopes, **chosen, left_out=dict(sorted(reasons.items())), note=note)


def check_overlap(dataset: Dataset, scopes: Mapping[str, Sequence[str]]) -> None:
    """Raises UsageError where two parts share a scope, a session's turns, or a question with its
    answer: the same conversation under another name would be known from training."""
    for a, b in (("train", "test"), ("validation", "test"), ("train", "validation")):
        shared = sorted(set(scopes[a]) & set(scopes[b]))
        if shared:
            raise UsageError(f"{a} and {b} overlap: both have {', '.join(shared[:5])}")
        for what, seen in (("session", _sessions), ("question", _asked)):
            ours, theirs = (dict(seen(dataset, set(scopes[part]))) for part in (a, b))
            for key in ours:
                if key in theirs:
                    raise UsageError(
                        f"{a} and {b} overlap: {what} {ours[key]} is also {theirs[key]}; "
                        "leave one of the two out of the dataset"
                    )


def _splits(dataset: Dataset) -> tuple[dict[str, str], str]:
    if dataset.splits:
        return dataset.splits, ""
    if len(dataset.scopes) < 2:
        raise UsageError(
            f"{dataset.name} has no splits and one scope: training needs one to learn from and "
            "another to select on"
        )
    names = ["train", "validation"]
    given = {s: names[n] if n < 2 else "test" for n, s in enumerate(dataset.scopes)}
    first, second = dataset.scopes[:2]
    return given, (
        f"{dataset.name} has no splits: {first} trains, {second} selects, "
        f"{len(dataset.scopes) - 2} scopes are left for the test"
    )


def _unusable(question: Question) -> str | None:
    if question.abstention:
        return "abstention"
    if not question.text.strip():
        return "blank"
    if not question.gold.evidence and question.gold.answer is None:
        return "without evidence and answer"
    return None


def _sessions(dataset: Dataset, scopes: set[str]) -> Iterator[tuple[str, str]]:
    for dialogue in dataset.dialogues:
        if dialogue.scope not in scopes:
            continue
        turns: dict[str, list[Any]] = {}
        for turn in dialogue.turns:
            turns.setdefault(turn.session, []).append((turn.speaker, turn.text))
        for session, said in turns.items():
            if len(said) >= TURNS:
                yield digest_of(said), f"{dialogue.scope}/{session}"


def _asked(dataset: Dataset, scopes: set[str]) -> Iterator[tuple[str, str]]:
    for question in dataset.questions:
        if question.scope in scopes and question.gold.answer is not None:
            words = (question.text.casefold().split(), question.gold.answer.casefold().split())
            yield digest_of([words, sorted(question.people)]), question.id
