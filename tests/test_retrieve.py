"""Rankings: end weights, parts, thresholds, independence of questions, neighbours, layers."""

from __future__ import annotations

import math
from dataclasses import replace as with_fields

import numpy as np
import pytest
from msgspec.structs import replace

from rooms import bank, memory, query, random_shelf, unit
from workbench.bank import Bank
from workbench.errors import UsageError
from workbench.retrieve import RETRIEVERS, retrieve, score
from workbench.schema import Dimensions, Recipe
from workbench.shelf import Query, Shelf

PLAIN = Recipe(retriever="dense", prior="none", lam=1.0, k=60, boost=0.0)


def ids(shelf: Shelf, asked: Query, recipe: Recipe) -> list[str]:
    return [hit.memory.id for hit in retrieve(shelf, asked, recipe)]


@pytest.mark.parametrize("name", RETRIEVERS)
def test_at_most_k_hits_without_duplicates_and_the_same_each_time(name: str) -> None:
    shelf = random_shelf()
    recipe = Recipe(retriever=name, k=7, k_semantic=3)
    hits = retrieve(shelf, query(shelf), recipe)
    assert len(hits) == (10 if name == "ppro" else 7)
    assert len({hit.memory.id for hit in hits}) == len(hits)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    assert hits == retrieve(random_shelf(), query(shelf), recipe)


@pytest.mark.parametrize("name", RETRIEVERS)
@pytest.mark.parametrize("prior", ["none", "profile", "facts"])
def test_parts_add_up_to_the_score(name: str, prior: str) -> None:
    shelf = random_shelf()
    recipe = Recipe(retriever=name, prior=prior, lam=0.7, neighbours=0.3)
    for hit in retrieve(shelf, query(shelf), recipe):
        assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=1e-9)
        assert hit.raw


@pytest.mark.parametrize("prior", ["profile", "facts", "centroid:turns", "speaker", "random"])
def test_lambda_1_is_plain_dense_retrieval_to_the_last_bit(prior: str) -> None:
    shelf = random_shelf()
    for seed in range(5):
        asked = query(shelf, seed)
        exact = shelf.bank.cosines(asked.vector)[0]
        for retriever in ("dense", "ppro"):
            recipe = replace(PLAIN, retriever=retriever, prior=prior)
            assert np.array_equal(score(shelf, asked, recipe).total, exact)


def test_lambda_0_is_the_pure_prior() -> None:
    shelf = random_shelf()
    prior = shelf.people["Ana"].text
    assert prior is not None
    for retriever in ("dense", "ppro"):
        recipe = replace(PLAIN, retriever=retriever, prior="profile", lam=0.0)
        found = score(shelf, query(shelf), recipe).total
        assert np.array_equal(found, shelf.bank.cosines(prior)[0])


def test_the_mixed_score_is_the_cosine_with_the_mixed_vector() -> None:
    shelf, lam = random_shelf(), 0.8
    asked = query(shelf)
    mixed = lam * asked.vector + (1 - lam) * shelf.people["Ana"].text  # type: ignore[operator]
    expected = shelf.bank.vectors @ (mixed / np.linalg.norm(mixed))
    found = score(shelf, asked, replace(PLAIN, prior="profile", lam=lam)).total
    assert np.allclose(found, expected, atol=1e-6)


def test_the_profile_of_the_person_who_asks_decides() -> None:
    """Two memories equally near to the question; each person's profile picks their own."""
    profiles = {"Ana": unit([0, 1, 0]), "Bo": unit([0, 0, 1])}
    base = random_shelf(width=3)
    shelf = Shelf(
        scope="s",
        bank=bank([[1, 0.5, 0], [1, 0, 0.5]], ["ana's", "bo's"]),
        semantic=base.semantic,
        people={n: replace_text(base, n, v) for n, v in profiles.items()},
    )
    asked = Query("q", unit([1, 0, 0]), ("Bo",))
    assert ids(shelf, asked, replace(PLAIN, prior="profile", lam=0.8))[0] == "bo's"
    asked = Query("q", unit([1, 0, 0]), ("Ana",))
    assert ids(shelf, asked, replace(PLAIN, prior="profile", lam=0.8))[0] == "ana's"


def replace_text(shelf: Shelf, name: str, text: np.ndarray) -> object:
    from dataclasses import replace as with_fields

    return with_fields(shelf.people[name], text=text)


def test_a_score_does_not_depend_on_other_questions() -> None:
    for name in RETRIEVERS:
        recipe = Recipe(retriever=name, prior="facts", neighbours=0.2)
        alone = retrieve(random_shelf(), query(random_shelf(), 9), recipe)
        shelf = random_shelf()
        for seed in range(9):
            retrieve(shelf, query(shelf, seed), recipe)
        assert retrieve(shelf, query(shelf, 9), recipe) == alone


def test_the_threshold_tests_the_cosine_before_boosts_and_only_the_episodic_path() -> None:
    past = Dimensions(tense="past", certainty="certain")
    memories = [memory("near", dimensions=past), memory("far", dimensions=past)]
    vectors = unit([[1, 0.2], [0.55, 1]])  # cosines with (1, 0): 0.981 and 0.482
    shelf = Shelf(
        scope="s",
        bank=Bank.build("s", memories, vectors, "fp"),
        semantic=bank([[0.1, 1]], ["semantic"]),
        people=random_shelf().people,
    )
    asked = Query("q", unit([1, 0]), ("Ana",), past)
    recipe = replace(PLAIN, retriever="ppro", boost=0.05)
    assert ids(shelf, asked, recipe) == ["near", "far", "semantic"]
    # 0.482 + 2 * 0.05 would pass 0.5, but the threshold comes before the boosts.
    hits = retrieve(shelf, asked, replace(recipe, threshold=0.5))
    assert [hit.memory.id for hit in hits] == ["near", "semantic"]
    assert hits[0].parts["boost"] == pytest.approx(0.1)
    assert hits[0].raw["dimensions"] == 2
    assert hits[1].parts.keys() == {"query"}


def test_dimensions_agree_where_both_are_known_and_equal() -> None:
    past = {"tense": "past", "subjectivity": "objective"}
    known = [past, {**past, "certainty": "certain"}, {"tense": "future"}, {}]
    memories = [memory(f"m{i}", dimensions=Dimensions(**one)) for i, one in enumerate(known)]
    shelf = Shelf("s", Bank.build("s", memories, unit(np.eye(4)), "fp"), bank(np.eye(1)))
    asked = Dimensions(tense="past", certainty="certain")
    assert shelf.agreements(asked).tolist() == [1, 2, 0, 0]
    assert shelf.agreements(Dimensions()).tolist() == [0, 0, 0, 0]


def test_unknown_dimensions_match_nothing() -> None:
    shelf = random_shelf()
    asked = query(shelf, dimensions=Dimensions(tense="past"))
    assert not score(shelf, asked, Recipe(retriever="ppro")).raw["dimensions"].any()


def test_neighbours_lend_within_their_session_only() -> None:
    memories = [
        memory("a", session="1", place=0),
        memory("b", session="1", place=1),
        memory("c", session="2", place=0),
    ]
    vectors = unit([[1, 0], [0, 1], [0, 1]])
    shelf = Shelf(scope="s", bank=Bank.build("s", memories, vectors, "fp"), semantic=bank([[1, 0]]))
    found = score(shelf, Query("q", unit([1, 0])), replace(PLAIN, neighbours=0.5))
    assert found.parts["neighbours"] == pytest.approx([0.0, 0.5, 0.0], abs=1e-6)


def test_hybrid_adds_two_z_scores() -> None:
    shelf = random_shelf()
    asked = query(shelf)
    cosines = shelf.bank.cosines(asked.vector)[0]
    bm25 = shelf.lexical.scores(asked.text)
    z = lambda x: (x - x.mean()) / x.std()  # noqa: E731
    found = score(shelf, asked, replace(PLAIN, retriever="hybrid", lexical_weight=0.5)).total
    assert np.allclose(found, z(cosines) + 0.5 * z(bm25))


def test_hybrid_survives_a_question_without_a_known_word() -> None:
    shelf = random_shelf()
    asked = Query("zzz", query(shelf).vector, ("Ana",))
    found = score(shelf, asked, Recipe(retriever="hybrid"))
    assert np.isfinite(found.total).all()
    assert not found.parts["lexical"].any()


def test_lexical_prefers_the_memory_with_the_rare_word() -> None:
    texts = ["the tea is green", "the kayak is red", "the tea is black"]
    memories = [memory(f"m{i}", text) for i, text in enumerate(texts)]
    shelf = Shelf(
        scope="s",
        bank=Bank.build("s", memories, unit(np.eye(3)), "fp"),
        semantic=bank([[1, 0, 0]]),
    )
    asked = Query("Which KAYAKS?", unit([1, 0, 0]))
    assert ids(shelf, asked, replace(PLAIN, retriever="lexical", k=1)) == ["m1"]


def test_the_graph_is_the_same_each_time_it_is_built() -> None:
    vector = query(random_shelf(2000)).vector
    assert vector is not None
    first = random_shelf(2000).bank.nearby(vector, 50)
    assert all(list(random_shelf(2000).bank.nearby(vector, 50)) == list(first) for _ in range(4))


def test_a_blank_question_and_an_empty_bank_find_nothing() -> None:
    shelf = random_shelf()
    for name in RETRIEVERS:
        assert retrieve(shelf, Query("", None), Recipe(retriever=name)) == ()
        empty = Shelf(
            scope="s",
            bank=Bank("s", (), np.empty((0, 16), np.float32), "fp"),
            semantic=Bank("s", (), np.empty((0, 16), np.float32), "fp"),
            people=shelf.people,
        )
        assert retrieve(empty, query(shelf), Recipe(retriever=name)) == ()


def test_memories_of_the_future_are_not_returned() -> None:
    shelf = random_shelf()
    for name in RETRIEVERS:
        hits = retrieve(shelf, query(shelf, until="m009"), Recipe(retriever=name, k=60))
        assert hits
        assert {hit.memory.id for hit in hits} <= {f"m{i:03d}" for i in range(10)}


@pytest.mark.parametrize(
    "prior", ["profile", "facts", "centroid:turns", "speaker", "contrast:turns"]
)
@pytest.mark.parametrize("name", RETRIEVERS)
def test_what_is_said_later_changes_nothing_for_an_earlier_question(name: str, prior: str) -> None:
    """The first 30 memories of 60 as of the 30th rank as if the other 30 had never been."""
    whole = random_shelf(60)
    facts = {n: p.only(lambda fact: fact.id.endswith(("0", "1"))) for n, p in whole.people.items()}
    later = {m.id: i for i, m in enumerate(whole.bank.memories)}
    later |= {f"{n}{i}": 10 if i < 2 else 50 for n in whole.people for i in range(4)}
    whole = with_fields(whole, positions=later)
    ids = {m.id for m in whole.bank.memories[:30]}
    cut = whole.bank.without({m.id for m in whole.bank.memories} - ids)
    semantic = whole.semantic.without({m.id for m in whole.semantic.memories})
    short = with_fields(
        whole, bank=cut, semantic=semantic, sources={"turns": cut}, people=facts, _kept={}
    )
    recipe = Recipe(
        retriever=name, prior=prior, lam=0.6, k=30, centred=True, neighbours=0.3, speaker=0.2
    )
    asked = query(whole, until="m029")
    then = retrieve(whole, asked, recipe)
    assert then == retrieve(short, query(whole), recipe)
    assert len(then) > 20


def test_the_approximate_retriever_agrees_with_the_exact_one() -> None:
    shelf = random_shelf(600)
    for prior, lam in (("none", 1.0), ("profile", 0.8)):
        exact = replace(PLAIN, prior=prior, lam=lam, k=10)
        near = replace(exact, retriever="approximate")
        first = retrieve(shelf, query(shelf), exact)
        found = retrieve(shelf, query(shelf), near)
        shared = {h.memory.id for h in first} & {h.memory.id for h in found}
        assert len(shared) >= 9
        scores = {h.memory.id: h.score for h in first}
        for hit in found:
            if hit.memory.id in scores:
                assert hit.score == pytest.approx(scores[hit.memory.id], abs=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [{"lam": -0.1}, {"lam": 1.1}, {"lam": math.nan}, {"retriever": "magic"}, {"boost": math.inf}],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, object]) -> None:
    shelf = random_shelf()
    with pytest.raises(UsageError):
        retrieve(shelf, query(shelf), replace(Recipe(), **wrong))
