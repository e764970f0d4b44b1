"""Lexical scores: BM25 over one bank's texts, by bm25s with Snowball stems."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import Stemmer

with warnings.catch_warnings():
    # Under Jupyter tqdm, which it imports, tells every reader of widgets that nothing here uses.
    warnings.simplefilter("ignore")
    import bm25s

__all__ = ["LexicalIndex", "lexical_tokens"]

WORDS = re.compile(r"\w+")

# Scripts written without spaces between words: a run of them is one "word" to a regular
# expression, so it is cut into overlapping pairs of characters instead.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)


class LexicalIndex:
    """BM25 (Lucene's variant) over texts, which keep their order."""

    def __init__(self, texts: Iterable[str]) -> None:
        corpus = [lexical_tokens(text) for text in texts]
        self._size = len(corpus)
        self._model = None
        if any(corpus):
            self._model = bm25s.BM25()
            self._model.index(corpus, show_progress=False)

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """(n,) BM25 scores; all 0 where no word of the query occurs."""
        if self._model is None:
            return np.zeros(self._size)
        known = self._model.vocab_dict
        tokens = [token for token in lexical_tokens(query) if token in known]
        if not tokens:
            return np.zeros(self._size)
        return np.asarray(self._model.get_scores(tokens), dtype=np.float64)


def lexical_tokens(text: str) -> list[str]:
    """Stems of the words of a text, NFC and case-folded, without English stop words.

    A query that consists of stop words alone keeps them: they are all it has.
    """
    tokens: list[str] = []
    for word in WORDS.findall(unicodedata.normalize("NFC", text).casefold()):
        if UNSPACED.fullmatch(word):
            tokens += [word[i : i + 2] for i in range(max(len(word) - 1, 1))]
        else:
            tokens.append(word)
    content = [token for token in tokens if token not in _stop_words()]
    return _stemmer().stemWords(content or tokens)


@lru_cache(maxsize=1)
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")


@lru_cache(maxsize=1)
def _stop_words() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN

    return frozenset(STOPWORDS_EN)
