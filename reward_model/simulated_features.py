"""Synthetic features: what twelve scores of a pair look like, without any text.

Latent normal variables with the correlations below are turned into the marginals that scorers
give. Nothing here is measured on people or taken from the paper: the shapes are plausible ones, and
the standardised features are what weights apply to.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from reward_model.rubric import RUBRIC

__all__ = ["Array", "draw_features", "population_moments", "standardised"]

Array = npt.NDArray[np.float64]

# Longer responses have more headings, cover more and take longer to follow; a relevant memory
# justifies an assumption; who commits names a next step and fewer options. 0 where not named.
CORRELATED = {
    ("HEAD", "LEN"): 0.5,
    ("HEAD", "BREADTH"): 0.35,
    ("LEN", "BREADTH"): 0.5,
    ("LEN", "COST"): 0.35,
    ("REL", "PROP"): 0.35,
    ("PROP", "ASSUMP"): -0.35,
    ("CLOSURE", "COMMIT"): 0.3,
    ("COMMIT", "OPT"): -0.2,
    ("AXIS", "CLOSURE"): 0.2,
}
# Means of the features that are scored from -1 to 1 in quarters, as a judge of both orders does.
JUDGED_MEANS = {
    "PROP": 0.1,
    "ASSUMP": 0.25,
    "CLOSURE": 0.0,
    "COMMIT": 0.1,
    "BREADTH": 0.0,
    "COST": 0.05,
    "REGISTER": 0.05,
}
JUDGED_SD = 0.45
LONGEST = 1.1
DENSEST = 5.0
# Quantiles of each latent variable from which its marginal's mean and deviation are summed up.
QUANTILES = 200_000


def draw_features(n: int, rng: np.random.Generator) -> Array:
    """Raw features (n, 12) of n pairs, in the rubric's order.

    HEAD is a whole number, LEN a log ratio within ±1.1, REL a number of ninths (of nine memories),
    AXIS within -1..1, OPT from 0 to 5, the others quarters within -1..1.
    """
    latent = rng.standard_normal((n, len(RUBRIC))) @ _root().T
    return np.column_stack([_marginal(name, latent[:, at]) for at, name in enumerate(RUBRIC)])


def standardised(features: Array) -> Array:
    """Features (n, 12) in units of the population's standard deviations from its means."""
    means, scales = population_moments()
    return (features - means) / scales


@lru_cache(maxsize=1)
def population_moments() -> tuple[Array, Array]:
    """Means and standard deviations (12,) of the raw features over the population."""
    even = ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
    columns = [_marginal(name, even) for name in RUBRIC]
    return np.array([c.mean() for c in columns]), np.array([c.std() for c in columns])


@lru_cache(maxsize=1)
def _root() -> Array:
    """Lower Cholesky factor (12, 12) of the latent correlations."""
    names = list(RUBRIC)
    correlations = np.eye(len(names))
    for (one, other), value in CORRELATED.items():
        a, b = names.index(one), names.index(other)
        correlations[a, b] = correlations[b, a] = value
    return np.asarray(np.linalg.cholesky(correlations), np.float64)


def _marginal(name: str, latent: Array) -> Array:
    """The raw scores (n,) of one feature that go with its standard normal variable (n,)."""
    if name == "HEAD":
        return np.trunc(2.6 * latent)
    if name == "LEN":
        return np.clip(0.1 + 0.38 * latent, -LONGEST, LONGEST)
    if name == "REL":
        return np.round(9 * np.asarray(ndtr(0.8 * latent))) / 9
    if name == "AXIS":
        return np.tanh(0.1 + 0.5 * latent)
    if name == "OPT":
        return np.minimum(1.2 * np.exp(0.5 * latent), DENSEST)
    return np.clip(np.round(4 * (JUDGED_MEANS[name] + JUDGED_SD * latent)) / 4, -1, 1)
