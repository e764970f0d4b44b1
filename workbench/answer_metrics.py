"""Answer measures, pure: a hypothesis and a gold answer in, a value in 0..1 out.

Public systems all report "F1" and mean at least five different things, so each has its name here.
A measure is None, undefined, where the gold holds no token of its kind: nothing could be right.

`f1_squad` at the edges (`exact` differs from it only in the last row, where it is 0):

| hypothesis          | gold    | value | why                                                     |
|---------------------|---------|-------|---------------------------------------------------------|
| `A`                 | `A`     | 1     | stripping articles never empties a text                 |
| `the`               | `The`   | 1     | the same; case is folded                                |
| (empty)             | (empty) | None  | undefined; counted as excluded, without a gold answer   |
| (empty)             | `Paris` | 0     | no answer is a wrong answer                             |
| `...`               | `Paris` | 0     | the same: nothing but punctuation                       |
| `Paris`             | `???`   | None  | bad gold; excluded and counted                          |
| `two`               | `2`     | 0     | numbers are words: no measure here knows them equal     |
| None                | `x`     | error | no text: `score` lists the row as failed                |
| `Paris Paris Paris` | `Paris` | 0.5   | multiset: one of three tokens, all of the gold          |

LoCoMo's official normaliser gives ("A", "A") and ("...", "...") 0; see `f1_locomo`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import nltk
import numpy as np
import numpy.typing as npt
from nltk.translate.bleu_score import (
    SmoothingFunction,
    sentence_bleu,
)

from workbench.tokens import (
    locomo_tokens,
    plain_tokens,
    squad_tokens,
    whitespace_tokens,
    word_tokens,
)

__all__ = [
    "MEASURES",
    "METHODS",
    "bleu1",
    "bleu1_tokens",
    "exact",
    "f1_locomo",
    "f1_lower",
    "f1_set",
    "f1_squad",
    "f1_whitespace",
    "macro_mean",
    "measure",
]

Values = npt.NDArray[np.float64]

MULTI_HOP, OPEN_DOMAIN = "multi-hop", "open-domain"


def f1_whitespace(hypothesis: str, gold: str) -> float | None:
    """Token F1 over white-space tokens as they are, case and punctuation kept (Paper A)."""
    return _f1(whitespace_tokens(hypothesis), whitespace_tokens(gold))


def f1_lower(hypothesis: str, gold: str) -> float | None:
    """Token F1 over lower-cased white-space tokens, punctuation kept."""
    return _f1(whitespace_tokens(hypothesis.lower()), whitespace_tokens(gold.lower()))


def f1_squad(hypothesis: str, gold: str) -> float | None:
    """Token F1 after SQuAD's normalisation (Rajpurkar et al. 2016): see the table above."""
    return _f1(squad_tokens(hypothesis), squad_tokens(gold))


def f1_locomo(hypothesis: str, gold: str, category: str = "") -> float:
    """LoCoMo's official F1 (Maharana et al. 2024, `task_eval/evaluation.py`), kept compatible.

    Porter stems of lower-cased words. A multi-hop gold is split on commas, and each part takes the
    best F1 that any comma-separated part of the hypothesis has with it; an open-domain gold ends
    at its first `;`. Its oddities are kept, since published figures hold them:

    - "and" goes with the articles, and ("A", "A") or ("...", "...") score 0: nothing is left;
    - where a comma has no space behind it, the words around it become one ("a dog,a cat");
    - a multi-hop hypothesis pays nothing for wrong parts beside the right one, and a gold with a
      comma at its end has an empty part that nothing can match;
    - an open-domain hypothesis is not cut, so a gold with a `;` does not score 1 against itself;
    - only ASCII punctuation is deleted, and scripts without spaces are not split.

    Never None: where other measures are undefined the official code says 0. Its rule for the
    adversarial category ("not mentioned") belongs to abstention and has no part here.
    """
    if category == OPEN_DOMAIN:
        gold = gold.split(";", maxsplit=1)[0]
    if category != MULTI_HOP:
        return _f1(locomo_tokens(hypothesis), locomo_tokens(gold)) or 0.0
    said = [locomo_tokens(part) for part in hypothesis.split(",")]
    wanted = [locomo_tokens(part) for part in gold.split(",")]
    return sum(max(_f1(part, one) or 0.0 for part in said) for one in wanted) / len(wanted)


def f1_set(hypothesis: str, gold: str) -> float | None:
    """F1 of the *sets* of plain tokens (A-Mem's and Mem0's evaluation): repeats count once."""
    return _f1(sorted(set(plain_tokens(hypothesis))), sorted(set(plain_tokens(gold))))


def exact(hypothesis: str, gold: str) -> float | None:
    """1 where both are the same sequence of SQuAD-normalised tokens, else 0."""
    wanted = squad_tokens(gold)
    return float(squad_tokens(hypothesis) == wanted) if wanted else None


def bleu1(hypothesis: str, gold: str) -> float | None:
    """BLEU-1 of lower-cased NLTK word tokens: see `bleu1_tokens`."""
    return bleu1_tokens(word_tokens(hypothesis), word_tokens(gold))


def bleu1_tokens(hypothesis: Sequence[str], reference: Sequence[str]) -> float | None:
    """NLTK's `sentence_bleu` with weights (1, 0, 0, 0) and smoothing method 1: clipped unigram
    precision times the brevity penalty. None where the reference is empty.

    The defaults, meant for corpora of long sentences, give 1e-154 for two identical words.
    Raises TypeError for plain strings, which NLTK would score letter by letter.
    """
    if isinstance(hypothesis, str) or isinstance(reference, str):
        raise TypeError("bleu1_tokens takes lists of tokens, not strings; bleu1 takes strings")
    if not reference:
        return None
    smooth = SmoothingFunction().method1
    return float(sentence_bleu([reference], hypothesis, (1, 0, 0, 0), smooth))


def measure(hypothesis: str, gold: str, category: str = "") -> dict[str, float | None]:
    """Every measure of one answer, by name; `category` matters to `f1_locomo` alone.

    Raises TypeError where an answer is no string: a number or None is a fault to report, never 0.
    """
    for text in (hypothesis, gold):
        if not isinstance(text, str):
            raise TypeError(f"an answer must be a string, not {type(text).__name__}")
    return {
        name: f1_locomo(hypothesis, gold, category) if one is f1_locomo else one(hypothesis, gold)
        for name, one in MEASURES.items()
    }


def macro_mean(values: Values, categories: npt.NDArray[np.str_]) -> tuple[float, Values]:
    """The mean of the categories' means; and for each question (n,) a value whose mean that is and
    whose spread is the macro mean's to first order (its influence, by the delta method): so the
    interval of a mean serves for it, though a single influence may lie outside 0..1."""
    _, group, sizes = np.unique(categories, return_inverse=True, return_counts=True)
    means = np.bincount(group, values) / sizes
    macro = float(means.mean())
    weights = len(values) / (len(sizes) * sizes)
    return macro, macro + (values - means[group]) * weights[group]


def _f1(hypothesis: Sequence[str], gold: Sequence[str]) -> float | None:
    """Harmonic mean of precision and recall of two multisets; None where the gold is empty."""
    if not gold:
        return None
    common = (Counter(hypothesis) & Counter(gold)).total()
    return 2 * common / (len(hypothesis) + len(gold))


MEASURES: dict[str, Callable[[str, str], float | None]] = {
    "f1_whitespace": f1_whitespace,
    "f1_lower": f1_lower,
    "f1_squad": f1_squad,
    "f1_locomo": f1_locomo,
    "f1_set": f1_set,
    "exact": exact,
    "bleu1": bleu1,
}

# What a report states beside each number, and part of a run's identity.
METHODS = {
    "f1_whitespace": "multiset F1, white-space tokens, case kept",
    "f1_lower": "multiset F1, white-space tokens, lower-cased",
    "f1_squad": "multiset F1, SQuAD normalisation with Unicode punctuation, never emptied",
    "f1_locomo": f"LoCoMo official: Porter stems (NLTK {nltk.__version__}), multi-hop per comma "
    "part, open-domain to `;`",
    "f1_set": "F1 of token sets, lower-cased, `.,!?` as spaces",
    "exact": "equal SQuAD-normalised token sequences",
    "bleu1": f"NLTK {nltk.__version__} sentence_bleu, weights (1, 0, 0, 0), smoothing method 1, "
    "lower-cased NLTKWordTokenizer tokens of the whole text",
}
