"""Answers from retrieved memories without a language model.

`extractive` takes the best span or date from the top memories. Candidates get a linear score of
what `span_features` measures; the softmax of the scores says how likely each is, and the answer is
the one with the largest expected token F1 against all others (minimum Bayes risk: a span that many
likely spans share words with beats a lone favourite). A question for several things gets several
spans. It abstains where no memory has anything to do with the question.

`top_memory` and `last_phrase` are the trivial rivals that an answerer has to beat.

An answerer sees the question's text and the hits: nothing of the gold. To add one: a function and
a line in `ANSWERERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.answer_weights import DATE_WEIGHTS, SPAN_WEIGHTS
from workbench.embed import Vectors
from workbench.question_form import Form, form_of
from workbench.schema import Hit, Memory, Record
from workbench.shelf import Query
from workbench.span_features import (
    DATE_NAMES,
    SPAN_NAMES,
    Line,
    date_features,
    lines_of,
    rarity_in,
    span_features,
    stems_of,
)
from workbench.spans import (
    WORD,
    Sentence,
    Span,
    dated_spans,
    is_light,
    sentences,
    spans,
)

__all__ = ["ANSWERERS", "Answer", "Answerer", "Asked", "candidates", "choose", "lines_read"]

ABSTENTION = "No information available"

# Memories whose sentences are read; more cost time and bring distractors.
READ = 10
# Candidates among which the most expected one is looked for, and how sharp their odds are.
SHORTLIST = 60
TEMPERATURE = 0.4
# An answer to a question for several things: how many spans, of how many words at most.
PARTS, PART_WORDS = 3, 3
# Nothing fits where no sentence is as near (a cosine of MiniLM's scale) and none has this share of
# the question's words: below the hundredth of the tuning conversations' answerable questions.
LEAST_COSINE, LEAST_OVERLAP = 0.3, 0.1
# A doubtful thing is called likely where a sentence has this share of the question's words.
LIKELY_OVERLAP = 0.5

MEASURED = {"duration": "duration", "count": "number"}
NEGATION = re.compile(r"n't\b|\b(?:not|never|no longer|nobody|nothing|neither)\b", re.IGNORECASE)


class Answer(Record, frozen=True, kw_only=True):
    """What is answered, and the id of the memory that it was taken from (None: from none)."""

    text: str
    support: str | None = None
    abstained: bool = False


class Asked(NamedTuple):
    """What an answerer may know: the query, everyone of its scope, the hits, and a function from
    texts to unit rows (n, d) of the embedder that made the query's vector."""

    query: Query
    people: tuple[str, ...]
    hits: tuple[Hit, ...]
    embed: Callable[[Sequence[str]], Vectors]


class Candidates(NamedTuple):
    """The candidate spans of a question, each with its line, and their features (n, f)."""

    spans: list[tuple[Line, Span]]
    features: npt.NDArray[np.float64]


class Answerer(NamedTuple):
    """A way to answer, and the texts whose vectors it will want of some hits: those of many
    questions are made at once."""

    answer: Callable[[Asked], Answer]
    read: Callable[[Sequence[Hit]], list[str]]


def extractive(asked: Asked) -> Answer:
    """The best span or date, "Yes" or "No", or an abstention."""
    form = form_of(asked.query.text, asked.people, asked.query.people)
    lines = lines_read(asked, form)
    nearest = max(lines, key=lambda line: line.cosine + line.overlap, default=None)
    if nearest is None or _nothing_fits(lines):
        return Answer(text=ABSTENTION, abstained=True)
    if form.kind in ("yesno", "likely"):
        return Answer(text=_verdict(form, nearest), support=nearest.hit.memory.id)
    found = candidates(form, lines, asked.hits)
    if not found.spans:
        return Answer(text=ABSTENTION, abstained=True)
    return choose(form, found)


def top_memory(asked: Asked) -> Answer:
    """The text of the best memory as it stands, without the name of whoever said it."""
    if not asked.hits:
        return Answer(text=ABSTENTION, abstained=True)
    memory = asked.hits[0].memory
    return Answer(text=memory.text.removeprefix(f"{memory.owner}: "), support=memory.id)


def last_phrase(asked: Asked) -> Answer:
    """The last date of the best memory, resolved, where a date is asked for and it names one; else
    its last noun phrase: the last run of content words alone."""
    if not asked.hits:
        return Answer(text=ABSTENTION, abstained=True)
    memory = asked.hits[0].memory
    read = _sentences(memory)
    dates = [s.text for sentence in read for s in dated_spans(sentence.text, memory.time)]
    if dates and form_of(asked.query.text, asked.people).kind == "when":
        return Answer(text=dates[-1], support=memory.id)
    phrases = [s.text for sentence in read for s in spans(sentence.text) if s.kind == "chunk"]
    plain = [p for p in phrases if not any(is_light(word) for word in WORD.findall(p))]
    # Of the runs that end together the longest comes first.
    whole = [p for p, before in zip(plain, ["", *plain], strict=False) if not before.endswith(p)]
    return Answer(text=whole[-1] if whole else top_memory(asked).text, support=memory.id)


def _sentences_read(hits: Sequence[Hit]) -> list[str]:
    return [sentence.text for hit in hits[:READ] for sentence in _sentences(hit.memory)]


def _nothing_read(hits: Sequence[Hit]) -> list[str]:
    return []


ANSWERERS: dict[str, Answerer] = {
    "extractive": Answerer(extractive, _sentences_read),
    "top-memory": Answerer(top_memory, _nothing_read),
    "last-phrase": Answerer(last_phrase, _nothing_read),
}


def candidates(form: Form, lines: Sequence[Line], hits: Sequence[Hit]) -> Candidates:
    """Everything that the lines offer to a question, measured."""
    dates = form.kind == "when"
    found = [(line, span) for line in lines for span in line.candidates(dates)]
    # A number or a duration is not answered by anything else, where there is one.
    measured = MEASURED.get(form.kind)
    found = [(line, span) for line, span in found if span.kind == measured] or found
    if dates:
        rows = [date_features(form, line, span) for line, span in found]
    else:
        rarity = rarity_in(hits)
        rows = [span_features(form, line, span, rarity) for line, span in found]
    width = len(DATE_NAMES if dates else SPAN_NAMES)
    return Candidates(found, np.asarray(rows, np.float64).reshape(len(rows), width))


def lines_read(asked: Asked, form: Form) -> list[Line]:
    """The sentences of the first hits, measured; none for a blank question."""
    read = [(hit, s) for hit in asked.hits[:READ] for s in _sentences(hit.memory)]
    if not read or asked.query.vector is None:
        return []
    cosines = asked.embed([sentence.text for _, sentence in read]) @ asked.query.vector
    return lines_of(form, asked.hits, read, cosines)


def _sentences(memory: Memory) -> tuple[Sentence, ...]:
    return sentences(memory.text, memory.owner)


def _nothing_fits(lines: Sequence[Line]) -> bool:
    return all(line.cosine < LEAST_COSINE and line.overlap < LEAST_OVERLAP for line in lines)


def _verdict(form: Form, nearest: Line) -> str:
    """Yes or no, by whether what comes nearest to the question is negated."""
    denied = form.denied or bool(NEGATION.search(nearest.text))
    if form.kind == "yesno":
        return "No" if denied else "Yes"
    return "Likely no" if denied or nearest.overlap < LIKELY_OVERLAP else "Likely yes"


def choose(form: Form, found: Candidates) -> Answer:
    """The most expected span; with others behind it where several are asked for."""
    table, names = (DATE_WEIGHTS, DATE_NAMES) if form.kind == "when" else (SPAN_WEIGHTS, SPAN_NAMES)
    scores = found.features @ np.array([table[name] for name in names])
    # Ties, and differences that only rounding makes, go to the earlier candidate.
    order = np.argsort(-np.round(scores, 9), kind="stable")
    first = int(order[_expected(found, scores, order[:SHORTLIST])])
    chosen = [found.spans[first]]
    for row in order if form.several else ():
        line, span = found.spans[row]
        stems = stems_of(span.text)
        fresh = all(
            line.text != other.text and not stems & stems_of(taken.text) for other, taken in chosen
        )
        if len(chosen) < PARTS and fresh and len(span.text.split()) <= PART_WORDS:
            chosen.append((line, span))
    text = ", ".join(span.text for _, span in chosen)
    return Answer(text=text, support=chosen[0][0].hit.memory.id)


def _expected(
    found: Candidates, scores: npt.NDArray[np.float64], rows: npt.NDArray[np.intp]
) -> int:
    """Place in `rows` (best first) of the largest expected F1 over the odds of all of them."""
    odds = np.exp((scores[rows] - scores[rows[0]]) / TEMPERATURE)
    words = [_bag(found.spans[row][1].text) for row in rows]
    columns = {word: i for i, word in enumerate(sorted(set().union(*words)))}
    has = np.zeros((len(rows), max(len(columns), 1)))
    for i, bag in enumerate(words):
        has[i, [columns[word] for word in bag]] = 1
    sizes = has.sum(axis=1)
    f1 = 2 * (has @ has.T) / np.maximum(sizes[:, None] + sizes[None, :], 1)
    return int(np.argmax(np.round(f1 @ (odds / odds.sum()), 9)))


def _bag(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold())) - {"a", "an", "the"}
