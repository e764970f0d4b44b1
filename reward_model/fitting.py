"""From comparisons and their scores to a fitted model that says what it was fitted to."""

from __future__ import annotations

from typing import Any

import msgspec

from reward_model.material import EvaluationPlan, facts, gather
from reward_model.model import MemoryAwareRewardModel
from reward_model.model_file import Origin
from reward_model.schema import ComparisonSet
from reward_model.scores import Scores, matrix
from workbench.errors import DataError, UsageError

__all__ = ["explain_comparison", "fit_comparisons", "fitted"]

DEFAULT_C = 0.1


def fit_comparisons(
    chosen: ComparisonSet,
    scores: Scores,
    plan: EvaluationPlan | None = None,
    C: float = DEFAULT_C,  # noqa: N803 - scikit-learn's name, and the paper's
) -> MemoryAwareRewardModel:
    """Fit the model to all comparisons that an evaluation with this plan would fit.

    Quality filter, strengths and features are the plan's, its seed that of the intervals. Raises
    UsageError for scores of other comparisons, DataError where there is nothing to learn from.
    """
    plan = plan or EvaluationPlan()
    material = gather(chosen, scores, plan)
    x, _ = material.only(plan.columns)
    model = MemoryAwareRewardModel(C=C, features=plan.columns, random_state=plan.seed)
    model.fit(x, material.y, material.participants)
    return model.signed(
        Origin(
            dataset=chosen.name,
            data=chosen.content,
            scorer=scores.scorer,
            synthetic=chosen.synthetic,
            excluded=facts(chosen, material)["excluded"],
        )
    )


def fitted(model: MemoryAwareRewardModel) -> dict[str, Any]:
    """A fitted model as a document: coefficients with intervals, n, left out, origin, notes."""
    document: dict[str, Any] = msgspec.to_builtins(model.coefficients())
    origin = msgspec.to_builtins(model.file_.origin)
    told = {"preferring_memory": model.file_.preferring_memory, **origin}
    return document | told | {"constant": list(model.constant_)}


def explain_comparison(
    model: MemoryAwareRewardModel, chosen: ComparisonSet, scores: Scores, comparison: str
) -> dict[str, Any]:
    """Why a model has the log odds that it has for one comparison of a set, as a document.

    Raises UsageError where the set has no such comparison or the scores are another scorer's,
    DataError where a feature of the model was not scored.
    """
    model.file_.origin.refuse_other(scores.scorer)
    found = next((one for one in chosen.comparisons if one.id == comparison), None)
    if found is None:
        raise UsageError(f"comparisons {chosen.name!r} have no {comparison!r}")
    x, _, dropped = matrix(scores, [found], model.features_)
    if dropped:
        raise DataError(f"comparison {comparison!r} cannot be explained: {next(iter(dropped))}")
    document: dict[str, Any] = msgspec.to_builtins(model.explain(x[0]))
    return document | {
        "comparison": found.id,
        "participant": found.participant,
        "generator": found.generator,
        "regime": found.regime,
        "judgment": found.judgment,
        "prefers_memory": found.prefers_memory,
        "synthetic": chosen.synthetic or model.file_.origin.synthetic,
        "scorer": scores.scorer,
    }
