"""Banks: exactness, ties, streaming, deletion, scope, refusals, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooms import bank, memory, unit
from workbench.bank import Bank, bank_files, load_banks, rank_rows
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.workspace import Workspace

RNG = np.random.default_rng(0)


def test_search_ranks_by_cosine() -> None:
    built = bank([[1, 0], [0, 1], [1, 1], [-1, 0]], ["east", "north", "between", "west"])
    found = built.search(unit([1, 0.1]), 4, scope="s")
    assert [m.id for m, _ in found] == ["east", "between", "north", "west"]
    # cos((1, .1), (1, 0)) = 1 / sqrt(1.01)
    assert found[0][1] == pytest.approx(0.995037, abs=1e-6)


def test_a_search_without_the_right_scope_is_impossible() -> None:
    built = bank([[1, 0]])
    with pytest.raises(TypeError):
        built.search(unit([1, 0]), 1)  # type: ignore[call-arg]
    for scope in ("", "t", "S"):
        with pytest.raises(UsageError, match="asked for"):
            built.search(unit([1, 0]), 1, scope=scope)


@settings(deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.integers(1, 45))
def test_ranking_equals_a_stable_sort(scores: list[int], k: int) -> None:
    found = list(rank_rows(np.asarray(scores, float), k))
    expected = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:k]
    assert found == expected


def test_noise_in_the_last_digits_does_not_reorder_equal_scores() -> None:
    scores = np.asarray([0.5, 0.5 + 2e-7, 0.5 - 2e-7, 0.9])
    assert list(rank_rows(scores, 4)) == [3, 0, 1, 2]


def test_rows_that_are_not_allowed_are_never_returned_even_where_k_is_larger() -> None:
    scores = np.asarray([0.9, 0.8, 0.7])
    assert list(rank_rows(scores, 5, np.asarray([False, True, True]))) == [1, 2]
    assert list(rank_rows(scores, 0)) == []


def test_ties_break_by_id_whatever_the_order_of_arrival() -> None:
    forwards = bank([[1, 0], [1, 0], [1, 0]], ["c", "a", "b"])
    backwards = bank([[1, 0], [1, 0], [1, 0]], ["b", "a", "c"])
    for built in (forwards, backwards):
        assert [m.id for m, _ in built.search(unit([1, 0]), 2, scope="s")] == ["a", "b"]


def test_adding_sessions_one_by_one_equals_a_rebuild() -> None:
    rows = unit(RNG.standard_normal((30, 8)))
    memories = [memory(f"D{i % 3}:{i}") for i in range(30)]
    whole = Bank.build("s", memories, rows, "fp")
    grown = Bank.build("s", memories[:10], rows[:10], "fp")
    for start in (10, 20):
        grown = grown.add(memories[start : start + 10], rows[start : start + 10])
    assert grown.memories == whole.memories
    assert np.array_equal(grown.vectors, whole.vectors)


def test_a_deleted_memory_frees_its_place_and_can_return_with_other_text() -> None:
    built = bank([[1, 0], [0.9, 0.1]], ["m1", "m2"])
    left = built.without({"m1"})
    assert [m.id for m, _ in left.search(unit([1, 0]), 1, scope="s")] == ["m2"]
    assert "m1" not in left.rows
    back = left.add([memory("m1", "other text")], unit([[0, 1]]))
    found = {m.id: score for m, score in back.search(unit([1, 0]), 2, scope="s")}
    assert found["m1"] == pytest.approx(0, abs=1e-6)
    assert back.memories[back.rows["m1"]].text == "other text"


def test_adding_an_id_that_is_there_replaces_it() -> None:
    built = bank([[1, 0], [0, 1]], ["a", "b"]).add([memory("a", "new")], unit([[0, 1]]))
    assert len(built) == 2
    assert built.memories[built.rows["a"]].text == "new"


def test_duplicated_sources_with_one_text_collapse() -> None:
    twins = [memory("a", "same", sources=("t1",)), memory("b", "same", sources=("t1",))]
    other = memory("c", "same", sources=("t2",))
    built = Bank.build("s", [*twins, other], unit([[1, 0]] * 3), "fp")
    assert [m.id for m in built.memories] == ["a", "c"]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_vectors_that_are_not_finite_are_refused(bad: float) -> None:
    rows = np.asarray([[1, 0], [bad, 1]], np.float32)
    with pytest.raises(DataError, match="finite"):
        Bank.build("s", [memory("a"), memory("b")], rows, "fp")


def test_zero_vectors_and_wrong_shapes_are_refused() -> None:
    with pytest.raises(DataError, match="unit length"):
        Bank.build("s", [memory("a")], np.zeros((1, 4), np.float32), "fp")
    with pytest.raises(DataError, match="2 memories"):
        Bank.build("s", [memory("a"), memory("b")], unit([[1, 0]]), "fp")
    with pytest.raises(DataError, match="belongs to 't'"):
        Bank.build("s", [memory("a", scope="t")], unit([[1, 0]]), "fp")


def test_empty_and_tiny_banks_behave() -> None:
    empty = Bank.build("s", [], np.empty((0, 4), np.float32), "fp")
    assert empty.search(unit([1, 0, 0, 0]), 5, scope="s") == []
    assert len(empty.nearby(unit([1, 0, 0, 0]), 5)) == 0
    one = bank([[1, 0, 0, 0]])
    assert [m.id for m, _ in one.search(unit([0, 1, 0, 0]), 5, scope="s")] == ["m0"]
    assert list(one.nearby(unit([0, 1, 0, 0]), 5)) == [0]


def test_a_vector_s_cosines_do_not_depend_on_what_else_is_asked() -> None:
    built = bank(RNG.standard_normal((5000, 32)), [f"{i:04d}" for i in range(5000)])
    first, second = unit(RNG.standard_normal((2, 32)))
    assert np.array_equal(built.cosines(first, second)[0], built.cosines(first)[0])
    expected = built.vectors.astype(np.float64) @ first.astype(np.float64)
    assert np.allclose(built.cosines(first)[0], expected, atol=1e-6)


def test_the_graph_finds_most_of_the_exact_neighbours() -> None:
    built = bank(RNG.standard_normal((3000, 32)), [f"{i:04d}" for i in range(3000)])
    shares = []
    for vector in unit(RNG.standard_normal((20, 32))):
        exact = set(rank_rows(built.cosines(vector)[0], 10))
        shares.append(len(exact & set(built.nearby(vector, 100))) / 10)
    assert np.mean(shares) > 0.9


def test_banks_come_back_from_their_files_and_a_missing_row_is_noticed(
    workspace: Workspace,
) -> None:
    first = bank([[1, 0], [0, 1]], ["a", "b"])
    second = Bank.build("t", [memory("c", scope="t")], unit([[1, 1]]), "fp")
    folder = workspace.publish("banks", "x", bank_files([first, second], "episodic"), {})
    loaded = load_banks(folder, "episodic", "fp")
    assert list(loaded) == ["s", "t"]
    assert loaded["s"].memories == first.memories
    assert np.array_equal(loaded["t"].vectors, second.vectors)
    lines = (folder / "episodic.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "episodic.jsonl").write_bytes(b"".join(lines[:2]))
    with pytest.raises(WorkspaceError, match="2 memories but 3 vectors"):
        load_banks(folder, "episodic", "fp")


def test_a_pickle_dressed_as_vectors_is_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "episodic.npy", np.asarray([{"run": "me"}], object), allow_pickle=True)
    (tmp_path / "episodic.jsonl").write_text("")
    with pytest.raises(ValueError, match="allow_pickle"):
        load_banks(tmp_path, "episodic", "fp")
