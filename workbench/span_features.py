"""What is measured of a candidate answer: its memory's rank, its sentence's nearness to the
question, its words, and how well it fits what the question asks for.

A candidate of a question for a date has one float for each of `DATE_NAMES`, any other one for
each of `SPAN_NAMES`; the weights in `answer` make a score of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.answer_words import FOLLOWED, OPENINGS, PERSONAL, PLACED, TIME_WORDS, TITLED
from workbench.embed import Vectors
from workbench.lexical import lexical_tokens
from workbench.question_form import Form
from workbench.schema import Hit, Memory
from workbench.spans import (
    WORD,
    Sentence,
    Span,
    dated_spans,
    is_light,
    plain_verbs,
    said_span,
    spans,
)

__all__ = ["DATE_NAMES", "SPAN_NAMES", "Line", "date_features", "lines_of", "span_features"]

SHARED = (
    *("rank", "score", "owner", "cosine"),
    *("overlap", "overlap_memory", "overlap_previous", "asks"),
)
DATES = ("said", "year", "month", "in_question", "near", "said_clause")
WORDS = (
    *("one_word", "many_words", "quote", "echo", "light", "proper", "digits", "near", "rarity"),
    *("personal", "somebody", "time_word", "opening", "act_first", "verb_first", "verb_last"),
)
FIT = (
    *("long_many", "long_clause", "who_proper", "where_placed", "where_proper"),
    *("quote_title", "after_asking", "said_words", "follows_is"),
)
DATE_NAMES = (*SHARED, *DATES)
SPAN_NAMES = (*SHARED, *WORDS, *FIT)

COSINE, OVERLAP = SHARED.index("cosine"), SHARED.index("overlap")
PREVIOUS = SHARED.index("overlap_previous")
# A question of the other speaker shares at least this much with the one asked, so that the turn
# after it is its answer.
ASKED_BEFORE = 0.3
# Letters that make "near" fall to a half.
HALF_WAY = 6


class Line(NamedTuple):
    """A sentence of a hit with what all its spans share: `base` in the order of `SHARED`, the
    places of the words that the question has too, and the names of those who talk."""

    hit: Hit
    text: str
    base: list[float]
    matched: list[int]
    names: frozenset[str]

    @property
    def cosine(self) -> float:
        return self.base[COSINE]

    @property
    def overlap(self) -> float:
        return self.base[OVERLAP]

    def candidates(self, dates: bool) -> list[Span]:
        """The spans that may answer: for a date, those that name one and the day itself."""
        if not dates:
            return list(spans(self.text))
        said = said_span(self.hit.memory)
        return [*dated_spans(self.text, self.hit.memory.time), *([said] if said else [])]


def lines_of(
    form: Form,
    hits: Sequence[Hit],
    read: Sequence[tuple[Hit, Sentence]],
    cosines: npt.NDArray[np.float32] | Vectors,
) -> list[Line]:
    """Measure the sentences `read` of some hits; `cosines` (len(read),) are with the question."""
    weight = _weights(form, hits)
    names = frozenset(hit.memory.owner.casefold().partition(" ")[0] for hit in hits) - {""}
    turns = {(hit.memory.session, hit.memory.place): hit.memory for hit in hits}
    spread = max(hits[0].score - hits[-1].score, 1e-9) if hits else 1.0
    made = []
    for (hit, sentence), cosine in zip(read, cosines, strict=True):
        memory = hit.memory
        base = [
            1 / hit.rank,
            (hit.score - hits[0].score) / spread,
            _owned(memory, form),
            float(cosine),
            _share(sentence.text, weight),
            _share(memory.text, weight),
            _share_before(memory, turns, weight),
            float(sentence.text.endswith("?")),
        ]
        matched = [m.start() for m in WORD.finditer(sentence.text) if stem(m.group()) in weight]
        made.append(Line(hit, sentence.text, base, matched, names))
    return made


def date_features(form: Form, line: Line, span: Span) -> list[float]:
    """In the order of `DATE_NAMES`."""
    words = span.text.split()
    said = span.kind == "said"
    return [
        *line.base,
        float(said),
        float(len(words) == 1),
        float(len(words) == 2),
        float(any(stem(word) in form.stems for word in words[-2:])),
        0.0 if said else _near(line, span),
        line.overlap * said,
    ]


def span_features(form: Form, line: Line, span: Span, rarity: dict[str, float]) -> list[float]:
    """In the order of `SPAN_NAMES`. `rarity` is `rarity_in` of the hits."""
    words = WORD.findall(span.text)
    n = max(len(words), 1)
    content = [stem(word) for word in words if not is_light(word)]
    # The first word of a sentence has its capital from its place.
    proper = sum(word[0].isupper() for word in words) / n if span.start else 0.0
    quote = float(span.kind == "quote")
    return [
        *line.base,
        float(n == 1),
        n / 10,
        quote,
        sum(s in form.stems for s in content) / max(len(content), 1),
        1 - len(content) / n,
        proper,
        float(any(char.isdigit() for char in span.text)),
        _near(line, span),
        sum(rarity.get(s, 3.0) for s in content) / max(len(content), 1),
        *_lexicon(form, line, span, [word.lower() for word in words]),
        *_fit(form, line, span, n, proper),
    ]


def _lexicon(form: Form, line: Line, span: Span, words: list[str]) -> list[float]:
    first, last = (words[0], words[-1]) if words else ("", "")
    verbs = plain_verbs()
    return [
        sum(word in PERSONAL for word in words) / max(len(words), 1),
        float(form.kind != "who" and any(_is_name(word, line.names) for word in words)),
        sum(word in TIME_WORDS for word in words) / max(len(words), 1),
        float(not span.start and first in OPENINGS),
        float(form.acts and first in verbs),
        float(not form.acts and first in verbs),
        float(last in verbs),
    ]


def _fit(form: Form, line: Line, span: Span, n: int, proper: float) -> list[float]:
    long = form.kind in ("why", "how")
    return [
        long * n / 10,
        float(long and span.kind == "clause"),
        proper * (form.kind == "who"),
        float(form.kind == "where" and span.before in PLACED),
        proper * (form.kind == "where"),
        float(span.kind == "quote" and any(stem(word) in form.stems for word in TITLED)),
        float(line.base[-1] == 0 and line.base[PREVIOUS] > ASKED_BEFORE),
        float(form.says and n > 3),
        float(span.before in FOLLOWED),
    ]


def rarity_in(hits: Iterable[Hit]) -> dict[str, float]:
    """log(1 + hits / hits that have it) of every stem that the hits have."""
    stems = [stems_of(hit.memory.text) for hit in hits]
    counts = Counter(s for found in stems for s in found)
    return {s: math.log(1 + len(stems) / count) for s, count in counts.items()}


def _weights(form: Form, hits: Sequence[Hit]) -> dict[str, float]:
    """How much each stem of the question tells one hit from another; they add up to 1."""
    counts = Counter(s for hit in hits for s in stems_of(hit.memory.text) & form.stems)
    raw = {s: math.log(1 + len(hits) / (1 + counts[s])) + 0.1 for s in sorted(form.stems)}
    total = sum(raw.values()) or 1.0
    return {s: value / total for s, value in raw.items()}


def _owned(memory: Memory, form: Form) -> float:
    """1 where a person whom the question names said it, -1 where another did."""
    return (1.0 if memory.owner.casefold() in form.people else -1.0) if form.people else 0.0


def _share_before(
    memory: Memory, turns: dict[tuple[str, int], Memory], weight: dict[str, float]
) -> float:
    """What the turn before asks, where it asks anything and is among the hits."""
    before = turns.get((memory.session, memory.place - 1))
    return _share(before.text, weight) if before and "?" in before.text else 0.0


def _share(text: str, weight: dict[str, float]) -> float:
    """The weight of the question's stems that a text has, 0..1."""
    return sum(weight[s] for s in sorted(stems_of(text) & weight.keys()))


def _near(line: Line, span: Span) -> float:
    """Nearness of the question's nearest word outside the span, 1 for the next letter; 0 for
    none."""
    gaps = [
        span.start - place if place < span.start else place - span.end
        for place in line.matched
        if not span.start <= place < span.end
    ]
    return 1 / (1 + min(gaps) / HALF_WAY) if gaps else 0.0


def _is_name(word: str, names: frozenset[str]) -> bool:
    """Whether a word names one of those who talk, in full or shortened ("Mel")."""
    return any(word == name or (len(word) > 2 and name.startswith(word)) for name in names)


@lru_cache(maxsize=65536)
def stems_of(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in WORD.findall(text))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The first stem of a word, without what follows an apostrophe."""
    found = lexical_tokens(word)
    return found[0] if found else ""
