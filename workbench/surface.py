"""Evidence ranks for many λ in one pass: the kernel under every sweep.

The rank of a memory is one more than the number of scores ahead of it: no sort is needed. Scores
come from `blend`, and are compared at the six decimals that `bank.rank_rows` compares them at, so
ranks are those of `recall` at each single λ, ties included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
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
        # Two bytes are enough to count in, and a quarter of what passes through memory.
        hits = np.zeros((len(self.counts), self.ranks.shape[1], len(ks) + 1), np.uint16)
        question = np.repeat(np.arange(len(self.counts)), self.counts)
        np.add.at(hits, (question[:, None], np.arange(self.ranks.shape[1])[None], column), 1)
        np.cumsum(hits, axis=2, dtype=np.uint16, out=hits)
        within = hits[:, :, :-1].astype(np.float64)
        within /= self.counts[:, None, None]
        return within


class _Rows(NamedTuple):
    """Rows of a bank by the turn that they hold, and what each loses to those before it in a tie:
    `order` (n,), rising, below 1."""

    holding: dict[str, list[int]]
    order: Scores

    @classmethod
    def of(cls, bank: Bank) -> _Rows:
        holding: dict[str, list[int]] = {}
        for row, memory in enumerate(bank.memories):
            for turn in memory.sources:
                holding.setdefault(turn, []).append(row)
        # Steps of a power of two: whole numbers less such a step are exact.
        return cls(holding, np.arange(len(bank)) / 2.0 ** len(bank).bit_length())


def evidence_ranks_by_lambda(task: Task) -> RankMatrix:
    """(e, λ) rank, from 1, at which each piece of evidence is first among a memory's sources;
    0 where no ranked memory has it.

    Raises DataError where evidence is no turn of the scope, as `metrics.evidence_ranks` does.
    """
    ranks = np.zeros(task.shape, np.int32)
    start = 0
    for query, evidence in zip(task.queries, task.evidence, strict=True):
        shelf = task.shelf.as_of(query.until)
        bank = shelf.semantic if task.semantic else shelf.bank
        rows = shelf.once(("rows", task.semantic), partial(_Rows.of, bank))
        stray = next((turn for turn in evidence if turn not in shelf.positions), None)
        if stray is not None:
            raise DataError(f"evidence {stray!r} is no turn of this scope: is it a session id?")
        places = [start + piece for piece, turn in enumerate(evidence) if turn in rows.holding]
        if query.vector is not None and places:
            held = [rows.holding[turn] for turn in evidence if turn in rows.holding]
            scorer = _scorer(task, shelf, query)
            ranks[places] = _ranks(scorer, task.lams, held, rows.order)
        start += len(evidence)
    return ranks


def _ranks(
    scorer: Scorer, lams: tuple[float, ...], held: list[list[int]], order: Scores
) -> RankMatrix:
    """(e, λ) ranks of the best of the rows that hold each of a question's pieces of evidence."""
    ranks = np.empty((len(held), len(lams)), np.int32)
    columns = [row for rows in held for row in rows]
    starts = [0, *accumulate(map(len, held[:-1]))]
    step = max(1, BLOCK // len(order))
    for start in range(0, len(lams), step):
        scores = scorer(lams[start : start + step])
        scores *= 10**DECIMALS
        np.rint(scores, out=scores)
        scores -= order
        own = np.maximum.reduceat(scores[:, columns], starts, axis=1).T
        ahead = scores > own[:, :, None]
        counted = np.add.reduce(ahead.view(np.uint8), axis=2, dtype=np.uint32)
        ranks[:, start : start + step] = np.where(own == -np.inf, 0, counted + 1)
    return ranks


def _scorer(task: Task, shelf: Shelf, query: Query) -> Scorer:
    if not task.semantic:
        return blended(shelf, query, task.recipe)
    cosines = semantic_scores(shelf, query).total
    return lambda lams: np.repeat(cosines[None], len(lams), axis=0)
