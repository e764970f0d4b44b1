"""Clusters: hand-made vectors whose cosines are known from their angles."""

from __future__ import annotations

import math
from datetime import datetime
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import DataError
from workbench.memory.semantic import aggregate
from workbench.schema import Dimensions, Memory


def memory(id: str, owner: str = "Ana", subject: str = "Ana", day: int = 1) -> Memory:
    return Memory(
        id=id,
        scope="d",
        kind="fact",
        text=f"text {id}",
        sources=(f"D{day}:{id}",),
        owner=owner,
        subject=subject,
        time=datetime(2023, 5, day),
        dimensions=Dimensions(tense="past", certainty="certain"),
    )


def at(*degrees: float) -> np.ndarray:
    """Unit rows in the plane: the cosine of two is that of the angle between them."""
    angles = np.radians(np.array(degrees))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_a_cluster_is_one_statement_with_all_sources() -> None:
    # cos 20 degrees = 0.94: the pair farthest apart passes; 90 degrees is alone
    members = [memory("3", day=2), memory("10", day=1), memory("9", day=1), memory("4")]
    (made,) = aggregate(members, at(0, 10, 20, 110))
    assert made.text == "text 10"
    assert made.sources == ("D1:9", "D1:10", "D2:3")
    assert (made.owner, made.subject, made.kind) == ("Ana", "Ana", "semantic")
    assert made.time == datetime(2023, 5, 2)
    assert made.dimensions == Dimensions(tense="past", certainty="certain")


def test_similarity_is_not_chained() -> None:
    # neighbours at 25 degrees (cos .906) pass .85, the ends at 75 degrees (cos .26) do not
    made = aggregate([memory(str(n)) for n in range(4)], at(0, 25, 50, 75))
    assert [len(m.sources) for m in made] == [2, 2]


def test_only_the_same_owners_memories_are_clustered() -> None:
    assert aggregate([memory("1"), memory("2", owner="Bo")], at(0, 0)) == ()


def test_subject_and_dimensions_need_agreement() -> None:
    other = Memory(
        id="2", scope="d", kind="fact", text="x", sources=("D1:2",), owner="Ana", subject="Jo",
        dimensions=Dimensions(tense="present", certainty="certain"),
    )  # fmt: skip
    (made,) = aggregate([memory("1"), other], at(0, 1))
    assert made.subject == ""
    assert made.dimensions == Dimensions(certainty="certain")


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_to_cluster(n: int) -> None:
    assert aggregate([memory("1")] * n, np.ones((n, 1), dtype=np.float32)) == ()


def test_one_memory_given_twice_is_no_cluster() -> None:
    assert aggregate([memory("1"), memory("1")], at(0, 0)) == ()


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, 2.0])
def test_rows_that_are_no_unit_vectors_are_refused(bad: float) -> None:
    vectors = at(0, 10)
    vectors[1] = (bad, 0)
    with pytest.raises(DataError, match="memory 2"):
        aggregate([memory("1"), memory("2")], vectors)


def test_a_row_for_each_memory() -> None:
    with pytest.raises(DataError, match="1 memories"):
        aggregate([memory("1")], at(0, 10))


@given(st.lists(st.floats(0, 360), min_size=2, max_size=12), st.randoms())
def test_order_does_not_matter_and_all_pairs_pass(degrees: list[float], random: Random) -> None:
    members = [memory(str(n)) for n in range(len(degrees))]
    vectors = at(*degrees)
    order = list(range(len(degrees)))
    random.shuffle(order)
    made = aggregate(members, vectors)
    assert made == aggregate([members[n] for n in order], vectors[order])
    for cluster in made:
        rows = vectors[[int(source.split(":")[1]) for source in cluster.sources]]
        assert (rows @ rows.T).min() >= 0.85 - 1e-5


def test_thousands_of_like_memories_are_one_cluster() -> None:
    members = [memory(f"{n:05}") for n in range(6000)]
    (made,) = aggregate(members, at(*np.linspace(0, 10, 6000)))
    assert len(made.sources) == 6000


def test_many_groups_far_apart() -> None:
    # six groups, each 3 degrees wide, every 60 degrees: all pairs within pass, none across
    angles = [60 * (n % 6) + n / 400 for n in range(1200)]
    made = aggregate([memory(f"{n:04}") for n in range(1200)], at(*angles))
    assert [len(m.sources) for m in made] == [200] * 6
