"""A bank: the memories of one scope with their unit vectors, and exact search within it.

Rows are sorted by memory id. So a bank is the same whatever order its memories came in (adding
sessions one by one equals a rebuild), and "ties break by id" is "ties break by row".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workbench.embed import Vectors
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.schema import Memory, decode_jsonl, encode_jsonl
from workbench.workspace import Content

if TYPE_CHECKING:
    from usearch.index import Index

__all__ = ["Bank", "bank_files", "load_banks", "rank_rows"]

# Rows scored at a time: a block of 384 float32 columns stays in the processor's cache while
# several vectors pass over it, so that a prior costs no second trip through memory.
BLOCK = 2048

# Scores are compared at this many decimals: encoders differ by about 2e-7 between batch sizes,
# and a reported ranking must not.
DECIMALS = 6

Rows = npt.NDArray[np.intp]
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bank:
    """Memories and vectors (n, d), float32 unit rows, of one scope and one embedder."""

    scope: str
    memories: tuple[Memory, ...]
    vectors: Vectors
    fingerprint: str

    @classmethod
    def build(
        cls, scope: str, memories: Sequence[Memory], vectors: Vectors, fingerprint: str
    ) -> Bank:
        """Check and sort. Memories with one id, or the same text from the same sources, are one.

        Raises DataError where rows and vectors differ in number, a vector is not finite or not of
        unit length, or a memory belongs to another scope.
        """
        if vectors.ndim != 2 or len(vectors) != len(memories):
            raise DataError(f"{scope}: {len(memories)} memories, vectors {vectors.shape}")
        stray = next((m for m in memories if m.scope != scope), None)
        if stray is not None:
            raise DataError(f"memory {stray.id} belongs to {stray.scope!r}, not to {scope!r}")
        if len(vectors) and not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3):
            raise DataError(f"{scope}: vectors must be finite and of unit length")
        rows = _distinct(memories)
        kept = np.ascontiguousarray(vectors[rows], dtype=np.float32)
        return cls(scope, tuple(memories[row] for row in rows), kept, fingerprint)

    def __len__(self) -> int:
        return len(self.memories)

    @cached_property
    def rows(self) -> dict[str, int]:
        """Row by memory id."""
        return {memory.id: row for row, memory in enumerate(self.memories)}

    def add(self, memories: Sequence[Memory], vectors: Vectors) -> Bank:
        """This bank with more memories; one whose id is there already replaces it."""
        old = self.without({memory.id for memory in memories})
        return Bank.build(
            self.scope,
            [*old.memories, *memories],
            np.concatenate([old.vectors, vectors]),
            self.fingerprint,
        )

    def without(self, ids: Collection[str]) -> Bank:
        """This bank without some memories and their vectors."""
        kept = [row for row, memory in enumerate(self.memories) if memory.id not in ids]
        memories = tuple(self.memories[row] for row in kept)
        return Bank(self.scope, memories, self.vectors[kept], self.fingerprint)

    def cosines(self, *vectors: npt.NDArray[np.float32]) -> Scores:
        """(len(vectors), n) cosines with unit vectors (d,).

        Each vector is multiplied on its own, so its cosines are the same to the last bit whatever
        else is asked in the same call.
        """
        found = np.empty((len(vectors), len(self)), np.float64)
        for start in range(0, len(self), BLOCK):
            block = self.vectors[start : start + BLOCK]
            for row, vector in enumerate(vectors):
                found[row, start : start + BLOCK] = block @ vector
        return found

    def search(
        self, vector: npt.NDArray[np.float32], k: int, *, scope: str
    ) -> list[tuple[Memory, float]]:
        """The `k` memories nearest to a unit vector (d,), with their cosines, best first.

        `scope` is mandatory and must be this bank's: whose memories are searched is never implied.
        """
        if scope != self.scope:
            raise UsageError(f"this bank holds {self.scope!r}; scope {scope!r} was asked for")
        scores = self.cosines(vector)[0]
        return [(self.memories[row], float(scores[row])) for row in rank_rows(scores, k)]

    @cached_property
    def graph(self) -> Index:
        """usearch's approximate index over the rows (keys are row numbers)."""
        from usearch.index import Index

        index = Index(ndim=self.vectors.shape[1], metric="ip", dtype="f32")
        if len(self):
            # One thread: with several, the graph depends on who comes first.
            index.add(np.arange(len(self), dtype=np.uint64), self.vectors, threads=1)
        return index

    def nearby(self, vector: npt.NDArray[np.float32], k: int) -> Rows:
        """About the `k` nearest rows, by the graph index: a candidate set, not a ranking."""
        if not len(self):
            return np.empty(0, np.intp)
        # Results are padded with key 0; only the first `len` of them are real.
        matches = self.graph.search(vector, min(k, len(self)))
        return np.asarray(matches.keys[: len(matches)], dtype=np.intp)


def rank_rows(scores: Scores, k: int, allowed: npt.NDArray[np.bool_] | None = None) -> Rows:
    """The best `k` rows by (score at six decimals, then row), best first."""
    rows = None if allowed is None else np.flatnonzero(allowed)
    rounded = -np.round(scores if rows is None else scores[rows], DECIMALS)
    kept = np.arange(len(rounded))
    if 0 < k < len(rounded):
        kept = np.flatnonzero(rounded <= np.partition(rounded, k - 1)[k - 1])
    best = kept[np.lexsort((kept, rounded[kept]))][: max(k, 0)]
    return best if rows is None else rows[best]


def bank_files(banks: Iterable[Bank], stem: str) -> dict[str, Content]:
    """`STEM.jsonl` (memories, scope by scope) and `STEM.npy` (their vectors, in that order)."""
    kept = list(banks)
    matrix = (
        np.concatenate([bank.vectors for bank in kept]) if kept else np.empty((0, 0), np.float32)
    )
    return {
        f"{stem}.jsonl": encode_jsonl(memory for bank in kept for memory in bank.memories),
        f"{stem}.npy": lambda path: save_matrix(path, matrix),
    }


def load_banks(folder: Path, stem: str, fingerprint: str) -> dict[str, Bank]:
    """Banks by scope, from files that `bank_files` described.

    Raises WorkspaceError where rows and vectors don't match in number.
    """
    memories = decode_jsonl(folder / f"{stem}.jsonl", Memory)
    matrix = np.load(folder / f"{stem}.npy", allow_pickle=False)
    if len(memories) != len(matrix):
        raise WorkspaceError(f"{folder}: {len(memories)} memories but {len(matrix)} vectors")
    banks, start = {}, 0
    while start < len(memories):
        scope, stop = memories[start].scope, start
        while stop < len(memories) and memories[stop].scope == scope:
            stop += 1
        banks[scope] = Bank(scope, tuple(memories[start:stop]), matrix[start:stop], fingerprint)
        start = stop
    return banks


def save_matrix(path: Path, matrix: Vectors) -> None:
    with path.open("wb") as stream:
        np.save(stream, matrix.astype(np.float32), allow_pickle=False)


def _distinct(memories: Sequence[Memory]) -> list[int]:
    """Rows in order of id, the first of each (text, sources) only."""
    seen: set[object] = set()
    rows = []
    for row in sorted(range(len(memories)), key=lambda row: memories[row].id):
        memory = memories[row]
        if memory.id not in seen and (memory.text, memory.sources) not in seen:
            seen.update({memory.id, (memory.text, memory.sources)})
            rows.append(row)
    return rows
