"""Cost of one query against the size of a bank, exact and approximate, without encoding.

Random unit vectors (384 columns), clustered like dialogue is (64 topics), a profile prior, K = 25.
`whole` is everything that `retrieve` does. The rival is the product and sort that one would write
with NumPy. For the graph index: the time to build it, and its recall@25 against exact.
    python tests/bench/bench_search.py [LARGEST]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from common import row

from workbench.bank import Bank
from workbench.retrieve import retrieve
from workbench.schema import Memory, Profile, Recipe
from workbench.shelf import ProfileVectors, Query, Shelf

WIDTH, QUERIES = 384, 40


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def make_shelf(n: int, rng: np.random.Generator) -> Shelf:
    topics = unit(rng.standard_normal((64, WIDTH), dtype=np.float32))
    noise = rng.standard_normal((n, WIDTH), dtype=np.float32) / np.sqrt(WIDTH)
    rows = unit(topics[rng.integers(64, size=n)] + noise)
    memories = tuple(
        Memory(id=f"{i:07d}", scope="s", kind="turn", text=f"note {i}", sources=(str(i),))
        for i in range(n)
    )
    profile = ProfileVectors(Profile(scope="s", person="Ana"), rows[:8], unit(rows[0] + rows[1]))
    empty = Bank("s", (), np.empty((0, WIDTH), np.float32), "fp")
    return Shelf("s", Bank("s", memories, rows, "fp"), empty, people={"Ana": profile})


def percentiles(work: Callable[[int], object]) -> str:
    spent = []
    for turn in range(QUERIES):
        began = time.perf_counter()
        work(turn)
        spent.append(1000 * (time.perf_counter() - began))
    return f"{np.percentile(spent, 50):.2f} / {np.percentile(spent, 95):.2f}"


def by_hand(shelf: Shelf, vector: np.ndarray) -> np.ndarray:
    mixed = unit(0.8 * vector + 0.2 * shelf.people["Ana"].text)
    return np.argsort(-(shelf.bank.vectors @ mixed))[:25]


def measure(n: int) -> None:
    rng = np.random.default_rng(0)
    shelf = make_shelf(n, rng)
    picked = shelf.bank.vectors[rng.integers(n, size=QUERIES)]
    noise = rng.standard_normal((QUERIES, WIDTH), dtype=np.float32) / np.sqrt(WIDTH)
    vectors = unit(picked + noise)
    queries = [Query("note", vector, ("Ana",)) for vector in vectors]
    exact, near = Recipe(k=25), Recipe(k=25, retriever="approximate")
    retrieve(shelf, queries[0], exact)
    whole = percentiles(lambda turn: retrieve(shelf, queries[turn], exact))
    rival = percentiles(lambda turn: by_hand(shelf, vectors[turn]))
    began = time.perf_counter()
    assert len(shelf.bank.graph) == n
    built = time.perf_counter() - began
    graph = percentiles(lambda turn: retrieve(shelf, queries[turn], near))
    shares = [
        len(
            {h.memory.id for h in retrieve(shelf, query, exact)}
            & {h.memory.id for h in retrieve(shelf, query, near)}
        )
        / 25
        for query in queries
    ]
    row(f"{n:,}", whole, rival, graph, f"{np.mean(shares):.3f}", f"{built:.1f} s")


def main(largest: int) -> None:
    print("milliseconds a query, p50 / p95")
    row("memories", "exact", "by hand", "graph", "its recall", "graph built")
    for n in (1_000, 10_000, 100_000, 1_000_000):
        if n <= largest:
            measure(n)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
