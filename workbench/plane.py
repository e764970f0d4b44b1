"""The plane of a question and a profile: the picture of what a prior does to a ranking.

e_q, e_p and every mixture z = λ e_q + (1 - λ) e_p lie in one plane. Seen in that plane, a memory is
its shadow; how far the shadow reaches along z is cos(z, m) exactly. So all that dense retrieval
looks at is in the picture, for every λ: the ranking is the order along z. What the picture does not
show is how far memories are from each other: two shadows may touch, and the memories have nothing
in common.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import polars as pl

from workbench.ask import Asking
from workbench.bank import rank_rows
from workbench.errors import UsageError
from workbench.priors import Occasion, prior_vector
from workbench.retrieve import mixture

__all__ = ["Plane", "plane"]

# Two directions nearer than this (cosine) span no plane.
PARALLEL = 1 - 1e-6


class Plane(NamedTuple):
    """Shadows in the plane of e_q and e_p, e_q along x, e_p above it.

    `points` has `memory, owner, text, sources, x, y`, `along` (cos(z, m)), `rank` (from 1) and
    `evidence`. `prior` and `mixed` are the unit vectors e_p and z / |z| in the plane.
    """

    points: pl.DataFrame
    prior: tuple[float, float]
    mixed: tuple[float, float]
    lam: float

    def ahead(self, turn: str) -> int | None:
        """How many memories reach farther along z than the best that holds a turn; None where
        none does."""
        held = self.points.filter(pl.col("sources").list.contains(turn))
        return None if held.is_empty() else int(held["rank"].to_numpy().min()) - 1


def plane(one: Asking) -> Plane:
    """The plane of a question under its recipe's prior and λ.

    Raises UsageError for another retriever than plain `dense` (other scores are not in the plane),
    a blank question, a prior that has nothing to say, or one that is the question's own direction.
    """
    recipe, shelf, asked = one.recipe, one.shelf, one.query.vector
    lent = recipe.speaker or recipe.lend or recipe.neighbours or recipe.neighbours_far
    if recipe.retriever != "dense" or recipe.centred or lent:
        raise UsageError("only the scores of plain dense retrieval lie in this plane")
    if asked is None:
        raise UsageError("a blank question has no direction")
    prior = prior_vector(recipe.prior, Occasion(asked, shelf, one.people, seed=recipe.seed))
    if prior is None:
        raise UsageError(f"the prior {recipe.prior} has nothing to say of {', '.join(one.people)}")
    cosine = float(asked @ prior)
    if abs(cosine) > PARALLEL:
        raise UsageError("question and profile point the same way: they span no plane")
    up = math.sqrt(1 - cosine * cosine)
    x, to_prior = shelf.bank.cosines(asked, prior)
    own, other = mixture(cosine, recipe.lam)
    along = own * x + other * to_prior  # as `retrieve.dense` adds them, to the last bit
    ranks = np.empty(len(x), np.int64)
    ranks[rank_rows(along, len(along))] = np.arange(1, len(along) + 1)
    shadows = pl.DataFrame(
        {"x": x, "y": (to_prior - cosine * x) / up, "along": along, "rank": ranks}
    )
    points = pl.concat([_said(one), shadows], how="horizontal")
    mixed = (float(own + other * cosine), float(other * up))
    return Plane(points, (cosine, up), mixed, recipe.lam)


def _said(one: Asking) -> pl.DataFrame:
    """The memories of the shelf, in the rows of its bank."""
    memories = one.shelf.bank.memories
    gold = set(one.question.gold.evidence) if one.question else set()
    return pl.DataFrame(
        {
            "memory": [m.id for m in memories],
            "owner": [m.owner for m in memories],
            "text": [m.text for m in memories],
            "sources": [list(m.sources) for m in memories],
            "evidence": [not gold.isdisjoint(m.sources) for m in memories],
        },
        schema_overrides={"sources": pl.List(pl.String)},
    )
