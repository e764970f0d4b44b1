"""What an evaluation works on: its plan, the comparisons it fits, those it only predicts, the rest.

Every comparison of a set ends in exactly one place: fitted (a clear preference of the plan's
strengths with all scores), predicted only (a tie, or a preference of another strength), or left
out, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from reward_model.protocol import GRID
from reward_model.quality import QualityRules, clear_preferences, quality_filter
from reward_model.rubric import RUBRIC
from reward_model.schema import Comparison, ComparisonSet, Strength
from reward_model.scores import Scores, matrix
from workbench.errors import DataError, UsageError
from workbench.schema import Record

__all__ = ["RULER", "EvaluationPlan", "Material", "facts", "gather"]

Vector = npt.NDArray[np.float64]

RULER = "LEN"  # what the length-only baseline sees
CHECK, REPEAT, UNJUDGED = "attention checks", "repeats of others", "not judged"


class EvaluationPlan(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Every knob of an evaluation; the defaults are SPEC B.4's.

    `strengths` are those that are fitted: "much", "slightly". `Cs` is the grid of the inner choice.
    `features` are the full model's columns, the whole rubric where None. `rules` is the filter of
    quality that goes before everything; None evaluates the comparisons as they are.
    """

    strengths: tuple[Strength, ...] = ("much",)
    repeats: int = 10
    folds: int = 5
    inner: int = 4
    Cs: tuple[float, ...] = GRID
    seed: int = 0
    features: tuple[str, ...] | None = None
    rules: QualityRules | None = msgspec.field(default_factory=QualityRules)

    @property
    def columns(self) -> tuple[str, ...]:
        """The full model's features, in the rubric's order."""
        return tuple(one for one in RUBRIC if self.features is None or one in self.features)


class Material(NamedTuple):
    """`fitted` comparisons with features `x` (n, d) and labels `y` (n,), 1 where memory was
    preferred; `others` with theirs `x_others` (m, d). `features` names the columns: the plan's,
    and the ruler's where they lack it. `left_out` has ids by reason, `passed` are all that passed
    the filter, repeats too."""

    fitted: tuple[Comparison, ...]
    x: Vector
    y: Vector
    others: tuple[Comparison, ...]
    x_others: Vector
    features: tuple[str, ...]
    left_out: dict[str, tuple[str, ...]]
    passed: tuple[Comparison, ...]

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.fitted]

    @property
    def participants(self) -> list[str]:
        return [one.participant for one in self.fitted]

    def only(self, features: Sequence[str]) -> tuple[Vector, Vector]:
        """Columns of both matrices."""
        places = [self.features.index(one) for one in features]
        return self.x[:, places], self.x_others[:, places]


def gather(chosen: ComparisonSet, scores: Scores, plan: EvaluationPlan) -> Material:
    """What a plan evaluates of a set of comparisons.

    Raises UsageError for a plan that cannot be meant or scores of other comparisons, DataError
    where nothing is left to fit, or all of it prefers the same.
    """
    _checked(chosen, scores, plan)
    left_out: dict[str, tuple[str, ...]] = {}
    kept = chosen.comparisons
    if plan.rules is not None:
        filtered = quality_filter(kept, plan.rules)
        kept, left_out = filtered.kept, dict(filtered.dropped)
    clear = clear_preferences(kept, plan.strengths)
    rest: tuple[Strength, ...] = ("much", "slightly", "tie")
    other = clear_preferences(kept, tuple(one for one in rest if one not in plan.strengths))
    used = {one.id for one in (*clear, *other)}
    for one in kept:
        if one.id not in used:
            why = UNJUDGED if one.judgment is None else CHECK if one.attention else REPEAT
            left_out[why] = (*left_out.get(why, ()), one.id)
    columns = tuple(one for one in RUBRIC if one in plan.columns or one == RULER)
    x, fitted, unscored = matrix(scores, clear, columns)
    x_others, others, unscored_others = matrix(scores, other, columns)
    for dropped in (unscored, unscored_others):
        for reason, ids in dropped.items():
            left_out[reason] = left_out.get(reason, ()) + ids
    y = np.array([float(bool(one.prefers_memory)) for one in fitted])
    material = Material(fitted, x, y, others, x_others, columns, left_out, kept)
    _learnable(chosen, material, plan)
    return material


def _counts(left_out: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """How many comparisons were left out, by reason."""
    return {reason: len(ids) for reason, ids in left_out.items() if ids}


def _checked(chosen: ComparisonSet, scores: Scores, plan: EvaluationPlan) -> None:
    unknown = [one for one in plan.features or () if one not in RUBRIC]
    if unknown or plan.features == ():
        named = f"feature {unknown[0]!r}" if unknown else "an empty list of features"
        raise UsageError(f"{named} is none of the rubric's: choose from {', '.join(RUBRIC)}")
    if not plan.strengths or "tie" in plan.strengths:
        raise UsageError("a model is fitted on preferences: strengths are much, slightly or both")
    if not plan.Cs or min(plan.Cs) <= 0 or not np.isfinite(plan.Cs).all():
        raise UsageError(f"C must be above 0, not {list(plan.Cs)}")
    if scores.content != chosen.content:
        raise UsageError(
            f"the scores {scores.id} are of comparisons {scores.content}, but {chosen.name!r} is "
            f"{chosen.content}: score it first (`workbench reward features {chosen.name}`)"
        )


def _learnable(chosen: ComparisonSet, material: Material, plan: EvaluationPlan) -> None:
    """There must be two kinds of preference to tell apart."""
    n, memory = len(material.y), int(material.y.sum())
    if 0 < memory < n:
        return
    wanted = " or ".join(plan.strengths)
    left = ", ".join(f"{many} {why}" for why, many in _counts(material.left_out).items())
    told = f"all {n} prefer {'the' if memory else 'no'} memory" if n else "there is none"
    raise DataError(
        f"comparisons {chosen.name!r}: of the preferences that are {wanted} better, {told}, so "
        f"that there is nothing to learn (left out: {left or 'none'})"
    )


def facts(chosen: ComparisonSet, material: Material) -> dict[str, Any]:
    """What an evaluation says of its data."""
    memory = int(material.y.sum())
    sides: dict[str, set[float]] = {}
    for one, side in zip(material.participants, material.y.tolist(), strict=True):
        sides.setdefault(one, set()).add(side)
    return {
        "dataset": chosen.name,
        "content": chosen.content,
        "source": chosen.source,
        "synthetic": chosen.synthetic,
        "n": len(material.y),
        "participants": len(sides),
        "one_class_participants": sum(len(both) == 1 for both in sides.values()),
        "labels": {"memory": memory, "no_memory": len(material.y) - memory},
        "excluded": _counts(material.left_out),
    }
