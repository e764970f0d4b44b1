"""Lexical tokens and BM25."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.lexical import LexicalIndex, lexical_tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running runners run!", ["run", "runner", "run"]),
        ("NA\u00cfVE nai\u0308ve", ["na\u00efv", "na\u00efv"]),
        ("the of and", ["the", "of", "and"]),
        ("\u6771\u4eac\u90fd", ["\u6771\u4eac", "\u4eac\u90fd"]),
        ("\u8336", ["\u8336"]),
        ("\u05e9\u05dc\u05d5\u05dd 42", ["\u05e9\u05dc\u05d5\u05dd", "42"]),
        ("...", []),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert lexical_tokens(text) == expected


def test_scores_follow_bm25_by_hand() -> None:
    """Lucene's BM25, k1 = 1.5, b = .75: idf = ln(1 + (N - df + .5)/(df + .5)), tf part
    tf / (tf + k1 (1 - b + b len / mean len))."""
    index = LexicalIndex(["kayak lake", "lake lake lake", "tea"])
    n, df, length, mean = 3, 1, 2, 2
    idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
    expected = idf * 1 / (1 + 1.5 * (1 - 0.75 + 0.75 * length / mean))
    assert index.scores("kayak") == pytest.approx([expected, 0, 0], rel=1e-5)


@pytest.mark.parametrize("texts", [[], [""], ["...", "\u200b"]])
def test_texts_without_words_score_nothing(texts: list[str]) -> None:
    assert list(LexicalIndex(texts).scores("tea")) == [0.0] * len(texts)
