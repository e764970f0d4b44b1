"""Why a model prefers what it prefers: one pair's log odds, feature by feature."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from reward_model.model_file import ModelFile
from workbench.schema import Record

__all__ = ["Explanation", "Part", "explained"]

Vector = npt.NDArray[np.float64]


class Part(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What one feature adds to the log odds: its coefficient times its standardised value.

    A contribution is relative to a pair at the training mean, not to a pair without the feature.
    """

    feature: str
    value: float
    standardised: float
    coef: float
    contribution: float
    memory: bool | None


class Explanation(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One pair's log odds of preferring memory as a sum.

    `intercept`, then the parts' contributions in their order, added from left to right, is exactly
    `logit`. `synthetic` is the model's: whether it was fitted to made-up judgments.
    """

    parts: tuple[Part, ...]
    intercept: float
    logit: float
    probability: float
    synthetic: bool


def explained(file: ModelFile, values: Vector, contributions: Vector, logit: float) -> Explanation:
    """The explanation of one pair's features `values` (d,) under a model."""
    return Explanation(
        parts=tuple(
            Part(
                feature=one.name,
                value=float(values[at]),
                standardised=float((values[at] - one.mean) / one.scale),
                coef=one.coef,
                contribution=float(contributions[at]),
                memory=one.memory,
            )
            for at, one in enumerate(file.features)
        ),
        intercept=file.intercept,
        logit=logit,
        probability=float(expit(logit)),
        synthetic=file.origin.synthetic,
    )
