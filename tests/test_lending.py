"""What memories are lent, centring, and presets."""

from __future__ import annotations

from dataclasses import replace as with_fields

import numpy as np
import pytest
from msgspec.structs import replace

from rooms import bank, memory, query, random_shelf, unit
from workbench.bank import Bank
from workbench.errors import UsageError
from workbench.presets import PRESETS, preset
from workbench.retrieve import retrieve, score
from workbench.schema import Recipe
from workbench.shelf import Query, Shelf

PLAIN = Recipe(retriever="dense", prior="none", lam=1.0, k=60)


def session(*cosines: float) -> Shelf:
    """One session; memory i has this cosine with (1, 0)."""
    rows = [[c, np.sqrt(1 - c * c)] for c in cosines]
    memories = [memory(f"m{i}", session="1", place=i) for i in range(len(cosines))]
    built = Bank.build("s", memories, np.asarray(rows, np.float32), "fp")
    return Shelf("s", built, bank([[1, 0]]), positions={m.id: i for i, m in enumerate(memories)})


def test_neighbours_one_and_two_turns_away_by_hand() -> None:
    shelf = session(0.8, 0.0, 0.6, 0.2)
    recipe = replace(PLAIN, neighbours=0.5, neighbours_far=0.1)
    found = score(shelf, Query("q", unit([1, 0])), recipe).parts["neighbours"]
    # m0: .5 * m1 + .1 * m2; m1: .5 * (m0 + m2) + .1 * m3; m2: .5 * (m1 + m3) + .1 * m0; ...
    expected = [0.06, 0.7 + 0.02, 0.1 + 0.08, 0.3 + 0.0]
    assert found == pytest.approx(expected, abs=1e-6)


def test_the_future_lends_nothing() -> None:
    shelf = session(0.1, 0.2, 0.9)
    asked = Query("q", unit([1, 0]), until="m1")
    found = score(shelf.as_of("m1"), asked, replace(PLAIN, neighbours=0.5)).parts["neighbours"]
    assert len(found) == 2
    assert found[1] == pytest.approx(0.05, abs=1e-6)


def test_a_speaker_of_the_question_gains_the_weight() -> None:
    shelf = random_shelf()
    found = score(shelf, query(shelf, people=("Bo",)), replace(PLAIN, speaker=0.7)).parts["speaker"]
    assert [part > 0 for part in found] == [m.owner == "Bo" for m in shelf.bank.memories]
    assert found.max() == pytest.approx(0.7)


def test_observations_lend_to_their_turns_only() -> None:
    shelf = random_shelf(20)
    facts = [
        memory("o1", "kayak trip", kind="observation", sources=("m003", "m004")),
        memory("o2", "tea", kind="observation", sources=("m010",)),
    ]
    lenders = Bank.build("s", facts, unit(np.eye(2, 16)), "fp")
    shelf = with_fields(shelf, sources={**shelf.sources, "observations": lenders})
    asked = Query("the kayak", unit(np.eye(1, 16)[0]), ("Ana",))
    found = score(shelf, asked, replace(PLAIN, lend=0.5)).parts["lent"]
    assert found[3] == found[4] == found.max()
    assert found[10] == found[0] == found.min()  # o2 has the least score, like having none
    assert found.max() > found.min()


def test_lending_from_what_is_not_there_is_refused_by_name() -> None:
    shelf = random_shelf()
    with pytest.raises(UsageError, match=r"no 'observations'.*turns"):
        score(shelf, query(shelf), replace(PLAIN, lend=0.5))


def test_centring_takes_the_mean_off_memories_and_question() -> None:
    shelf = random_shelf()
    asked = query(shelf)
    assert asked.vector is not None
    mean = shelf.bank.vectors.mean(axis=0)
    rows, vector = shelf.bank.vectors - mean, asked.vector - mean
    expected = rows @ vector / np.linalg.norm(rows, axis=1) / np.linalg.norm(vector)
    found = score(shelf, asked, replace(PLAIN, centred=True)).total
    assert np.allclose(found, expected, atol=1e-5)


def test_parts_still_add_up_with_everything_lent() -> None:
    shelf = random_shelf()
    shelf = with_fields(shelf, sources={**shelf.sources, "observations": shelf.bank})
    for hit in retrieve(shelf, query(shelf), preset("locomo-observations")):
        assert set(hit.parts) == {"query", "lexical", "speaker", "lent", "neighbours"}
        assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=1e-9)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_ranks(name: str) -> None:
    shelf = random_shelf()
    shelf = with_fields(shelf, sources={**shelf.sources, "observations": shelf.bank})
    assert len(retrieve(shelf, query(shelf), preset(name))) >= 25


def test_an_unknown_preset_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="locomo-turns"):
        preset("best")
