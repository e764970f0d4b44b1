"""How well rubrics induced from judgments predict others: the protocol with a matrix a fold.

In every outer fold a rubric is induced from the training participants alone, all comparisons are
graded on it, and the model is fitted and C chosen on the training ones, as `protocol` does. A fold
costs the passes of its induction, and two gradings a comparison and dimension; so the default is
one shuffle of the participants, where the fixed rubric's evaluation has ten. The fixed rubric is
predicted on the very same splits for the comparison of the two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from reward_model.baseline_result import BaselineResult
from reward_model.calibration import credit
from reward_model.induce import InductionPlan, induce
from reward_model.induced import InducedRubric, InducedScorer, induced_matrix
from reward_model.material import EvaluationPlan, Material, gather
from reward_model.protocol import Splits, draw_splits, held_out, predicted
from reward_model.schema import ComparisonSet
from reward_model.scores import Scores
from workbench.errors import ModelError
from workbench.llm import LLM
from workbench.replies import Exchange
from workbench.stats import mean_interval, paired_difference

__all__ = ["INDUCED", "FoldRubric", "InducedEvaluation", "evaluate_induced"]

Vector = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

INDUCED = "induced rubric"
UNGRADED = "not graded on every dimension of its fold's rubric"


class FoldRubric(NamedTuple):
    """The rubric of one fold, every request and reply behind it and its grades, what was not
    graded (reason -> comparisons), and the C that was chosen."""

    rubric: InducedRubric
    exchanges: list[Exchange]
    ungraded: dict[str, int]
    c: float


class InducedEvaluation(NamedTuple):
    """The predictions as a row beside the baselines, and the rubrics they were made with."""

    result: BaselineResult
    folds: tuple[FoldRubric, ...]


def evaluate_induced(
    llm: LLM,
    chosen: ComparisonSet,
    scores: Scores,
    plan: EvaluationPlan | None = None,
    induction: InductionPlan | None = None,
    progress: Progress | None = None,
) -> InducedEvaluation:
    """Predict the comparisons that the plan fits by rubrics that never saw their participants.

    `plan.repeats` shuffles are made: give a plan of one unless the calls are no matter. `facts` of
    the result: rubrics by fold, the fixed rubric's accuracy on the same comparisons and splits
    (`scores` are its features), and the paired difference. Raises as `gather` and `induce` do, and
    ModelError where a fold's training comparisons have no grades.
    """
    plan = plan or EvaluationPlan(repeats=1)
    material = gather(chosen, scores, plan)
    splits = draw_splits(material.participants, plan.repeats, plan.folds, plan.inner, plan.seed)
    each = np.full(splits.fold.shape, np.nan)
    made: list[FoldRubric] = []
    for repeat in range(plan.repeats):
        for held in range(splits.folds):
            if progress:
                progress("induced rubrics", len(made), plan.repeats * splits.folds)
            one = msgspec.structs.replace(
                induction or InductionPlan(), fold=f"{repeat}.{held}", seed=plan.seed
            )
            place = (repeat, held)
            rubric, rows, chances = _fold(llm, material, splits, place, (one, plan))
            each[repeat, rows] = chances
            made.append(rubric)
    told = np.isfinite(each).any(axis=0)
    p = np.full(len(told), np.nan)
    p[told] = np.nanmean(each[:, told], axis=0)
    return InducedEvaluation(_result(material, splits, plan, p, made), tuple(made))


def _fold(
    llm: LLM,
    material: Material,
    splits: Splits,
    place: tuple[int, int],
    plans: tuple[InductionPlan, EvaluationPlan],
) -> tuple[FoldRubric, npt.NDArray[np.int64], Vector]:
    """A fold's rubric, and the places and probabilities of the held-out comparisons it graded."""
    (repeat, held), (induction, plan) = place, plans
    out = splits.fold[repeat] == held
    training = [one for one, away in zip(material.fitted, out, strict=True) if not away]
    people = {one.participant for one, away in zip(material.fitted, out, strict=True) if away}
    made = induce(llm, training, people, induction)
    scorer = InducedScorer(llm, made.rubric)
    x, kept, dropped = induced_matrix(scorer, material.fitted)
    row = {name: number for number, name in enumerate(material.ids)}
    at = np.array([row[one.id] for one in kept], np.int64)
    train = ~out[at]
    ungraded = {reason: len(ids) for reason, ids in dropped.items()}
    if not train.any():
        raise ModelError(f"fold {induction.fold}: no training comparison has grades ({ungraded})")
    inner = np.full(len(at), -1, np.int64)
    # Numbered anew: what was not graded may have emptied an inner fold.
    inner[train] = np.unique(splits.inner[repeat, held][at][train], return_inverse=True)[1]
    grid = np.array(sorted(plan.Cs), float)
    chances, c = predicted(x, material.y[at], train, x[~train], (inner, grid))
    graded = [one for exchanges in scorer.exchanges.values() for one in exchanges]
    return FoldRubric(made.rubric, [*made.exchanges, *graded], ungraded, c), at[~train], chances


def _result(
    material: Material, splits: Splits, plan: EvaluationPlan, p: Vector, made: list[FoldRubric]
) -> BaselineResult:
    told = np.isfinite(p)
    if not told.any():
        raise ModelError("no held-out comparison has grades on its fold's rubric")
    x, _ = material.only(plan.columns)
    fixed = credit(held_out(x, material.y, splits, plan.Cs).probability, material.y)[told]
    induced = credit(p[told], material.y[told])
    who = [one for one, known in zip(material.participants, told, strict=True) if known]
    mean = mean_interval(fixed, who)
    values = [chance if known else None for chance, known in zip(p.tolist(), told, strict=True)]
    missing = int((~told).sum())
    return BaselineResult(
        name=INDUCED,
        probability=dict(zip(material.ids, values, strict=True)),
        failed={UNGRADED: missing} if missing else {},
        note=f"a rubric induced in each of {splits.folds} folds from its training participants, "
        f"{plan.repeats} shuffle{'s' * (plan.repeats > 1)} (each costs calls)",
        facts={
            "fixed": {"accuracy": mean.mean, "lo": mean.lo, "hi": mean.hi, "n": mean.n},
            "difference": msgspec.to_builtins(
                paired_difference(induced, fixed, who, seed=plan.seed)
            ),
            "rubrics": [_told(one) for one in made],
        },
    )


def _told(one: FoldRubric) -> dict[str, Any]:
    about = one.rubric.provenance
    return {
        "rubric": one.rubric.id,
        "fold": about.fold,
        "model": about.model,
        "C": one.c if np.isfinite(one.c) else None,
        "dimensions": [{"title": d.title, "memory": d.memory} for d in one.rubric.dimensions],
        "failed": about.failed,
        "ungraded": one.ungraded,
    }
