"""Semantic memories: clusters of similar memories of one person, each as one statement.

Clusters are those of complete linkage: every two members are at least `threshold` alike. Single
linkage (connected components) would chain statements that share nothing over many small steps, and
with average linkage the threshold would promise nothing about any pair. Complete-linkage clusters
never reach across the components of the graph of similar pairs, so components are found block by
block first, and only within one are all pairs compared: n x n is never built for a large n.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform

from workbench.errors import DataError
from workbench.schema import Dimensions, Memory, digest_of

__all__ = ["aggregate"]

T = TypeVar("T")
Vectors = NDArray[np.float32]
Places = NDArray[np.intp]

BLOCK = 512  # rows compared with all others at a time
LARGEST = 4096  # members up to which all pairs of a component are compared (about 130 MB)
NEARLY_ONE = 0.99995  # beyond it unit float32 rows cannot be told apart
UNIT_TOLERANCE = 1e-3


def aggregate(
    memories: Sequence[Memory], vectors: Vectors, threshold: float = 0.85
) -> tuple[Memory, ...]:
    """One memory for each cluster of two or more memories, in order of their latest time and id.

    `vectors` are the memories' unit float32 rows (n, d). Only memories of the same owner and scope
    are clustered. The statement is the text of the member nearest to all others (ties by id): a
    model would write a new one. Sources are united in reading order; owner, subject, role, session
    and dimensions stay where all members agree; the time is the latest. The result does not depend
    on the order of the input, and of memories with one id only the first counts.

    A component of more than 4,096 that are not all alike is first cut at stricter thresholds, so
    two of its clusters may be alike enough to be one. Raises DataError for rows that are not
    finite, not of unit length or not one for each memory.
    """
    _check(memories, vectors)
    first_places: dict[str, int] = {}
    for place, memory in enumerate(memories):
        first_places.setdefault(memory.id, place)
    people: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for _, place in sorted(first_places.items()):
        people[memories[place].scope, memories[place].owner].append(place)
    made = []
    for places in people.values():
        rows = vectors[places]
        for cluster in _clusters(rows, threshold):
            members = [memories[places[row]] for row in cluster]
            made.append(_statement(members, rows[cluster]))
    return tuple(sorted(made, key=lambda memory: (memory.time or datetime.min, memory.id)))


def _check(memories: Sequence[Memory], vectors: Vectors) -> None:
    if vectors.ndim != 2 or len(vectors) != len(memories):
        raise DataError(
            f"{len(memories)} memories need as many rows of vectors; got shape {vectors.shape}"
        )
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = np.flatnonzero(~(np.abs(lengths - 1) <= UNIT_TOLERANCE))  # NaN compares false
    if len(wrong):
        raise DataError(
            f"the vector of memory {memories[wrong[0]].id} has length {lengths[wrong[0]]}, not 1; "
            "embed it again (blank memories are not embedded)"
        )


def _clusters(rows: Vectors, threshold: float) -> Iterator[Places]:
    """Complete-linkage clusters of two or more rows."""
    for piece in _pieces(rows, np.arange(len(rows)), threshold):
        if _all_alike(rows[piece], threshold):
            yield piece
        else:
            yield from _complete_linkage(rows, piece, threshold)


def _all_alike(rows: Vectors, threshold: float) -> bool:
    """Whether all lie within half the threshold's angle of their centroid: then every pair is at
    least `threshold` alike, and complete linkage would end in one cluster."""
    centroid = rows.sum(axis=0, dtype=np.float64)
    cosines = rows @ (centroid / max(float(np.linalg.norm(centroid)), 1e-12))
    return bool(cosines.min(initial=1.0) >= np.cos(np.arccos(threshold) / 2))


def _pieces(rows: Vectors, places: Places, threshold: float) -> Iterator[Places]:
    """Components of two or more rows: all alike, or few enough for all pairs to be compared."""
    if len(places) > 1 and _all_alike(rows[places], threshold):
        yield places
        return
    labels = _components(rows[places], threshold)
    for label in np.unique(labels):
        piece = places[labels == label]
        if len(piece) <= LARGEST:
            if len(piece) > 1:
                yield piece
        elif threshold < NEARLY_ONE:
            yield from _pieces(rows, piece, (1 + threshold) / 2)
        else:
            yield from np.array_split(piece, -(-len(piece) // LARGEST))


def _components(rows: Vectors, threshold: float) -> Places:
    """A component number for each row of the graph of pairs with a cosine of `threshold` or more.

    Only the components so far and the pairs of one block are held at a time.
    """
    n = len(rows)
    labels: Places = np.arange(n)
    for start in range(0, n, BLOCK):
        near, far = np.nonzero(rows[start : start + BLOCK] @ rows[start:].T >= threshold)
        representative = np.full(n, n)
        np.minimum.at(representative, labels, np.arange(n))
        ends = (
            np.concatenate([near + start, np.arange(n)]),
            np.concatenate([far + start, representative[labels]]),
        )
        ones = np.ones(len(ends[0]), dtype=np.int8)
        graph = csr_array((ones, ends), shape=(n, n))
        labels = connected_components(graph, directed=False)[1].astype(np.intp)
    return labels


def _complete_linkage(rows: Vectors, piece: Places, threshold: float) -> Iterator[Places]:
    """Clusters of two or more within one component."""
    distances = np.clip(1 - rows[piece] @ rows[piece].T, 0, 2)
    np.fill_diagonal(distances, 0)
    # The product's two halves may differ in the last digit.
    pairs = squareform((distances + distances.T) / 2, checks=False)
    labels = fcluster(linkage(pairs, "complete"), 1 - threshold + 1e-6, criterion="distance")
    for label in np.unique(labels):
        cluster = piece[labels == label]
        if len(cluster) > 1:
            yield cluster


def _statement(members: list[Memory], rows: Vectors) -> Memory:
    """One memory for a cluster; `members` come in the order of their ids, `rows` beside them."""
    centrality = np.round(rows @ rows.sum(axis=0, dtype=np.float64), 5)
    central = members[int(np.argmax(centrality))]
    reading = sorted(members, key=_reading_key)
    times = [memory.time for memory in members if memory.time]
    return msgspec.structs.replace(
        central,
        id="s:" + digest_of([memory.id for memory in members]),
        kind="semantic",
        sources=tuple(dict.fromkeys(chain.from_iterable(memory.sources for memory in reading))),
        subject=_agreed([memory.subject for memory in members], ""),
        session=_agreed([memory.session for memory in members], ""),
        time=max(times, default=None),
        dimensions=Dimensions(
            tense=_agreed([memory.dimensions.tense for memory in members], "unknown"),
            subjectivity=_agreed([m.dimensions.subjectivity for m in members], "unknown"),
            certainty=_agreed([memory.dimensions.certainty for memory in members], "unknown"),
        ),
    )


def _agreed(values: Sequence[T], otherwise: T) -> T:
    return values[0] if len(set(values)) == 1 else otherwise


def _reading_key(memory: Memory) -> tuple[datetime, list[tuple[int, str]], str]:
    """Time, then source ids with their numbers as numbers: D2:9 before D2:10."""
    pieces = re.findall(r"\d+|\D+", memory.sources[0])
    numbered = [(int(p), "") if p.isdigit() else (-1, p) for p in pieces]
    return memory.time or datetime.min, numbered, memory.id
