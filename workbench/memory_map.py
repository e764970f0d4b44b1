"""What the vectors of memories say: a map of them in two dimensions, neighbours, near duplicates.

The map is the first two principal components, so it is the same on every machine (up to rounding),
and its axes are directions in the embedder's space. Two of several hundred directions hold a
fraction of what is there (`MemoryMap.shares`): near on the map need not mean near in meaning. So
`neighbours` and `near_duplicates` compare whole vectors. Nothing here is quadratic in the size of a
bank: beyond a number that is stated, a sample is drawn or compared, and the result says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from workbench.bank import Bank
from workbench.bank_set import BankSet
from workbench.embed import Vectors
from workbench.errors import UsageError
from workbench.inspection import dialogues_of
from workbench.schema import Memory

__all__ = ["LookAlikes", "MemoryMap", "memory_map", "near_duplicates", "neighbours"]

MOST_POINTS = 3_000  # episodic memories on a map: more are neither seen nor sent to a browser
MOST_COMPARED = 6_000  # memories compared pair by pair: a second or two on two cores
MOST_PAIRS = 500
BLOCK = 1_024
# Cosines are compared at this many decimals, as rankings are.
DECIMALS = 6

POINTS = {
    **dict.fromkeys(("memory", "layer", "kind", "owner", "text"), pl.String),
    **dict.fromkeys(("x", "y"), pl.Float64),
}
PAIRS = {
    "cosine": pl.Float64,
    **dict.fromkeys(("owner", "memory", "text", "other", "other_text"), pl.String),
}


class MemoryMap(NamedTuple):
    """`points` has `memory, layer, kind, owner, text, x, y`. `shares` are the parts of the
    episodic vectors' variance along x and y, `dim` the number of directions in all. `drawn` of
    `total` episodic memories are there: a seeded sample where there are too many."""

    points: pl.DataFrame
    shares: tuple[float, float]
    dim: int
    drawn: int
    total: int


class LookAlikes(NamedTuple):
    """`pairs` has `cosine, owner, memory, text, other, other_text`, the most alike first;
    `found` pairs in all, among `compared` of `total` memories."""

    pairs: pl.DataFrame
    found: int
    compared: int
    total: int


def memory_map(
    banks: BankSet, scope: str, user: str | None = None, most: int = MOST_POINTS, seed: int = 0
) -> MemoryMap:
    """The memories of a scope, or of one person of it, in two dimensions.

    The axes are the principal components of the episodic memories that are drawn; semantic
    memories and facts of profiles (not centred anew) are laid over them. Fewer than three episodic
    memories give no map: then there are no points. Raises UsageError for an unknown scope.
    """
    layers = _vectors(banks, scope)
    own = {
        layer: [row for row, memory in enumerate(memories) if user in (None, memory.owner)]
        for layer, (memories, _) in layers.items()
    }
    total = len(own["episodic"])
    rows = {layer: _sample(kept, most, seed) for layer, kept in own.items()}
    fitted = layers["episodic"][1][rows["episodic"]].astype(np.float64)
    if total < 3:
        return MemoryMap(pl.DataFrame(schema=POINTS), (0.0, 0.0), banks.embedder.dim, 0, total)
    mean = fitted.mean(axis=0)
    directions, shares = _principal(fitted - mean)
    points = [
        _points(layer, [memories[row] for row in rows[layer]], places)
        for layer, (memories, vectors) in layers.items()
        for places in [(vectors[rows[layer]] - mean) @ directions.T]
    ]
    return MemoryMap(pl.concat(points), shares, banks.embedder.dim, len(fitted), total)


def neighbours(banks: BankSet, scope: str, memory_id: str, n: int = 5) -> pl.DataFrame:
    """The `n` episodic memories most like a memory of any layer, by the cosine of whole vectors.

    `rank, cosine, memory, owner, session, time, text, sources`; the memory itself is left out.
    Raises UsageError where the scope has no such memory.
    """
    bank = banks.episodic.get(scope)
    vector = _vector_of(banks, scope, memory_id)
    near = bank.search(vector, n + 1, scope=scope) if bank is not None else []
    others = [(memory, cosine) for memory, cosine in near if memory.id != memory_id][:n]
    return pl.DataFrame(
        [
            {
                "rank": rank,
                "cosine": cosine,
                "memory": memory.id,
                "owner": memory.owner,
                "session": memory.session,
                "time": memory.time.replace(tzinfo=None) if memory.time else None,
                "text": memory.text,
                "sources": list(memory.sources),
            }
            for rank, (memory, cosine) in enumerate(others, start=1)
        ],
        schema={
            "rank": pl.Int64,
            "cosine": pl.Float64,
            **dict.fromkeys(("memory", "owner", "session"), pl.String),
            "time": pl.Datetime,
            "text": pl.String,
            "sources": pl.List(pl.String),
        },
    )


def near_duplicates(
    banks: BankSet,
    scope: str,
    alike: float = 0.95,
    most: int = MOST_COMPARED,
    seed: int = 0,
) -> LookAlikes:
    """Pairs of episodic memories of one person whose cosine is `alike` or more, in other words.

    Of those in the same words one stands for all (`memory_quality.duplicates` has them). At most
    500 pairs are listed, all are counted. Beyond `most` memories a seeded sample is compared.
    """
    memories, vectors = _vectors(banks, scope)["episodic"]
    first: dict[tuple[str, str], int] = {}
    for row, memory in enumerate(memories):
        first.setdefault((memory.owner, " ".join(memory.text.lower().split())), row)
    rows = _sample(sorted(first.values()), most, seed)
    found = sorted(_pairs(vectors[rows], [memories[row].owner for row in rows], alike))
    flat = [
        (-cosine, memories[one].owner, *_told(memories[one]), *_told(memories[other]))
        for cosine, near, far in found[:MOST_PAIRS]
        for one, other in [(rows[near], rows[far])]
    ]
    pairs = pl.DataFrame(flat, schema=PAIRS, orient="row")
    return LookAlikes(pairs, len(found), len(rows), len(first))


def _vectors(banks: BankSet, scope: str) -> dict[str, tuple[Sequence[Memory], Vectors]]:
    """Memories and vectors (n, d) by layer."""
    dialogues_of(banks.dataset, scope)
    empty = Bank(scope, (), np.empty((0, banks.embedder.dim), np.float32), "")
    banked = {"episodic": banks.episodic, "semantic": banks.semantic}
    found: dict[str, tuple[Sequence[Memory], Vectors]] = {}
    for layer, of in banked.items():
        bank = of.get(scope, empty)
        found[layer] = (bank.memories, bank.vectors)
    people = banks.people.get(scope, {}).values()
    facts = [fact for person in people for fact in person.profile.facts]
    rows = [person.facts for person in people if len(person.facts)]
    found["profile"] = (facts, np.concatenate(rows) if rows else empty.vectors)
    return found


def _vector_of(banks: BankSet, scope: str, memory_id: str) -> npt.NDArray[np.float32]:
    for memories, vectors in _vectors(banks, scope).values():
        for row, memory in enumerate(memories):
            if memory.id == memory_id:
                return vectors[row]
    raise UsageError(f"{scope} has no memory {memory_id!r}")


def _sample(rows: Sequence[int], most: int, seed: int) -> list[int]:
    """All rows, or a seeded sample of them in the same order."""
    if len(rows) <= most:
        return list(rows)
    drawn = np.random.default_rng(seed).choice(len(rows), most, replace=False)
    return [rows[place] for place in np.sort(drawn)]


def _principal(
    rows: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], tuple[float, float]]:
    """The first two principal directions (2, d) of centred rows, and their shares of the variance.

    A direction's sign is free: here its largest coordinate is positive.
    """
    _, strengths, directions = np.linalg.svd(rows, full_matrices=False)
    two = directions[:2]
    largest = np.take_along_axis(two, np.abs(two).argmax(axis=1)[:, None], axis=1)
    variance = strengths**2 / max(float((strengths**2).sum()), 1e-12)
    return two * np.where(largest < 0, -1.0, 1.0), (float(variance[0]), float(variance[1]))


def _points(
    layer: str, memories: Sequence[Memory], places: npt.NDArray[np.float64]
) -> pl.DataFrame:
    told = [(m.id, layer, m.kind, m.owner, m.text) for m in memories]
    rows = [(*one, float(x), float(y)) for one, (x, y) in zip(told, places, strict=True)]
    return pl.DataFrame(rows, schema=POINTS, orient="row")


def _pairs(vectors: Vectors, owners: Sequence[str], alike: float) -> list[tuple[float, int, int]]:
    """(−cosine, row, later row) of every pair of one owner's that is alike, block by block."""
    numbers = np.unique(np.asarray(owners, dtype=object).astype(str), return_inverse=True)[1]
    found: list[tuple[float, int, int]] = []
    for start in range(0, len(vectors), BLOCK):
        stop = start + BLOCK
        cosines = np.round(vectors[start:stop] @ vectors[start:].T, DECIMALS)
        same = numbers[start:stop, None] == numbers[None, start:]
        ones, others = np.nonzero(np.triu((cosines >= alike) & same, k=1))
        values = cosines[ones, others]
        found += [
            (-float(value), int(one) + start, int(other) + start)
            for value, one, other in zip(values, ones, others, strict=True)
        ]
    return found


def _told(memory: Memory) -> tuple[str, str]:
    return memory.id, memory.text
