"""What a memory is lent: by its neighbours, by its speaker, by other memories of the same turns.

Each adds one part to a scoring. They are meant for scores around 0 (`hybrid`): who has nobody to
borrow from is lent 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.bank import Scores
from workbench.errors import UsageError
from workbench.lexical import LexicalIndex
from workbench.schema import Recipe
from workbench.scoring import Scoring, z_scores
from workbench.shelf import Query, Shelf

__all__ = ["lend"]


def lend(shelf: Shelf, query: Query, recipe: Recipe, scoring: Scoring) -> None:
    """Add the parts that the recipe asks for: first what depends on the memory alone, then what
    other memories of its turns lend, last a share of everything to its neighbours."""
    if recipe.speaker:
        spoken = shelf.spoken_by(query.people)
        scoring.raw["speaker"] = spoken
        scoring.parts["speaker"] = recipe.speaker * spoken
    if recipe.lend:
        lent = _best_of_others(shelf, query, recipe)
        scoring.raw["lent"] = lent
        scoring.parts["lent"] = recipe.lend * lent
    if recipe.neighbours or recipe.neighbours_far:
        _lend_to_neighbours(shelf, scoring, (recipe.neighbours, recipe.neighbours_far))


def _lend_to_neighbours(shelf: Shelf, scoring: Scoring, weights: tuple[float, float]) -> None:
    """Each memory is lent weight * (best score before + best score after), one and two turns
    away. Memories that may not be returned lend nothing."""
    total = scoring.total
    lenders = total if scoring.allowed is None else np.where(scoring.allowed, total, -np.inf)
    group = shelf.group
    best = np.full(int(group.max(initial=0)) + 1, -np.inf)
    np.maximum.at(best, group, lenders)
    best[~np.isfinite(best)] = 0.0
    best[0] = 0.0  # nobody
    lent = np.zeros(len(total))
    for steps, weight in enumerate(weights, start=1):
        if weight:
            lent += weight * (best[shelf.group_at(-steps)] + best[shelf.group_at(steps)])
    scoring.parts["neighbours"] = lent
    scoring.raw["neighbours"] = lent


def _best_of_others(shelf: Shelf, query: Query, recipe: Recipe) -> Scores:
    """For each memory the best z-scored hybrid score among the `lend_from` memories that share a
    source with it; the least of all such scores where none does."""
    assert query.vector is not None
    kind = recipe.lend_from
    if kind not in shelf.sources:
        known = ", ".join(shelf.sources) or "nothing"
        raise UsageError(f"no {kind!r} in {shelf.scope!r} to lend scores; there are: {known}")
    bank = shelf.sources[kind]
    if not len(bank):
        return np.zeros(len(shelf.bank))
    centre, vectors = shelf.centred(kind)
    asked = query.vector - centre
    cosines = vectors @ (asked / max(float(np.linalg.norm(asked)), 1e-9))
    index = shelf.once(("lexical", kind), lambda: LexicalIndex(m.text for m in bank.memories))
    scores = z_scores(cosines.astype(np.float64))
    scores += recipe.lexical_weight * z_scores(index.scores(query.text))
    lent = np.full(len(shelf.bank), scores.min())
    lenders, borrowers = shelf.once(("shared", kind), lambda: _shared(shelf, kind))
    np.maximum.at(lent, borrowers, scores[lenders])
    return lent


def _shared(shelf: Shelf, kind: str) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Pairs (row of the lending bank, row of the shelf's bank) with a source in common."""
    rows: dict[str, list[int]] = {}
    for row, memory in enumerate(shelf.bank.memories):
        for source in memory.sources:
            rows.setdefault(source, []).append(row)
    pairs = {
        (lender, borrower)
        for lender, memory in enumerate(shelf.sources[kind].memories)
        for source in memory.sources
        for borrower in rows.get(source, ())
    }
    ordered = np.asarray(sorted(pairs), dtype=np.intp).reshape(len(pairs), 2)
    return ordered[:, 0], ordered[:, 1]
