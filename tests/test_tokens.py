"""What counts as a word, in English and in other scripts."""

from __future__ import annotations

import socket
import unicodedata

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.tokens import (
    locomo_tokens,
    plain_tokens,
    squad_tokens,
    tidied,
    whitespace_tokens,
    word_tokens,
)

OURS = [whitespace_tokens, plain_tokens, word_tokens, squad_tokens]


@pytest.mark.parametrize(
    ("tokenise", "tokens"),
    [
        (whitespace_tokens, ["The", "cat's", "toy,", "a", "well-known", "one."]),
        (plain_tokens, ["the", "cat's", "toy", "a", "well-known", "one"]),
        (word_tokens, ["the", "cat", "'s", "toy", ",", "a", "well-known", "one", "."]),
        (squad_tokens, ["cats", "toy", "wellknown", "one"]),
        (locomo_tokens, ["cat", "toy", "wellknown", "one"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_takes_its_own_tokens_from_an_english_phrase(tokenise, tokens) -> None:
    assert tokenise("The cat's toy,  a well-known one.") == tokens


@pytest.mark.parametrize("tokenise", OURS)
@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("他住在北京", ["他", "住", "在", "北", "京"]),
        ("2023年5月7日", ["2023", "年", "5", "月", "7", "日"]),
        ("iPhone手机", ["iphone", "手", "机"]),
        ("カフェ", ["カ", "フ", "ェ"]),
        ("กินข้าว", ["กิ", "น", "ข้", "า", "ว"]),  # vowel and tone stay with their consonant
        ("๒๕๖๖", ["๒๕๖๖"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("שָׁלוֹם", ["שָׁלוֹם"]),  # points are part of the word
        ("في بيروت", ["في", "بيروت"]),
        ("Москва", ["москва"]),
        ("서울 시장", ["서울", "시장"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
    ],
)
def test_every_script_has_sensible_tokens(tokenise, text: str, tokens: list[str]) -> None:
    # Hebrew points have several orders, and NFC knows one of them.
    expected = [unicodedata.normalize("NFC", token) for token in tokens]
    assert tokenise(text.lower()) == expected


@pytest.mark.parametrize("tokenise", OURS)
def test_composed_and_combining_accents_are_one(tokenise) -> None:
    assert tokenise("cafe\u0301 São") == tokenise("café Sa\u0303o")
    assert tokenise("cafe") != tokenise("café")


@pytest.mark.parametrize("tokenise", OURS)
def test_invisible_marks_are_no_part_of_a_token(tokenise) -> None:
    assert tokenise("\ufeff\u200fשלום\u200e foo\u00adbar\u200b") == tokenise("שלום foobar")


def test_squad_drops_the_punctuation_of_every_script() -> None:
    assert squad_tokens("“Paris”—¿sí? «Rome»…") == ["parissí", "rome"]
    assert squad_tokens("他住在北京。") == squad_tokens("他住在北京")
    assert squad_tokens("$5 & 3%") == ["5", "3"]


def test_article_stripping_never_empties_a_text() -> None:
    assert squad_tokens("A") == ["a"]
    assert squad_tokens("the, an") == ["the", "an"]
    assert squad_tokens("The A team") == ["team"]
    assert squad_tokens("a\u0300 la") == ["à", "la"]  # no article, though it begins like one
    assert squad_tokens("?!") == []


def test_locomo_keeps_the_official_oddities() -> None:
    assert locomo_tokens("A") == locomo_tokens("...") == []
    assert locomo_tokens("cats and dogs,birds") == ["cat", "dogsbird"]
    assert locomo_tokens("“running”") == ["“running”"]  # only ASCII punctuation goes
    assert locomo_tokens("他住在北京") == ["他住在北京"]


def test_no_download_is_tried_and_no_nltk_data_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("asked for data")

    monkeypatch.setattr(nltk.data, "find", refuse)
    monkeypatch.setattr(nltk, "download", refuse)
    monkeypatch.setattr(socket, "socket", refuse)
    # "gonna" and "n't" come from the tokeniser's own rules.
    assert word_tokens("I'm gonna, don't.") == ["i", "'m", "gon", "na", ",", "do", "n't", "."]
    assert locomo_tokens("relational conditions") == ["relat", "condit"]


@given(st.text())
def test_tidying_is_idempotent_and_keeps_every_visible_letter(text: str) -> None:
    once = tidied(text)
    assert tidied(once).split() == once.split()
    letters = [c for c in unicodedata.normalize("NFC", text) if c.isalnum()]
    assert [c for c in once if c.isalnum()] == letters


@given(st.text(alphabet=st.characters(max_codepoint=0x7F)))
def test_plain_english_is_left_as_it_is(text: str) -> None:
    assert tidied(text) == text
    assert whitespace_tokens(text) == text.split()
