"""Small shelves with vectors by hand, for tests of ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.bank import Bank
from workbench.schema import Memory, Profile
from workbench.shelf import ProfileVectors, Query, Shelf

Vectors = npt.NDArray[np.float32]


def unit(rows: Any) -> Vectors:
    array = np.asarray(rows, np.float32)
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


def memory(id: str, text: str = "", **given: Any) -> Memory:
    given = {"scope": "s", "kind": "turn", "sources": (id,), "owner": "Ana", **given}
    return Memory(id=id, text=text or f"text of {id}", **given)


def bank(rows: Any, ids: Sequence[str] | None = None, **given: Any) -> Bank:
    vectors = unit(rows)
    names = ids or [f"m{i}" for i in range(len(vectors))]
    return Bank.build("s", [memory(name, **given) for name in names], vectors, "fp")


def random_shelf(n: int = 60, width: int = 16, seed: int = 0) -> Shelf:
    """A scope of two people with profiles, one stranger, and random unit vectors."""
    rng = np.random.default_rng(seed)
    rows = unit(rng.standard_normal((n, width)))
    memories = [
        memory(
            f"m{i:03d}",
            f"word{i % 7} word{i % 5} note{i}",
            owner="Ana" if i % 2 else "Bo",
            session=str(i // 10),
            place=i % 10,
        )
        for i in range(n)
    ]
    built = Bank.build("s", memories, rows, "fp")

    def person(name: str, scope: str = "s") -> ProfileVectors:
        facts = unit(rng.standard_normal((4, width)))
        known = tuple(memory(f"{name}{i}", f"{name} fact {i}", kind="fact") for i in range(4))
        return ProfileVectors(
            Profile(scope=scope, person=name, facts=known),
            facts,
            unit(rng.standard_normal(width)),
        )

    return Shelf(
        scope="s",
        bank=built,
        semantic=bank(
            rng.standard_normal((5, width)), [f"s{i}" for i in range(5)], sources=("m050",)
        ),
        sources={"turns": built},
        people={"Ana": person("Ana"), "Bo": person("Bo")},
        strangers=(person("Cy", "other"),),
        positions={m.id: i for i, m in enumerate(memories)},
    )


def query(shelf: Shelf, seed: int = 1, **given: Any) -> Query:
    vector = unit(np.random.default_rng(seed).standard_normal(shelf.bank.vectors.shape[1]))
    return Query("word1 word2 note3", vector, **{"people": ("Ana",), **given})
