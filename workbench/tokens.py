"""Tokens of answers: what each answer measure takes for a word.

Every tokeniser but LoCoMo's own begins with `tidied`: canonically equal spellings become one
(NFC: a composed and a combining accent are the same letter), invisible marks go, and scripts that
are written without spaces (Han, Kana, Thai, Lao, Khmer, Burmese, Tibetan) fall into characters,
each with its combining marks, because a sentence as one token could only be right as a whole.
Text in spaced scripts (Latin, Hebrew, Arabic, Cyrillic, Hangul ..) is left in its words.

Nothing is downloaded: NLTK's word tokeniser and its Porter stemmer are code, no data.
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache

from nltk.stem.porter import PorterStemmer
from nltk.tokenize.destructive import NLTKWordTokenizer

__all__ = [
    "locomo_tokens",
    "plain_tokens",
    "squad_tokens",
    "tidied",
    "whitespace_tokens",
    "word_tokens",
]

ARTICLES = frozenset(("a", "an", "the"))
ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
SENTENCE_MARKS = str.maketrans(dict.fromkeys(".,!?", " "))
LOCOMO_DROPPED = re.compile(r"\b(a|an|the|and)\b")

# Marks that are never seen: soft hyphen, zero-width space, text-direction marks, byte order mark.
INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")

# Letters and signs, but no digits: numbers stay whole in every script.
UNSPACED = re.compile(
    "["
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u0e81-\u0ecd\u0edc-\u0edf"  # Lao
    "\u0f40-\u0fbc"  # Tibetan
    "\u1000-\u103f\u1050-\u108f\u109a-\u109f"  # Burmese
    "\u1780-\u17d3\u17dc\u17dd"  # Khmer
    "\u3005-\u3007\u3041-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Kana, 々, 〇
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "]"
)

_nltk_words = NLTKWordTokenizer()
_porter = PorterStemmer()


def tidied(text: str) -> str:
    """NFC, without invisible marks, with spaces around each character of an unspaced script."""
    text = INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    if not UNSPACED.search(text):
        return text
    pieces: list[str] = []
    for char in text:
        alone = UNSPACED.match(char) is not None
        if unicodedata.category(char)[0] == "M" and pieces:  # belongs to the character before it
            pieces[-1] += char
        elif alone or not pieces or UNSPACED.match(pieces[-1]):
            pieces.append(char)
        else:
            pieces[-1] += char
    return " ".join(pieces)


def whitespace_tokens(text: str) -> list[str]:
    """What stands between white space, case and punctuation kept (Paper A's wording)."""
    return tidied(text).split()


def plain_tokens(text: str) -> list[str]:
    """Lower case, `.,!?` taken for spaces: the tokens of A-Mem's and Mem0's evaluation."""
    return _lower(text).translate(SENTENCE_MARKS).split()


def word_tokens(text: str) -> list[str]:
    """NLTK's word tokens of the lower-cased text, taken for one sentence.

    `nltk.word_tokenize` looks for sentences first, and needs a download for it: it would also
    split off a full stop in the middle of a text.
    """
    tokens: list[str] = _nltk_words.tokenize(_lower(text))
    return tokens


def squad_tokens(text: str) -> list[str]:
    """SQuAD's normalisation: lower case, no punctuation, no English articles, split at spaces.

    As MLQA does, punctuation is Unicode's (and ASCII's symbols such as "$"), so that “Paris” and
    "Paris" are one. A text of nothing but articles keeps them: "A" is an answer.
    """
    words = _without_punctuation(_lower(text)).split()
    return [word for word in words if word not in ARTICLES] or words


def locomo_tokens(text: str) -> list[str]:
    """The tokens of LoCoMo's official code, oddities included: see `answer_metrics.f1_locomo`."""
    bare = text.replace(",", "").lower().translate(ASCII_PUNCTUATION)
    return [_stem(word) for word in LOCOMO_DROPPED.sub(" ", bare).split()]


def _lower(text: str) -> str:
    return tidied(text.lower())


def _without_punctuation(text: str) -> str:
    return "".join(
        char
        for char in text.translate(ASCII_PUNCTUATION)
        if not unicodedata.category(char).startswith("P")
    )


@cache
def _stem(word: str) -> str:
    stem: str = _porter.stem(word)
    return stem
