"""How good rewrites are on questions that nothing was learnt from: evidence recall and token F1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from workbench.rewards import RewriteRewards
from workbench.runs import tidy
from workbench.schema import Question, Record
from workbench.statement import statement_of
from workbench.stats import mean_interval

__all__ = ["F1", "HeldOut", "held_out", "summary"]

F1 = "f1_squad"


class HeldOut(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Means with their 95 % intervals over the questions (one conversation says nothing on
    others): of evidence recall at the recipe's K, and of F1. `missing` are answers that failed."""

    step: int
    recall: float
    f1: float
    recall_interval: tuple[float | None, float | None]
    f1_interval: tuple[float | None, float | None]
    n_recall: int
    n_f1: int
    missing: int


def held_out(
    rewards: RewriteRewards, questions: Sequence[Question], replies: Sequence[str]
) -> pl.DataFrame:
    """A tidy frame: "recall@K" of the questions with evidence and "f1_squad" of those with an
    answer. A question whose reply says nothing is searched with as it is, as in use."""
    said = [
        reply if statement_of(reply) else question.text
        for question, reply in zip(questions, replies, strict=True)
    ]
    rows = []
    scored = rewards.score([question.id for question in questions], said)
    for question, one in zip(questions, scored, strict=True):
        about = {"question": question.id, "scope": question.scope, "category": question.category}
        for metric, value in ((f"recall@{rewards.plan.recipe.k}", one.recall), (F1, one.f1)):
            if value is not None:
                rows.append({**about, "metric": metric, "value": value})
    return tidy(rows)


def summary(frame: pl.DataFrame, step: int, questions: int) -> HeldOut:
    """The means of a held-out frame at a training step; 0 of none."""
    recall, f1 = (
        _mean(frame.filter(chosen)) for chosen in (pl.col("metric") != F1, pl.col("metric") == F1)
    )
    return HeldOut(
        step=step,
        recall=recall[0],
        f1=f1[0],
        recall_interval=recall[1],
        f1_interval=f1[1],
        n_recall=recall[2],
        n_f1=f1[2],
        missing=questions - f1[2],
    )


def _mean(part: pl.DataFrame) -> tuple[float, tuple[float | None, float | None], int]:
    if part.is_empty():
        return 0.0, (None, None), 0
    found = mean_interval(np.asarray(part["value"]), part["question"].to_list())
    return found.mean, (found.lo, found.hi), len(part)
