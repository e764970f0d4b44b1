"""Priors: what each is made of, by hand; controls; refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rooms import query, random_shelf, unit
from workbench.errors import UsageError
from workbench.priors import PRIORS, Occasion, prior_vector
from workbench.shelf import ProfileVectors, Shelf


def occasion(shelf: Shelf, *people: str, seed: int = 0) -> Occasion:
    vector = query(shelf).vector
    assert vector is not None
    return Occasion(vector, shelf, people, seed=seed)


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_is_a_unit_vector_or_nothing_and_repeats(name: str) -> None:
    shelf = random_shelf()
    spelt = f"{name}:turns" if name in ("centroid", "contrast") else name
    first = prior_vector(spelt, occasion(shelf, "Ana"))
    again = prior_vector(spelt, occasion(random_shelf(), "Ana"))
    if name == "none":
        assert first is None
        return
    assert first is not None and again is not None
    assert first.dtype == np.float32
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-6)
    assert np.array_equal(first, again)


def test_profile_is_the_text_s_vector_and_for_two_people_their_mean() -> None:
    shelf = random_shelf()
    ana, bo = shelf.people["Ana"].text, shelf.people["Bo"].text
    assert ana is not None and bo is not None
    assert np.allclose(prior_vector("profile", occasion(shelf, "Ana")), ana, atol=1e-6)
    both = prior_vector("profile", occasion(shelf, "Ana", "Bo"))
    assert np.allclose(both, unit((ana + bo) / 2), atol=1e-6)


def test_facts_are_weighted_by_the_softmax_of_their_cosine() -> None:
    shelf = random_shelf()
    asked = occasion(shelf, "Ana")
    facts = shelf.people["Ana"].facts
    weights = np.exp((facts @ asked.query) / 0.02)
    expected = unit((weights / weights.sum()) @ facts)
    assert np.allclose(prior_vector("facts", asked), expected, atol=1e-4)


def test_centroid_is_the_mean_of_the_whole_scope_whoever_asks() -> None:
    shelf = random_shelf()
    expected = unit(shelf.bank.vectors.mean(axis=0))
    for person in ("Ana", "Bo"):
        found = prior_vector("centroid:turns", occasion(shelf, person))
        assert np.allclose(found, expected, atol=1e-5)


def test_speaker_is_the_mean_of_one_s_own_memories() -> None:
    shelf = random_shelf()
    rows = [i for i, m in enumerate(shelf.bank.memories) if m.owner == "Bo"]
    expected = unit(shelf.bank.vectors[rows].mean(axis=0))
    assert np.allclose(prior_vector("speaker", occasion(shelf, "Bo")), expected, atol=1e-5)


def test_contrast_is_one_s_own_pull_less_the_others() -> None:
    shelf = random_shelf()
    asked = occasion(shelf, "Ana")
    own = np.asarray([m.owner == "Ana" for m in shelf.bank.memories])

    def pull(rows: np.ndarray) -> np.ndarray:
        weights = np.exp(rows @ asked.query / 0.03)
        return weights @ rows / weights.sum()

    expected = unit(pull(shelf.bank.vectors[own]) - pull(shelf.bank.vectors[~own]))
    assert np.allclose(prior_vector("contrast:turns", asked), expected, atol=1e-4)
    other = prior_vector("other-user:contrast:turns", asked)
    assert np.allclose(other, -expected, atol=1e-4)
    everyone = prior_vector("everyone:contrast:turns", asked)
    assert np.allclose(everyone, unit(pull(shelf.bank.vectors)), atol=1e-4)
    mixed = prior_vector("shuffled:contrast:turns", asked)
    assert mixed is not None
    assert not np.allclose(mixed, expected, atol=0.1)


def test_other_user_never_uses_one_s_own_profile() -> None:
    shelf = random_shelf()
    stranger = shelf.strangers[0].text
    assert np.allclose(prior_vector("other-user", occasion(shelf, "Ana")), stranger)
    alone = replace(shelf, strangers=())
    bo = shelf.people["Bo"].text
    assert np.allclose(prior_vector("other-user", occasion(alone, "Ana")), bo)


def test_everyone_mixes_all_people_of_the_scope() -> None:
    shelf = random_shelf()
    both = prior_vector("profile", occasion(shelf, "Ana", "Bo"))
    assert np.allclose(prior_vector("everyone", occasion(shelf, "Ana")), both)
    facts = prior_vector("facts", occasion(shelf, "Ana", "Bo"))
    assert np.allclose(prior_vector("everyone:facts", occasion(shelf, "Ana")), facts)


def test_shuffled_uses_none_of_one_s_own_facts() -> None:
    shelf = random_shelf()
    pool = shelf.strangers[0].facts
    # As many facts as Ana has, four, are drawn from the stranger's four: all of them.
    found = prior_vector("shuffled", occasion(shelf, "Ana"))
    assert np.allclose(found, unit(pool.mean(axis=0)), atol=1e-5)


def test_random_depends_on_seed_and_person_and_not_on_the_question() -> None:
    shelf = random_shelf()
    first = prior_vector("random", occasion(shelf, "Ana"))
    other = prior_vector("random", replace(occasion(shelf, "Ana"), query=query(shelf, 5).vector))
    assert np.array_equal(first, other)
    assert not np.allclose(first, prior_vector("random", occasion(shelf, "Bo")))
    assert not np.allclose(first, prior_vector("random", occasion(shelf, "Ana", seed=1)))


def test_without_a_profile_there_is_no_prior() -> None:
    shelf = random_shelf()
    blank = ProfileVectors(shelf.people["Ana"].profile, np.empty((0, 16), np.float32), None)
    bare = replace(shelf, people={"Ana": blank}, strangers=())
    for name in ("profile", "facts", "other-user", "shuffled", "everyone"):
        assert prior_vector(name, occasion(bare, "Ana")) is None


def test_unknown_names_sources_and_people_are_errors() -> None:
    shelf = random_shelf()
    for name, people in (
        ("magic", ("Ana",)),
        ("centroid:dreams", ("Ana",)),
        ("everyone:centroid", ("Ana",)),
        ("contrast", ("Ana",)),
        ("other-user:contrast:dreams", ("Ana",)),
        ("profile", ("Zoe",)),
        ("profile", ("",)),
    ):
        with pytest.raises(UsageError):
            prior_vector(name, occasion(shelf, *people))
