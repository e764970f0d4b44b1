"""Ranking a shelf's memories for a query: dense, lexical, hybrid, and the dual path of Paper A.

Every retriever returns a `Scoring`: weighted parts (n,) that add up to the score, the raw values
they were made from, and which rows are allowed. One function turns it into hits. A query's scores
depend on nothing but the query and the shelf. To add a retriever: a function and a line in
`RETRIEVERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.errors import UsageError
from workbench.lending import lend
from workbench.priors import PRIORS, Occasion, prior_vector
from workbench.schema import Hit, Recipe
from workbench.scoring import Scoring, hits_of, spread, z_scores
from workbench.shelf import Query, Shelf

__all__ = ["RETRIEVERS", "Scoring", "check_recipe", "retrieve", "score"]


def retrieve(shelf: Shelf, query: Query, recipe: Recipe) -> tuple[Hit, ...]:
    """The hits of one question: the top K_E of the shelf's bank and, on the dual path, the top
    K_S of its semantic bank behind them (their ranks go on, their parts are their own).

    A blank query, or an empty bank, finds nothing; nor does any query what was said after it.
    """
    shelf = shelf.as_of(query.until)
    if query.vector is None or not len(shelf.bank):
        episodic: tuple[Hit, ...] = ()
    else:
        scoring = score(shelf, query, recipe)
        episodic = hits_of(shelf.bank, scoring, scoring.best(recipe.k))
    if recipe.retriever != "ppro" or query.vector is None or not len(shelf.semantic):
        return episodic
    scoring = semantic_scores(shelf, query)
    rows = scoring.best(recipe.k_semantic)
    return episodic + hits_of(shelf.semantic, scoring, rows, first=len(episodic) + 1)


def score(shelf: Shelf, query: Query, recipe: Recipe) -> Scoring:
    """The episodic scores (n,) of a query that is not blank, over the shelf as it stands: see
    `Shelf.as_of` for a question of an earlier time."""
    check_recipe(recipe)
    scoring = RETRIEVERS[recipe.retriever](shelf, query, recipe)
    lend(shelf, query, recipe, scoring)
    return scoring


def check_recipe(recipe: Recipe) -> None:
    """Refuse what no ranking can mean, before anything is imported, embedded or built."""
    for what, name, known in (
        ("retriever", recipe.retriever, RETRIEVERS),
        ("prior", recipe.prior.partition(":")[0], PRIORS),
    ):
        if name not in known:
            raise UsageError(f"unknown {what} {name!r}; known: {', '.join(known)}")
    if not 0 <= recipe.lam <= 1:
        raise UsageError(f"lambda must lie in 0..1, not {recipe.lam}")
    for option, least in (("k", 1), ("k_semantic", 0)):
        given = getattr(recipe, option)
        if given < least:
            raise UsageError(f"--{option.replace('_', '-')} must be at least {least}, not {given}")
    numbers = ("boost", "lexical_weight", "neighbours", "neighbours_far", "speaker", "lend")
    for name in (*numbers, "threshold"):
        value = getattr(recipe, name)
        if value is not None and not np.isfinite(value):
            raise UsageError(f"--{name.replace('_', '-')} must be a finite number, not {value}")


def dense(shelf: Shelf, query: Query, recipe: Recipe) -> Scoring:
    """cos(z, m) with z = lambda * e_q + (1 - lambda) * e_p, split into its two terms.

    With lambda = 1, or without a prior, the score is cos(e_q, m) itself, bit for bit; with
    lambda = 0 it is cos(e_p, m). With `centred`, the bank's mean is first taken off everything:
    what all memories of a scope have in common does not tell them apart.
    """
    assert query.vector is not None
    prior = prior_vector(recipe.prior, _occasion(shelf, query, recipe))
    bank, asked = shelf.bank, query.vector
    if recipe.centred:
        bank = shelf.centred_bank
        asked, prior = shelf.recentre(asked), None if prior is None else shelf.recentre(prior)
    if prior is None:
        cosines = bank.cosines(asked)[0]
        scoring = Scoring({"query": cosines}, {"query": cosines})
        if recipe.prior != "none":
            scoring.notes.append(f"prior {recipe.prior} has nothing to say here: query only")
        return scoring
    to_query, to_prior = bank.cosines(asked, prior)
    own, other = mixture(float(asked @ prior), recipe.lam)
    return Scoring(
        {"query": own * to_query, "prior": other * to_prior},
        {"query": to_query, "prior": to_prior},
    )


def mixture(cosine: float, lam: Any) -> tuple[Any, Any]:
    """The weights of two unit vectors e_q and e_p with this cosine in z / |z|, where
    z = lambda * e_q + (1 - lambda) * e_p; 1 and 0 at the ends.

    An array of lambdas gives arrays, equal to the last bit to what each alone would give.
    """
    rest = 1 - lam
    squared = lam * lam + rest * rest + 2 * lam * rest * cosine
    length = np.sqrt(np.maximum(squared, 1e-12))
    return lam / length, rest / length


def lexical(shelf: Shelf, query: Query, recipe: Recipe) -> Scoring:
    """BM25 over the memories' texts; the prior has no part in it."""
    scores = shelf.lexical.scores(query.text)
    unused = [] if recipe.prior == "none" else ["the lexical retriever has no place for a prior"]
    return Scoring({"lexical": scores}, {"lexical": scores}, notes=unused)


def hybrid(shelf: Shelf, query: Query, recipe: Recipe) -> Scoring:
    """z-scored dense score + weight * z-scored BM25, each over this bank for this query."""
    scoring = dense(shelf, query, recipe)
    width = spread(scoring.total)
    parts = {name: (part - part.mean()) / width for name, part in scoring.parts.items()}
    bm25 = shelf.lexical.scores(query.text)
    parts["lexical"] = recipe.lexical_weight * z_scores(bm25)
    return Scoring(parts, {**scoring.raw, "lexical": bm25}, notes=scoring.notes)


def approximate(shelf: Shelf, query: Query, recipe: Recipe) -> Scoring:
    """`dense` over candidates of the graph index only: four times K of them, at least 100."""
    assert query.vector is not None
    prior = prior_vector(recipe.prior, _occasion(shelf, query, recipe))
    bank, asked = shelf.bank, query.vector
    if recipe.centred:
        bank, asked = shelf.centred_bank, shelf.recentre(asked)
        prior = None if prior is None else shelf.recentre(prior)
    lam = 1.0 if prior is None else recipe.lam
    other = asked if prior is None else prior
    mixed = lam * asked + (1 - lam) * other
    rows = bank.nearby(mixed / np.linalg.norm(mixed), max(4 * recipe.k, 100))
    own, rest = mixture(float(asked @ other), lam)
    scoring = Scoring(allowed=np.zeros(len(shelf.bank), bool))
    scoring.allowed[rows] = True  # type: ignore[index]
    for name, vector, weight in (("query", asked, own), ("prior", other, rest)):
        cosines = np.zeros(len(shelf.bank))
        cosines[rows] = bank.vectors[rows] @ vector
        scoring.raw[name], scoring.parts[name] = cosines, weight * cosines
    return scoring


def ppro(shelf: Shelf, query: Query, recipe: Recipe) -> Scoring:
    """The episodic path of Paper A: `dense`, a threshold on that cosine, and b for each
    retrieval dimension that query and memory are both known to share (reconstructed)."""
    scoring = dense(shelf, query, recipe)
    if recipe.threshold is not None:
        scoring.forbid(scoring.total >= recipe.threshold)
    shared = shelf.agreements(query.dimensions)
    if recipe.boost:
        scoring.parts["boost"] = recipe.boost * shared
    scoring.raw["dimensions"] = shared
    return scoring


def semantic_scores(shelf: Shelf, query: Query) -> Scoring:
    """The semantic path: cos(e_q, m); no prior, no threshold, no boost."""
    assert query.vector is not None
    cosines = shelf.semantic.cosines(query.vector)[0]
    return Scoring({"query": cosines}, {"query": cosines})


Retriever = Callable[[Shelf, Query, Recipe], Scoring]

RETRIEVERS: dict[str, Retriever] = {
    "dense": dense,
    "lexical": lexical,
    "hybrid": hybrid,
    "ppro": ppro,
    "approximate": approximate,
}


def _occasion(shelf: Shelf, query: Query, recipe: Recipe) -> Occasion:
    assert query.vector is not None
    return Occasion(query.vector, shelf, query.people, seed=recipe.seed)
