"""Baselines that need no model of language, and the table of all baselines (SPEC B.6).

Every baseline is a `BaselineResult`: probabilities of preferring memory by comparison, failures by
kind, and where it was not run the reason. The table scores all of them alike, on the comparisons
that an evaluation fitted, and lists those that are missing with what they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from reward_model.baseline_result import BaselineResult
from reward_model.calibration import TOLERANCE, credit
from reward_model.material import RULER, EvaluationPlan, gather
from reward_model.protocol import draw_splits, held_out
from reward_model.schema import Comparison, ComparisonSet
from reward_model.scores import Scores
from workbench.stats import mean_interval

__all__ = ["EXPECTED", "baseline_rows", "rule_baselines"]

Vector = npt.NDArray[np.float64]

# Every baseline of SPEC B.6 and ours, in the table's order: what it needs where it was not run, and
# its accuracy in the paper (291 comparisons, SPEC B.5), a reference and no result of this program.
RULE = "not asked for; it needs nothing"
JUDGE = "no language model was named to be asked"
CLASSIFIER = "no sequence classifier was named"
EXPECTED: dict[str, tuple[str, float | None]] = {
    "majority": (RULE, 0.550),
    "training majority": (RULE, None),
    "length-only": (RULE, None),
    "longer wins": (RULE, None),
    "position-only": (RULE, None),
    "random": (RULE, None),
    "direct judge": (JUDGE, 0.581),
    "direct judge, both orders": (JUDGE, None),
    "rubric judge": (JUDGE, 0.596),
    "rubric judge, both orders": (JUDGE, None),
    "sequence classifier, with memories": (CLASSIFIER, 0.529),
    "sequence classifier, without memories": (CLASSIFIER, 0.588),
}
LEARNED = "by the protocol's folds and choice of C, on this one column"


def rule_baselines(
    chosen: ComparisonSet, scores: Scores, plan: EvaluationPlan | None = None
) -> list[BaselineResult]:
    """The six that need no model of language, on the comparisons that the plan fits.

    Training majority, length-only and position-only are fitted in the folds of the evaluation.
    Majority is the larger class of these very comparisons, "longer wins" fits nothing, random is a
    seeded coin. Errors as `gather`'s.
    """
    plan = plan or EvaluationPlan()
    material = gather(chosen, scores, plan)
    splits = draw_splits(material.participants, plan.repeats, plan.folds, plan.inner, plan.seed)
    length, _ = material.only((RULER,))
    n = len(material.y)
    first = np.array([1.0 if one.order == "memory first" else -1.0 for one in material.fitted])
    learned = {
        "training majority": (np.empty((n, 0)), "the training folds' share of preferring memory"),
        "length-only": (length, f"log ratio of lengths, {LEARNED}"),
        "position-only": (
            first[:, None],
            f"which was shown as A, {LEARNED}; people chose A in {_chose_a(material.fitted)}",
        ),
    }
    unlearned = {
        "majority": (np.full(n, material.y.mean()), "the larger class of these very comparisons"),
        "longer wins": ((np.sign(length[:, 0]) + 1) / 2, "the longer response, nothing fitted"),
        "random": (np.random.default_rng(plan.seed).random(n), f"a coin, seed {plan.seed}"),
    }
    held = {
        name: (held_out(x, material.y, splits, plan.Cs).probability, note)
        for name, (x, note) in learned.items()
    }
    return [
        BaselineResult(name=name, probability=_by_id(material.ids, p), failed={}, note=note)
        for name, (p, note) in {**held, **unlearned}.items()
    ]


def baseline_rows(
    fitted: Sequence[Comparison], results: Sequence[BaselineResult]
) -> list[dict[str, Any]]:
    """One row for each baseline: `baseline, accuracy, lo, hi, n, failed, chose_memory, model_ties,
    facts, note, paper, not_run`.

    `fitted` are the comparisons that count (clear preferences), `n` those of them that the baseline
    has a probability for, `chose_memory` the share of its choices that fell on memory, `paper` the
    paper's accuracy where it gives one. Baselines of `EXPECTED` without a result have `not_run`.
    """
    given = {one.name: one for one in results}
    every = {
        name: given.get(name) or BaselineResult.missing(name, need)
        for name, (need, _) in EXPECTED.items()
    }
    # In the table's order, those that it does not know at its end.
    return [
        _row(fitted, result, EXPECTED.get(name, ("", None))[1])
        for name, result in (every | given).items()
    ]


def _row(
    fitted: Sequence[Comparison], result: BaselineResult, paper: float | None
) -> dict[str, Any]:
    told: dict[str, Any] = {"baseline": result.name, "accuracy": None, "lo": None, "hi": None}
    told |= {"n": 0, "failed": result.failed, "chose_memory": None, "model_ties": 0}
    told |= {"facts": result.facts, "note": result.note, "paper": paper, "not_run": result.not_run}
    given = result.probability
    said = [(one, chance) for one in fitted if (chance := given.get(one.id)) is not None]
    if result.not_run or not said:
        return told | {"not_run": result.not_run or "no comparison has a usable answer"}
    p = np.array([chance for _, chance in said])
    y = np.array([float(bool(one.prefers_memory)) for one, _ in said])
    mean = mean_interval(credit(p, y), [one.participant for one, _ in said])
    tied = np.abs(p - 0.5) <= TOLERANCE
    decided = p[~tied]
    return told | {
        "accuracy": mean.mean,
        "lo": mean.lo,
        "hi": mean.hi,
        "n": mean.n,
        "chose_memory": float((decided > 0.5).mean()) if len(decided) else None,
        "model_ties": int(tied.sum()),
    }


def _by_id(ids: Sequence[str], p: Vector) -> dict[str, float | None]:
    return dict(zip(ids, p.tolist(), strict=True))


def _chose_a(fitted: Sequence[Comparison]) -> str:
    chose = sum(one.chosen == "A" for one in fitted)
    return f"{chose} of {len(fitted)}"
