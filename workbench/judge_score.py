"""What verdicts come to: accuracies with intervals, abstention apart, agreement of the repeats.

Only judged answers enter an accuracy. Items whose right answer is to decline are reported apart,
with how often the system declines elsewhere: who always declines must not look good. LongMemEval's
own figures, which keep its abstention items within their types, are added beside (Wu et al. 2024).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from workbench.answer_metrics import macro_mean
from workbench.judged import JudgedAnswer
from workbench.longmemeval_score import TYPES, longmemeval
from workbench.runs import tidy
from workbench.stats import mean_interval

__all__ = ["LEVEL", "judged_frame", "judged_report"]

LEVEL = 0.95


def judged_report(rows: Sequence[JudgedAnswer]) -> dict[str, Any]:
    """The report of `workbench judge`, without what only the run knows.

    `n` = `judged` + the sum of `not_judged` (by class), all of answerable questions; `accuracy` is
    micro, `task_averaged` the mean of the categories'. `longmemeval` only where there is one of its
    types. An accuracy of no judged answer is None.
    """
    answerable = [row for row in rows if not row.abstention]
    told = {
        **_share(answerable),
        **_task_averaged(answerable),
        "by_category": {
            name: _share([row for row in answerable if row.category == name])
            for name in sorted({row.category for row in answerable})
        },
        "abstention": _abstention(rows),
        "repeats": _repeats(rows),
        "grading_language": [row.question for row in rows if row.flagged],
        "pending": [row.question for row in rows if row.pending],
        "level": LEVEL,
    }
    if any(row.category in TYPES for row in rows):
        told["longmemeval"] = longmemeval(rows, LEVEL)
    return told


def judged_frame(rows: Sequence[JudgedAnswer]) -> pl.DataFrame:
    """A tidy frame: "judged" (0 or 1) of answerable questions, "judged_abstention" of the others,
    and "declined" of the answerable ones; questions without a verdict have no row of the former."""
    found = []
    for metric, wanted in (("judged", False), ("judged_abstention", True), ("declined", False)):
        for row in rows:
            value = row.declined if metric == "declined" else row.right
            if row.abstention == wanted and value is not None:
                place = {"question": row.question, "scope": row.scope, "category": row.category}
                found.append({**place, "metric": metric, "value": float(value)})
    return tidy(found)


def _share(rows: Sequence[JudgedAnswer]) -> dict[str, Any]:
    """n, judged, not judged by class, and the share of right ones among the judged."""
    judged = [row for row in rows if row.right is not None]
    failures = Counter(row.failure for row in rows if row.failure is not None)
    told: dict[str, Any] = {
        "n": len(rows),
        "judged": len(judged),
        "not_judged": dict(sorted(failures.items())),
        "accuracy": None,
        "interval": [None, None],
        "basis": None,
    }
    if judged:
        found = mean_interval(_values(judged), [row.scope for row in judged], level=LEVEL)
        interval = [found.lo, found.hi]
        told |= {"accuracy": found.mean, "interval": interval, "basis": found.basis}
    return told


def _values(rows: Sequence[JudgedAnswer]) -> Any:
    return np.array([float(bool(row.right)) for row in rows])


def _task_averaged(rows: Sequence[JudgedAnswer]) -> dict[str, Any]:
    judged = [row for row in rows if row.right is not None]
    if not judged:
        return {"task_averaged": None, "task_interval": [None, None]}
    mean, influence = macro_mean(_values(judged), np.array([row.category for row in judged]))
    found = mean_interval(influence, [row.scope for row in judged], level=LEVEL)
    lo, hi = found.lo, found.hi
    interval = [None if lo is None else max(0.0, lo), None if hi is None else min(1.0, hi)]
    return {"task_averaged": mean, "task_interval": interval}


def _abstention(rows: Sequence[JudgedAnswer]) -> dict[str, Any]:
    """Accuracy on the items whose right answer is to decline, and `declined_elsewhere`: the share
    of answerable questions that are declined, whatever the judge says."""
    answerable = [row for row in rows if not row.abstention]
    told: dict[str, Any] = {"n": len(answerable), "share": None, "interval": [None, None]}
    if answerable:
        declined = [float(row.declined) for row in answerable]
        found = mean_interval(declined, [row.scope for row in answerable], level=LEVEL)
        told |= {"share": found.mean, "interval": [found.lo, found.hi]}
    return {**_share([row for row in rows if row.abstention]), "declined_elsewhere": told}


def _repeats(rows: Sequence[JudgedAnswer]) -> dict[str, Any]:
    """How far the judge agrees with itself on answers with several verdicts.

    `same`: the share of pairs of verdicts that agree, a mean over answers; `between_orders` and
    `within_order` of the pairs that saw another or the same order.
    """
    most = max((len(row.votes) for row in rows), default=0)
    told: dict[str, Any] = {"repeats": most}
    for name, crossed in (("same", None), ("between_orders", True), ("within_order", False)):
        shares, scopes = [], []
        for row in rows:
            votes = [vote for vote in row.votes if vote.right is not None]
            pairs = [
                a.right == b.right
                for place, a in enumerate(votes)
                for b in votes[place + 1 :]
                if crossed is None or (a.order != b.order) == crossed
            ]
            if pairs:
                shares.append(sum(pairs) / len(pairs))
                scopes.append(row.scope)
        told[name] = {"n": len(shares), "share": None, "interval": [None, None]}
        if shares:
            found = mean_interval(shares, scopes, level=LEVEL)
            told[name] |= {"share": found.mean, "interval": [found.lo, found.hi]}
    return told
