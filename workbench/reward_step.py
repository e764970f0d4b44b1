"""What a batch of rewrites was worth: the rewards of each, and what a monitor shows of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from workbench.errors import UsageError
from workbench.reward_guards import COPIED, GUARDS
from workbench.schema import Record
from workbench.stats import EQUAL

__all__ = ["ANSWER", "RETRIEVAL", "Scored", "Step", "combined", "summary"]

RETRIEVAL, ANSWER = "retrieval", "answer"
Values = list[float | None]


class Scored(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One rewrite: the `text` that it is read as, and its rewards before normalisation.

    `retrieval` and `answer` are None where nothing can be paid: no evidence, no reference answer, a
    failed answer (`failure`, its class). `recall` (at K_E) and `f1` (SQuAD's) are the same measures
    whatever is paid, and are not touched by the guards that the rewrite sets off (`guards`).
    """

    question: str
    text: str
    retrieval: float | None
    answer: float | None
    recall: float | None = None
    f1: float | None = None
    guards: tuple[str, ...] = ()
    failure: str | None = None


class Step(NamedTuple):
    """A batch: its rewrites, both rewards on one scale, what they come to, and the seconds that
    scoring took, those of the answers apart."""

    scored: list[Scored]
    retrieval: Values
    answer: Values
    total: Values
    seconds: float = 0.0
    answer_seconds: float = 0.0


def combined(
    alpha: float, retrieval: Sequence[float | None], answer: Sequence[float | None]
) -> Values:
    """R = α answer + (1 - α) retrieval (SPEC A.5) of each, as TRL adds weighted rewards: one that
    is None adds nothing, and where both are the sum is None.

    Raises UsageError where a sum is infinite or no number.
    """
    sums: Values = []
    for found, said in zip(retrieval, answer, strict=True):
        parts = [
            weight * value
            for weight, value in ((1 - alpha, found), (alpha, said))
            if value is not None
        ]
        sums.append(sum(parts) if parts else None)
    if not all(value is None or math.isfinite(value) for value in sums):
        raise UsageError("a reward is infinite or no number: nothing can be learnt from it")
    return sums


def summary(step: Step) -> dict[str, float]:
    """What a monitor shows, by name; a mean that nothing enters is left out.

    `reward/…` are means before and `normalised/…` after normalisation, `flat_groups` the share of
    groups (neighbours with one question) whose rewards are all alike, so that nothing is learnt
    from them; `length/words` and `length/characters` are of rewrites, `copied` the share that
    repeats the question, `guard/…` and `unscored/…` numbers of rewrites.
    """
    scored = step.scored
    told = {
        "reward/retrieval": _mean(one.retrieval for one in scored),
        "reward/answer": _mean(one.answer for one in scored),
        "normalised/retrieval": _mean(step.retrieval),
        "normalised/answer": _mean(step.answer),
        "reward": _mean(step.total),
        "measure/recall": _mean(one.recall for one in scored),
        "measure/f1": _mean(one.f1 for one in scored),
        "flat_groups": _mean(_flat(step)),
        "length/words": _mean(float(len(one.text.split())) for one in scored),
        "length/characters": _mean(float(len(one.text)) for one in scored),
        "copied": _mean(float(COPIED in one.guards) for one in scored),
        "seconds": step.seconds,
        "seconds/answers": step.answer_seconds,
    }
    guards = Counter(name for one in scored for name in one.guards)
    counts = {f"guard/{name}": float(guards[name]) for name in GUARDS}
    counts["unscored/retrieval"] = float(sum(one.retrieval is None for one in scored))
    counts["unscored/answer"] = float(sum(one.answer is None for one in scored))
    failures = Counter(one.failure for one in scored if one.failure is not None)
    counts |= {f"failed/{name}": float(n) for name, n in sorted(failures.items())}
    return {name: value for name, value in told.items() if value is not None} | counts


def _flat(step: Step) -> Iterable[float]:
    """1 for each group whose rewards are all alike, else 0; groups without any are left out."""
    rows = zip(step.scored, step.total, strict=True)
    for _, group in groupby(rows, key=lambda row: row[0].question):
        known = [value for _, value in group if value is not None]
        if known:
            yield float(max(known) - min(known) <= EQUAL)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
