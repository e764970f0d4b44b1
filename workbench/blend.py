"""Scores of one question's memories for many λ at once.

cos(z, m) = (λ e_q·m + (1 - λ) e_p·m) / |z|, so two dot products give the scores for every λ.
They are made by the same operations in the same order as in `retrieve`, hence equal to the last
bit. A recipe with an ingredient that this file does not know is scored by `retrieve.score`, λ by
λ: as exact, without the speed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from workbench.bank import Bank, Scores
from workbench.priors import Occasion, prior_vector
from workbench.retrieve import mixture, score
from workbench.schema import Recipe
from workbench.scoring import z_scores
from workbench.shelf import Query, Shelf

__all__ = ["Scorer", "blended"]

Scorer = Callable[[tuple[float, ...]], Scores]

# The ingredients that the fast path knows: it is taken by recipes with no other one in use.
UNDERSTOOD = {
    *("memories", "embedder", "retriever", "prior", "lam", "k", "k_semantic", "threshold", "boost"),
    *("lexical_weight", "centred", "lend_from", "seed"),
}
PLAIN = Recipe()


def blended(shelf: Shelf, query: Query, recipe: Recipe) -> Scorer:
    """What scores a question that is not blank for some λ: (λ, n), -inf where a row may not be
    returned. The recipe's own λ plays no part."""
    if recipe.retriever in FINISHES and not _novel(recipe):
        return _blend(shelf, query, recipe)
    return lambda lams: np.stack([_single(shelf, query, recipe, lam) for lam in lams])


def _novel(recipe: Recipe) -> bool:
    """Whether a recipe uses an ingredient that the fast path does not know."""
    others = (name for name in recipe.__struct_fields__ if name not in UNDERSTOOD)
    return any(getattr(recipe, name) != getattr(PLAIN, name) for name in others)


def _single(shelf: Shelf, query: Query, recipe: Recipe, lam: float) -> Scores:
    """(n,) scores by the retriever itself."""
    scoring = score(shelf, query, msgspec.structs.replace(recipe, lam=lam))
    allowed = scoring.allowed
    return scoring.total if allowed is None else np.where(allowed, scoring.total, -np.inf)


def _blend(shelf: Shelf, query: Query, recipe: Recipe) -> Scorer:
    """Scores of `dense`, `hybrid` and `ppro` for many λ from the same two dot products."""
    assert query.vector is not None
    bank, asked = shelf.bank, query.vector
    prior = prior_vector(recipe.prior, Occasion(asked, shelf, query.people, seed=recipe.seed))
    if recipe.centred:
        bank, asked = shelf.centred_bank, shelf.recentre(asked)
        prior = None if prior is None else shelf.recentre(prior)
    to_query = bank.cosines(asked)[0]
    to_prior = None if prior is None else _prior_cosines(shelf, bank, query.people, prior)
    cosine = 0.0 if prior is None else float(asked @ prior)
    finish = FINISHES[recipe.retriever](shelf, query, recipe)

    def scorer(lams: tuple[float, ...]) -> Scores:
        if to_prior is None:
            return finish([np.repeat(to_query[None], len(lams), axis=0)])
        own, other = mixture(cosine, np.array(lams)[:, None])
        # Columns times rows: plain products, which a matrix product makes in half the time.
        return finish([np.dot(own, to_query[None]), np.dot(other, to_prior[None])])

    return scorer


def _prior_cosines(shelf: Shelf, bank: Bank, people: tuple[str, ...], prior: Any) -> Scores:
    """(n,) cosines with a prior; a prior that many questions share is multiplied once."""
    kept: dict[str, Any] = shelf.once(("prior cosines", bank is shelf.bank, people), dict)
    known = kept.get("prior")
    if known is None or not (known is prior or np.array_equal(known, prior)):
        kept.update(prior=prior, cosines=bank.cosines(prior)[0])
    cosines: Scores = kept["cosines"]
    return cosines


# ---------------------------------------------------------------- what a retriever adds to dense

Finish = Callable[[list[Scores]], Scores]


def _dense(shelf: Shelf, query: Query, recipe: Recipe) -> Finish:
    return _sum


def _hybrid(shelf: Shelf, query: Query, recipe: Recipe) -> Finish:
    """z-scores of the dense parts over the bank, plus weighted z-scores of BM25."""
    lexical = recipe.lexical_weight * z_scores(shelf.lexical.scores(query.text))

    def finish(parts: list[Scores]) -> Scores:
        deviation = _sum([part.copy() for part in parts]).std(axis=1, keepdims=True)
        deviation[deviation <= 1e-12] = 1
        scaled = [(part - part.mean(axis=1, keepdims=True)) / deviation for part in parts]
        return _sum([*scaled, lexical])

    return finish


def _ppro(shelf: Shelf, query: Query, recipe: Recipe) -> Finish:
    """A threshold on the cosine, and a boost for each shared retrieval dimension."""
    boost = recipe.boost * shelf.agreements(query.dimensions)

    def finish(parts: list[Scores]) -> Scores:
        scores = _sum(parts)
        low = None if recipe.threshold is None else scores < recipe.threshold
        if recipe.boost:
            scores += boost
        if low is not None:
            scores[low] = -np.inf
        return scores

    return finish


FINISHES: dict[str, Callable[[Shelf, Query, Recipe], Finish]] = {
    "dense": _dense,
    "hybrid": _hybrid,
    "ppro": _ppro,
}


def _sum(parts: list[Scores]) -> Scores:
    """The sum of all parts, from left to right, in place of the first."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total
