"""Answer measures against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import answer_metrics
from workbench.answer_metrics import (
    MEASURES,
    METHODS,
    bleu1,
    bleu1_tokens,
    exact,
    f1_locomo,
    f1_lower,
    f1_set,
    f1_squad,
    f1_whitespace,
    macro_mean,
    measure,
)
from workbench.tokens import squad_tokens

# CASES 29, and the table in the module's docstring.
EDGES = [
    ("A", "A", 1),
    ("the", "The", 1),
    ("", "", None),
    ("", "Paris", 0),
    ("...", "Paris", 0),
    ("Paris", "???", None),
    ("two", "2", 0),
    ("Paris Paris Paris", "Paris", 0.5),
]


@pytest.mark.parametrize(("hypothesis", "gold", "value"), EDGES)
def test_f1_squad_at_the_edges(hypothesis: str, gold: str, value: float | None) -> None:
    assert f1_squad(hypothesis, gold) == value
    equal = 0 if value == 0.5 else value
    assert exact(hypothesis, gold) == equal


@pytest.mark.parametrize(("hypothesis", "gold", "value"), EDGES)
def test_the_docstring_states_the_edges(hypothesis: str, gold: str, value: float | None) -> None:
    rows = [
        [cell.strip().strip("`") for cell in line.split("|")[1:4]]
        for line in (answer_metrics.__doc__ or "").splitlines()
        if line.startswith("|")
    ]
    assert [hypothesis or "(empty)", gold or "(empty)", str(value)] in rows


@pytest.mark.parametrize("wrong", [None, 7, ["Paris"], b"Paris"])
def test_what_is_no_string_is_refused(wrong) -> None:
    with pytest.raises(TypeError, match="must be a string"):
        measure(wrong, "x")
    with pytest.raises(TypeError, match="must be a string"):
        measure("x", wrong)


def test_variants_of_f1_differ_as_their_names_say() -> None:
    said, gold = "The dog, the DOG", "a dog"
    # tokens: The dog, the DOG | a dog -> nothing in common, case and comma kept
    assert f1_whitespace(said, gold) == 0
    # the dog, the dog | a dog -> 1 common of 4 and 2
    assert f1_lower(said, gold) == pytest.approx(2 / 6)
    # dog dog | dog -> 1 common of 2 and 1
    assert f1_squad(said, gold) == pytest.approx(2 / 3)
    # {the, dog} | {a, dog} -> 1 common of 2 and 2
    assert f1_set(said, gold) == pytest.approx(1 / 2)
    # the dog , the dog | a dog -> precision 1/5, no brevity penalty
    assert bleu1(said, gold) == pytest.approx(1 / 5)


def test_f1_whitespace_keeps_case_and_punctuation() -> None:
    assert f1_whitespace("7 May 2023.", "7 May 2023") == pytest.approx(4 / 6)
    assert f1_whitespace("paris", "Paris") == 0
    assert f1_lower("paris", "Paris") == 1


def test_a_set_counts_repeats_once() -> None:
    assert f1_set("Paris Paris Paris", "Paris") == 1
    assert f1_set("yes! yes, sir", "Yes.") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("hypothesis", "gold", "category", "value"),
    [
        ("running", "He runs", "temporal", 2 / 3),  # run | he run
        ("cats and a dog", "the dog, cat", "single-hop", 1),  # cat dog | dog cat
        ("A", "A", "single-hop", 0),
        ("...", "...", "", 0),
        ("x", "", "", 0),
        ("red; blue", "red; or blue", "open-domain", 2 / 3),  # red blue | red
        ("red; blue", "red; or blue", "temporal", 4 / 5),  # red blue | red or blue
        ("swimming, chess", "chess club, swim", "multi-hop", (2 / 3 + 1) / 2),
        # Wrong parts cost nothing; the same answer in one part does.
        ("tea, milk, wine, beer", "tea, milk", "multi-hop", 1),
        ("tea milk wine beer", "tea, milk", "multi-hop", 2 / 5),
        ("tea", "tea,", "multi-hop", 1 / 2),  # an empty last part
        ("a dog, a cat", "a dog,a cat", "single-hop", 1 / 2),  # dog cat | doga cat
    ],
)
def test_f1_locomo_is_the_official_one(
    hypothesis: str, gold: str, category: str, value: float
) -> None:
    assert f1_locomo(hypothesis, gold, category) == pytest.approx(value)


@pytest.mark.parametrize(
    ("hypothesis", "gold", "value"),
    [
        ("7 May 2023", "7 May 2023", 1),
        ("May", "7 May 2023", math.exp(1 - 3 / 1)),  # 0.1353: brevity alone
        ("", "x", 0),
        ("x", "", None),
        ("", "", None),
        ("MAY may", "may", 1 / 2),  # clipped: one of two counts
        ("no", "yes", 0),  # smoothing lifts longer n-grams, never a miss of every word
        ("one two", "one", 1 / 2),
    ],
)
def test_bleu1(hypothesis: str, gold: str, value: float | None) -> None:
    found = bleu1(hypothesis, gold)
    assert found == (None if value is None else pytest.approx(value, abs=1e-9))


def test_bleu1_of_tokens_refuses_strings() -> None:
    assert bleu1_tokens(["may"], ["may"]) == 1
    for said, gold in (("may", ["may"]), (["may"], "may"), ("may", "may")):
        with pytest.raises(TypeError, match="lists of tokens"):
            bleu1_tokens(said, gold)


def test_what_was_done_is_recorded() -> None:
    assert METHODS.keys() == MEASURES.keys()
    assert "smoothing method 1" in METHODS["bleu1"]
    assert "NLTKWordTokenizer" in METHODS["bleu1"]


def test_scripts_without_spaces_earn_part_marks() -> None:
    # 3 of 5 and of 3 characters are common; as one token each there would be none.
    for one in (f1_whitespace, f1_lower, f1_squad, f1_set):
        assert one("他住在北京", "在北京") == pytest.approx(6 / 8)
    assert exact("他住在北京。", "他住在北京") == 1
    assert f1_squad("ירושלים", "ירושלים.") == 1
    assert f1_squad("cafe\u0301", "Café") == 1


def test_macro_mean_with_its_influences() -> None:
    values = np.array([0, 1, 1, 0.5])
    macro, influence = macro_mean(values, np.array(["x", "x", "y", "x"]))
    assert macro == pytest.approx((0.5 + 1) / 2)
    assert influence.mean() == pytest.approx(macro)
    # Var of the mean of "x" (.5 / 3 over 3) at the weight 1/2; "y" alone has no spread.
    spread = ((influence - macro) ** 2).sum() / len(values) ** 2
    assert spread == pytest.approx((0.5 / 3 / 3) / 4)


TEXT = st.text(max_size=30) | st.lists(
    st.sampled_from(["the", "Paris", "a", ",", "...", "two", "北京", "e\u0301t\u00e9", ";"])
).map(" ".join)


@given(TEXT, TEXT, st.sampled_from(["", "multi-hop", "open-domain"]))
def test_every_value_lies_in_0_to_1(hypothesis: str, gold: str, category: str) -> None:
    values = measure(hypothesis, gold, category)
    assert values.keys() == MEASURES.keys()
    assert all(value is None or 0 <= value <= 1 for value in values.values())


@given(TEXT, TEXT)
def test_a_gold_with_a_squad_token_defines_every_measure(hypothesis: str, gold: str) -> None:
    if squad_tokens(gold):
        assert None not in measure(hypothesis, gold).values()
    else:
        assert f1_squad(hypothesis, gold) is exact(hypothesis, gold) is None


@given(TEXT)
def test_an_answer_equal_to_a_gold_with_words_scores_1(text: str) -> None:
    if squad_tokens(text):
        values = measure(text, text)
        del values["f1_locomo"]  # which empties "A", as the official code does
        assert set(values.values()) == {1.0}


@given(TEXT, TEXT)
def test_f1_is_symmetric_where_both_have_words(one: str, other: str) -> None:
    if squad_tokens(one) and squad_tokens(other):
        for f1 in (f1_set, f1_squad, f1_lower, f1_whitespace, f1_locomo):
            assert f1(one, other) == f1(other, one)


@given(TEXT, TEXT)
def test_stricter_measures_imply_looser_ones(hypothesis: str, gold: str) -> None:
    if f1_whitespace(hypothesis, gold):
        assert f1_lower(hypothesis, gold)
    if exact(hypothesis, gold):
        assert f1_squad(hypothesis, gold) == 1
