"""What many rewrites find: one embedding call, and one matrix product a scope, for all of them.

`dense` without a prior is cos(e_q, m) and nothing else, so its scores for a whole step are the
product of two matrices. Recipes with more in them are scored by the retriever itself, query by
query: the same scores, without that speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from workbench.bank import Scores
from workbench.memory.dimensions import of_question
from workbench.metrics import all_found_at, evidence_ranks, ndcg_at, recall_at
from workbench.prepare import effective
from workbench.retrieve import score, semantic_scores
from workbench.run_plan import Plan
from workbench.schema import Hit, Question, Recipe
from workbench.scoring import Scoring, hits_of
from workbench.shelf import Query, Shelf

__all__ = ["RETRIEVAL_REWARDS", "Found", "Ranks", "search"]

Ranks = tuple[int | None, ...]


class Found(NamedTuple):
    """What one rewrite finds: the `query`, the `shelf` as it stood, the rank of each piece of
    evidence in full depth (None where nothing holds it), and the `hits` that an answerer reads."""

    question: Question
    query: Query
    shelf: Shelf
    ranks: Ranks
    hits: tuple[Hit, ...]


def recall(k: int, ranks: Ranks) -> float:
    """Evidence recall at K_E (SPEC A.5, reconstructed). Flat where a group finds the same among
    the first K, wherever it stands there."""
    return recall_at(k, ranks)


def rank_aware(k: int, ranks: Ranks) -> float:
    """Mean over the evidence of 1 / log2(1 + rank), in full depth whatever K is: 1 at the first
    place, .2 at the 31st, 0 where nothing holds it. Ours: every place gained counts, so few groups
    are flat."""
    return sum(0.0 if rank is None else 1 / math.log2(1 + rank) for rank in ranks) / len(ranks)


# To add one: a function of (K, ranks) and a line.
RETRIEVAL_REWARDS: dict[str, Callable[[int, Ranks], float]] = {
    "recall": recall,
    "rank-aware": rank_aware,
    "ndcg": ndcg_at,
    "all": all_found_at,
}


def search(plan: Plan, asked: Sequence[tuple[Question, str]]) -> list[Found]:
    """What each query text finds for its question, in order; a blank one finds nothing.

    Texts are embedded together, and those of one scope scored together where the recipe allows it.
    Gold is looked at for the ranks of the evidence, never for the ranking.
    """
    recipe = effective(plan.banks, plan.recipe)[0]
    vectors = plan.banks.queries(text for _, text in asked)
    queries = [
        Query(text, vector, question.people, of_question(text), question.until)
        for (question, text), vector in zip(asked, vectors, strict=True)
    ]
    shelves = [
        plan.banks.shelf(question.scope, plan.sources).as_of(question.until)
        for question, _ in asked
    ]
    made = _scorings(shelves, queries, recipe)
    return [
        _found(question, query, shelf, scoring, recipe)
        for (question, _), query, shelf, scoring in zip(asked, queries, shelves, made, strict=True)
    ]


def _scorings(
    shelves: Sequence[Shelf], queries: Sequence[Query], recipe: Recipe
) -> list[Scoring | None]:
    """The scores of every query over its shelf; None where there is nothing to score."""
    real = [
        row
        for row, (shelf, query) in enumerate(zip(shelves, queries, strict=True))
        if query.vector is not None and len(shelf.bank)
    ]
    made: list[Scoring | None] = [None] * len(queries)
    if not _is_plain(recipe):
        for row in real:
            made[row] = score(shelves[row], queries[row], recipe)
        return made
    together: dict[int, list[int]] = {}
    for row in real:
        together.setdefault(id(shelves[row]), []).append(row)
    for rows in together.values():
        asked = np.stack([queries[row].vector for row in rows])  # type: ignore[misc]
        # (queries, d) @ (d, n): every cosine of a scope at once
        cosines: Scores = (asked @ shelves[rows[0]].bank.vectors.T).astype(np.float64)
        for row, scores in zip(rows, cosines, strict=True):
            made[row] = Scoring({"query": scores}, {"query": scores})
    return made


def _is_plain(recipe: Recipe) -> bool:
    """Whether a recipe's score is cos(e_q, m) and nothing else."""
    lent = recipe.neighbours or recipe.neighbours_far or recipe.speaker or recipe.lend
    alone = recipe.prior == "none" or recipe.lam == 1
    return recipe.retriever == "dense" and alone and not recipe.centred and not lent


def _found(
    question: Question, query: Query, shelf: Shelf, scoring: Scoring | None, recipe: Recipe
) -> Found:
    if scoring is None:
        nothing = evidence_ranks(question.gold.evidence, (), shelf.positions)
        return Found(question, query, shelf, nothing, ())
    memories = shelf.bank.memories
    rows = scoring.best(len(memories))
    ranked = (memories[row].sources for row in rows)
    ranks = evidence_ranks(question.gold.evidence, ranked, shelf.positions)
    hits = hits_of(shelf.bank, scoring, rows[: recipe.k])
    if recipe.retriever == "ppro" and len(shelf.semantic):
        further = semantic_scores(shelf, query)
        best = further.best(recipe.k_semantic)
        hits += hits_of(shelf.semantic, further, best, first=len(hits) + 1)
    return Found(question, query, shelf, ranks, hits)
