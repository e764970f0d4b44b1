"""The five features that rules alone score: CLOSURE, COMMIT, BREADTH, COST and REGISTER.

Each function gives the value of one response; the feature is the difference of two. They read the
visible prose (`markup`) with our own English word lists (`phrases`); each states what it cannot
see.
"""

from __future__ import annotations

import math
from functools import lru_cache

from reward_model.claims import content_stems
from reward_model.markup import Markup, words_of
from reward_model.phrases import phrases
from reward_model.text_features import acts

__all__ = ["breadth", "closure", "commitment", "cost", "register"]

CLOSING = 3  # sentences that end a response
LONG_WORD = 9  # letters


def closure(response: Markup) -> float:
    """CLOSURE: does the response end with a clear next action, in [-1, 1].

    Over its last three sentences: half a point each for an order to act and for words that place
    it ("tonight", "next step"), less half a point each for a pleasantry or offer and for a closing
    question. Limits: whether the action is the right one is not seen.
    """
    end = response.sentences[-CLOSING:]
    if not end:
        return 0.0
    words = tuple(word for sentence in end for word in sentence.words)
    points = any(map(acts, end)) + (phrases("next_steps").count(words) > 0)
    points -= phrases("pleasantries").count(words) > 0
    points -= end[-1].text.endswith(("?", "？"))
    return points / 2


def commitment(response: Markup) -> float:
    """COMMIT: (c - h) / (c + h + 1) of committing (c) and undecided (h) expressions, in (-1, 1).

    An order in the first two sentences counts as committing. Limits: a firm sentence about a side
    issue counts as much as one about the question.
    """
    committed = phrases("commits").count(response.words) + sum(map(acts, response.sentences[:2]))
    undecided = phrases("hedges").count(response.words)
    return (committed - undecided) / (committed + undecided + 1)


def breadth(response: Markup) -> float:
    """BREADTH: log(1 + sentences of whose content words most are new in the response).

    Limits: new words are not always a new point, and whether it bears on the query is not seen.
    """
    seen: set[str] = set()
    points = 0
    for sentence in response.sentences:
        stems = content_stems(sentence.words)
        points += len(stems - seen) * 2 > len(stems)
        seen |= stems
    return math.log1p(points)


def cost(response: Markup) -> float:
    """COST: log(1 + words before the first thing to do) + log(1 + what is demanded before).

    The first thing to do is the first order that is no preparation ("sign up", "you'll need" ..);
    a response without one is all waiting. Demands are entries of `demands.txt` and questions to
    the user. Limits: difficulty of the action itself is not seen.
    """
    listed = phrases("demands")
    demands = waiting = 0
    acted = False
    for sentence in response.sentences:
        wanted = listed.count(sentence.words) + sentence.text.endswith(("?", "？"))
        demands += wanted
        acted = acted or (not wanted and acts(sentence))
        waiting += 0 if acted else len(sentence.words)
    return math.log1p(waiting) + math.log1p(demands)


def register(query: str, response: Markup) -> float:
    """REGISTER: minus the distance between the formality of query and response, in [-2, 0].

    Limits: formality is counted (long words and `formal.txt` against contractions, `informal.txt`,
    exclamation marks and emoticons); warmth, jargon and respect are not seen.
    """
    prose = "\n".join(block.text for block in response.blocks)
    return -abs(_formality(query) - _formality(prose))


@lru_cache(maxsize=4096)
def _formality(text: str) -> float:
    """-1 (casual) to 1 (formal) by counting; 0 for a text with marks of neither."""
    words = words_of(text)
    formal = phrases("formal").count(words) + sum(len(word) >= LONG_WORD for word in words)
    casual = phrases("informal").count(words) + sum("'" in word[1:-1] for word in words)
    casual += text.count("!") + text.count(":)") + text.count(":(") + text.count(";)")
    return (formal - casual) / (formal + casual + 0.02 * len(words) + 1)
