"""Evidence ranks for many λ in one pass: the kernel under every sweep.

The rank of a memory is one more than the number of scores ahead of it: no sort is needed. Scores
come from `blend`, and are compared at the six decimals that `bank.rank_rows` compares them at, so
ranks are those of `recall` at each single λ, ties included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.bank import DECIMALS, Bank, Scores
from workbench.blend import Scorer, blended
from workbench.errors import DataError
from workbench.retrieve import semantic_scores
from workbench.schema import Recipe
from workbench.shelf import Query, Shelf

__all__ = ["RankMatrix", "RankTable", "Task", "evidence_ranks_by_lambda"]

RankMatrix = npt.NDArray[np.int32]

# Scores (λ x memories) made at a time: few enough to stay in the processor's cache.
BLOCK = 65_536
NOWHERE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Task:
    """One scope's questions under one recipe: all that a worker needs, and what a cell holds.

    `evidence` are the turn ids of each query's question. `semantic` ranks the semantic bank, as
    the dual path does, where every λ is alike.
    """

    shelf: Shelf
    queries: tuple[Query, ...]
    evidence: tuple[tuple[str, ...], ...]
    recipe: Recipe
    lams: tuple[float, ...]
    semantic: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """(pieces of evidence, λ) of this task's ranks."""
        return sum(map(len, self.evidence)), len(self.lams)


class RankTable(NamedTuple):
    """Ranks (e, λ) of every piece of evidence, 0 where no memory holds it, and how many pieces
    each of the q questions has: `counts` (q,), in the order of the rows."""

    ranks: RankMatrix
    counts: npt.NDArray[np.intp]

    def recall(self, ks: Sequence[int]) -> npt.NDArray[np.float64]:
        """(q, λ, k) share of a question's evidence among the first K, for each of rising `ks`."""
        found = self.ranks > 0
        column = np.where(found, np.searchsorted(ks, self.ranks), len(ks))
        hits = np.zeros((len(self.counts), self.ranks.shape[1], len(ks) + 1))
        question = np.repeat(np.arange(len(self.counts)), self.counts)
        np.add.at(hits, (question[:, None], np.arange(self.ranks.shape[1])[None], column), 1)
        within = np.cumsum(hits[:, :, :-1], axis=2)
        within /= self.counts[:, None, None]
        return within


def evidence_ranks_by_lambda(task: Task) -> RankMatrix:
    """(e, λ) rank, from 1, at which each piece of evidence is first among a memory's sources;
    0 where no ranked memory has it.

    Raises DataError where evidence is no turn of the scope, as `metrics.evidence_ranks` does.
    """
    ranks = np.zeros(task.shape, np.int32)
    start, whole = 0, task
    for query, evidence in zip(whole.queries, whole.evidence, strict=True):
        task = replace(whole, shelf=whole.shelf.as_of(query.until))
        bank = task.shelf.semantic if task.semantic else task.shelf.bank
        holding = task.shelf.once(("holding", task.semantic), partial(_rows_by_source, bank))
        stray = next((turn for turn in evidence if turn not in task.shelf.positions), None)
        if stray is not None:
            raise DataError(f"evidence {stray!r} is no turn of this scope: is it a session id?")
        rows = [holding.get(turn, []) for turn in evidence]
        if query.vector is not None and len(bank) and any(rows):
            _rank(task, _scorer(task, query), rows, ranks[start : start + len(evidence)])
        start += len(evidence)
    return ranks


def _rank(task: Task, scorer: Scorer, rows: list[list[int]], into: RankMatrix) -> None:
    """Fill one question's ranks (evidence, λ)."""
    bank = task.shelf.semantic if task.semantic else task.shelf.bank
    step = max(1, BLOCK // len(bank))
    for start in range(0, len(task.lams), step):
        scores = scorer(task.lams[start : start + step])
        scores *= 10**DECIMALS
        np.rint(scores, out=scores)
        for piece, holding in enumerate(rows):
            if holding:
                places = np.stack([_places(scores, row) for row in holding]).min(axis=0)
                into[piece, start : start + step] = np.where(places == NOWHERE, 0, places)


def _places(scores: Scores, row: int) -> npt.NDArray[np.int64]:
    """(λ,) place of a row: higher scores stand before it, equal ones of lower rows too; NOWHERE
    where it is not allowed at all."""
    own = scores[:, row : row + 1]
    ahead = np.empty(scores.shape, bool)
    np.greater_equal(scores[:, :row], own, out=ahead[:, :row])
    np.greater(scores[:, row:], own, out=ahead[:, row:])
    counted = np.count_nonzero(ahead, axis=1)
    return np.where(np.isneginf(own[:, 0]), NOWHERE, counted + 1)


def _rows_by_source(bank: Bank) -> dict[str, list[int]]:
    holding: dict[str, list[int]] = {}
    for row, memory in enumerate(bank.memories):
        for turn in memory.sources:
            holding.setdefault(turn, []).append(row)
    return holding


def _scorer(task: Task, query: Query) -> Scorer:
    if not task.semantic:
        return blended(task.shelf, query, task.recipe)
    cosines = semantic_scores(task.shelf, query).total
    return lambda lams: np.repeat(cosines[None], len(lams), axis=0)
