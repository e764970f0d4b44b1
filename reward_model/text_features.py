"""The four features that counting gives: HEAD, LEN, AXIS and OPT, one function each.

Each takes two responses as they are read (`markup.read`), the memory response first. HEAD and LEN
compare them and change their sign when they are exchanged; AXIS and OPT are means over both and
don't (`rubric` says why that is sound). What counts as prose and as a heading is said in `markup`;
the word lists of AXIS and OPT are English (`phrases`), so both are 0 for other languages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from reward_model.markup import Markup, Sentence, read
from reward_model.phrases import Phrases, phrases
from reward_model.schema import Pair

__all__ = ["TEXT_FEATURES", "acts", "axis", "headings", "length", "options", "text_scores"]


def headings(one: Markup, other: Markup) -> float:
    """HEAD: number of headings in `one` minus number in `other`."""
    return float(one.headings - other.headings)


def length(one: Markup, other: Markup) -> float:
    """LEN: log of the ratio of words of visible prose, list items and headings included.

    One word is added to each, so that an empty response (or one of nothing but code) gives a
    finite value: the log of the other's words plus one.
    """
    # A difference of logs, not the log of a quotient: it flips exactly when exchanged.
    return math.log(one.length + 1) - math.log(other.length + 1)


def axis(one: Markup, other: Markup) -> float:
    """AXIS: advisory (a) against factual (f) language, (a - f) / (a + f), in [-1, 1], averaged.

    Advisory are the entries of `advisory.txt` and sentences that begin with an order ("Move it");
    factual are those of `factual.txt`. A response with neither has 0.
    """
    return (_axis(one) + _axis(other)) / 2


def options(one: Markup, other: Markup) -> float:
    """OPT: entries of `options.txt` (options, trade-offs) per 100 words of prose, averaged.

    A response without prose has 0.
    """
    return (_options(one) + _options(other)) / 2


TEXT_FEATURES: dict[str, Callable[[Markup, Markup], float]] = {
    "HEAD": headings,
    "LEN": length,
    "AXIS": axis,
    "OPT": options,
}


def text_scores(pairs: Sequence[Pair]) -> dict[str, list[float]]:
    """Every feature of the text for each pair, in order; each different response is read once."""
    texts = {text for pair in pairs for text in (pair.with_memory, pair.without_memory)}
    seen = {text: read(text) for text in texts}
    return {
        name: [feature(seen[pair.with_memory], seen[pair.without_memory]) for pair in pairs]
        for name, feature in TEXT_FEATURES.items()
    }


def acts(sentence: Sentence) -> bool:
    """Whether a sentence, or a clause of it behind a comma or colon, tells the reader to act.

    A rule: the clause begins with a verb of `actions.txt`, words of `lead_ins.txt` ("then",
    "tonight") and a "don't" before it left out. Questions and headings tell nobody to act.
    """
    if sentence.kind == "heading" or sentence.text.endswith(("?", "？")):
        return False
    verbs, lead = phrases("actions"), phrases("lead_ins")
    if not any(word in verbs for word in sentence.words):
        return False
    return any(_begins(clause, verbs, lead) for clause in _clauses(sentence))


def _clauses(sentence: Sentence) -> list[list[str]]:
    """Words of each clause; commas, colons, semicolons and dashes divide them."""
    text = sentence.text.lower().replace("’", "'")
    for mark in ",;:–—(":
        text = text.replace(mark, "\n")
    stripped = ([word.strip("\"'.!?*_)“”") for word in part.split()] for part in text.split("\n"))
    return [[word for word in clause if word] for clause in stripped]


def _begins(clause: list[str], verbs: Phrases, lead: Phrases) -> bool:
    """Whether a clause is an order, once the words that may lead it in are left out."""
    place = 0
    while place < len(clause) and (skipped := lead.at(clause, place)):
        place += skipped
    rest = clause[place:]
    if rest[:2] == ["do", "not"] or rest[:1] == ["don't"] or rest[:1] == ["never"]:
        return len(rest) > 1
    return bool(rest) and rest[0] in verbs


def _axis(text: Markup) -> float:
    advisory = phrases("advisory").count(text.words) + sum(map(acts, text.sentences))
    factual = phrases("factual").count(text.words)
    return (advisory - factual) / (advisory + factual) if advisory + factual else 0.0


def _options(text: Markup) -> float:
    return 100 * phrases("options").count(text.words) / len(text.words) if text.words else 0.0
