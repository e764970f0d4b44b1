"""What a λ surface means: the best λ, the plateau around it, the test against none, the harm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from workbench.cells import Study
from workbench.stats import EQUAL, interval_matrix, paired_difference

__all__ = ["LambdaSurface", "Values"]

Values = npt.NDArray[np.float64]

# A setting belongs to the plateau where it is shown to be less than a point of recall below the
# best one: what a table without intervals calls "about as good" is not enough.
MARGIN = 0.01


@dataclass(frozen=True)
class LambdaSurface:
    """Recall of every question at every λ of a rising grid and every K from 1: (q, λ, K)."""

    study: Study
    grid: tuple[float, ...]
    values: Values

    @cached_property
    def bands(self) -> tuple[Values, Values, Values]:
        """Mean and interval, each (λ, K)."""
        shape = self.values.shape[1:]
        found = self._interval(self.values.reshape(len(self.values), -1))
        mean, lo, hi = (part.reshape(shape) for part in found)
        return mean, lo, hi

    def at(self, k: int) -> Values:
        """(q, λ) recall at K."""
        return self.values[:, :, k - 1]

    def best(self, k: int) -> int:
        """Place in the grid of the best mean; of equal ones, the one nearest to the query."""
        return _last_best(self.bands[0][:, k - 1])

    def rival(self, k: int) -> int:
        """The same among the λ that use the prior at all: what is tested against query-only."""
        return _last_best(self.bands[0][:-1, k - 1])

    def plateau(self, k: int) -> tuple[float, float]:
        """Lowest and highest λ of the settings around the best one whose difference from it has
        its lower bound above -1 point."""
        best = self.best(k)
        below = self.at(k) - self.at(k)[:, [best]]
        # Settings that rank all evidence alike are no worse, however few the questions are.
        good = (self._interval(below)[1] > -MARGIN) | (np.abs(below) <= EQUAL).all(axis=0)
        low = high = best
        while low > 0 and good[low - 1]:
            low -= 1
        while high + 1 < len(good) and good[high + 1]:
            high += 1
        return self.grid[low], self.grid[high]

    def test(self, k: int) -> dict[str, Any]:
        """The best λ that uses the prior against λ = 1, paired over questions.

        λ was chosen on the same questions, so `p` flatters it; `p_bonferroni` pays for the choice
        by counting every λ of the grid as a test.
        """
        rival, alone = self.at(k)[:, self.rival(k)], self.at(k)[:, -1]
        found = paired_difference(
            rival, alone, self.study.clusters, seed=self.study.seed, level=self.study.level
        )
        return {
            "lam": self.grid[self.rival(k)],
            "difference": found.difference,
            "interval": [found.lo, found.hi],
            "basis": found.basis,
            "p": found.p,
            "p_bonferroni": min(1.0, found.p * (len(self.grid) - 1)),
        }

    def harmed(self, k: int) -> dict[str, Any]:
        """Shares of questions and users for whom the prior is worse, or better, than none, at the
        tested λ and (`by_lam`) at every λ. A user's recall is the mean over the questions that
        use this user's profile."""
        change = self.at(k) - self.at(k)[:, [-1]]
        users = _membership(self.study)
        of_users = users @ change
        shares = {
            "questions": (change < -EQUAL).mean(axis=0),
            "users": (of_users < -EQUAL).mean(axis=0),
            "helped_questions": (change > EQUAL).mean(axis=0),
            "helped_users": (of_users > EQUAL).mean(axis=0),
        }
        rival = self.rival(k)
        return {
            "lam": self.grid[rival],
            **{name: float(share[rival]) for name, share in shares.items()},
            "n_users": len(users),
            "by_lam": {name: share.tolist() for name, share in shares.items()},
        }

    def report(self, ks: Sequence[int]) -> dict[str, Any]:
        """All of it for some K, keyed by K as JSON wants it."""
        mean, lo, hi = self.bands
        pairs = np.stack([lo, hi], axis=-1)
        return {
            "recall": {str(k): mean[:, k - 1].tolist() for k in ks},
            "interval": {str(k): pairs[:, k - 1].tolist() for k in ks},
            "best": {
                str(k): {
                    "lam": self.grid[self.best(k)],
                    "recall": float(mean[self.best(k), k - 1]),
                }
                for k in ks
            },
            "plateau": {str(k): list(self.plateau(k)) for k in ks},
            "test_vs_query_only": {str(k): self.test(k) for k in ks},
            "harmed": {str(k): self.harmed(k) for k in ks},
        }

    def frame(self) -> pl.DataFrame:
        """`lam, k, mean, lo, hi`."""
        mean, lo, hi = (part.ravel() for part in self.bands)
        depth = self.values.shape[2]
        ks = np.tile(np.arange(1, depth + 1), len(self.grid))
        columns = {"lam": np.repeat(self.grid, depth), "k": ks, "mean": mean, "lo": lo, "hi": hi}
        return pl.DataFrame(columns)

    def difference(self, place: int) -> pl.DataFrame:
        """`lam, k, difference, lo, hi` of one λ less query-only retrieval at every K."""
        gaps = self.values[:, place] - self.values[:, -1]
        mean, lo, hi = interval_matrix(
            gaps, self.study.clusters, level=self.study.level, differences=True
        )
        ks = np.arange(1, len(mean) + 1)
        columns = {"k": ks, "difference": mean, "lo": lo, "hi": hi}
        return pl.DataFrame({"lam": np.full(len(mean), self.grid[place]), **columns})

    def _interval(self, values: Values) -> tuple[Values, Values, Values]:
        study = self.study
        return interval_matrix(values, study.clusters, level=study.level)


def _last_best(means: Values) -> int:
    return int(np.flatnonzero(means >= means.max() - EQUAL)[-1])


def _membership(study: Study) -> Values:
    """(users, q) weights that make each user's mean: a row for every person of every scope whose
    profile enters a question; of a question without people, the scope itself is the user."""
    users: dict[tuple[str, str], list[int]] = {}
    for row, question in enumerate(study.questions):
        for person in question.people or ("",):
            users.setdefault((question.scope, person), []).append(row)
    weights = np.zeros((len(users), len(study.questions)))
    for user, rows in enumerate(users.values()):
        weights[user, rows] = 1 / len(rows)
    return weights
