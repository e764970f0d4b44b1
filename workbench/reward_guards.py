"""Leaks and shortcuts in rewrites: what a rewriter must not be paid for, each told by name.

A rewriter sees the question alone. Where its rewrite holds turn ids, a long run of words of the
dialogue, or the reference answer, it has learnt them by heart from training, and being paid for
them would teach it more of the same. What is found is counted and shown, whether or not it costs
the reward. To add a guard: a function and a line in `GUARDS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from workbench.datasets.report import Dataset
from workbench.schema import Question, Turn
from workbench.spans import is_light
from workbench.statement import LONGEST
from workbench.tokens import squad_tokens

__all__ = ["COPIED", "GUARDS", "UNPAID", "Said", "Written", "found_in", "said_in"]

# So many words in a row that somebody said are no coincidence.
RUN = 8
WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
# "D8:6": LoCoMo's form, which a rewriter may make up for turns that do not exist.
TURN_ID = re.compile(r"\bD\d+:\d+\b", re.IGNORECASE)
VERDICTS = frozenset(("yes", "no", "likely", "probably", "not"))

COPIED = "copied question"


class Said(NamedTuple):
    """What a scope's turns offer to a thief: their ids, and every run of `RUN` words."""

    ids: frozenset[str]
    runs: frozenset[tuple[str, ...]]


class Written(NamedTuple):
    """A rewrite to be looked at: the completion as it came, the question, and its scope."""

    text: str
    question: Question
    said: Said


def said_in(dataset: Dataset, scope: str) -> Said:
    """The ids and runs of words of a scope's turns."""
    turns = [turn for one in dataset.dialogues if one.scope == scope for turn in one.turns]
    return Said(frozenset(_telling_ids(turns)), frozenset(r for t in turns for r in _runs(t.text)))


def found_in(written: Written) -> tuple[str, ...]:
    """The names of the guards that a rewrite sets off, in the order of `GUARDS`."""
    return tuple(name for name, guard in GUARDS.items() if guard(written))


def is_empty(written: Written) -> bool:
    """No text at all."""
    return not written.text


def is_blank(written: Written) -> bool:
    """Text without a letter or digit: nothing can be searched with it."""
    return bool(written.text) and not any(character.isalnum() for character in written.text)


def copies_question(written: Written) -> bool:
    """The question's own words: no fault, since some questions can't be put better, but a rewriter
    that does nothing else has learnt nothing."""
    own = _words(written.text)
    return bool(own) and own == _words(written.question.text)


def pastes_dialogue(written: Written) -> bool:
    """A run of `RUN` words that somebody said, and the question doesn't hold."""
    asked = set(_runs(written.question.text))
    return any(run in written.said.runs and run not in asked for run in _runs(written.text))


def names_turns(written: Written) -> bool:
    """The id of a turn, or what looks like LoCoMo's."""
    if TURN_ID.search(written.text):
        return True
    pieces = (piece.strip(".,;:!?()[]\"'").casefold() for piece in written.text.split())
    return any(piece in written.said.ids for piece in pieces)


def tells_answer(written: Written) -> bool:
    """The reference answer's words in a row, where the question does not hold them. Answers of
    function words alone, "yes" and "no" tell nothing."""
    gold = squad_tokens(written.question.gold.answer or "")
    telling = [t for t in gold if len(t) > 1 and t not in VERDICTS and not is_light(t)]
    if not telling:
        return False
    return _holds(squad_tokens(written.text), gold) and not _holds(
        squad_tokens(written.question.text), gold
    )


def is_over_long(written: Written) -> bool:
    """More characters than any query has (`statement.LONGEST`)."""
    return len(written.text) > LONGEST


GUARDS: dict[str, Callable[[Written], bool]] = {
    "empty": is_empty,
    "blank": is_blank,
    COPIED: copies_question,
    "pasted dialogue": pastes_dialogue,
    "turn ids": names_turns,
    "gold answer": tells_answer,
    "over-long": is_over_long,
}
# The guards that cost a rewrite its rewards: all but the one that is no fault.
UNPAID = tuple(name for name in GUARDS if name != COPIED)


def _telling_ids(turns: Iterable[Turn]) -> Iterator[str]:
    """Ids that are no ordinary words: those with a digit and something besides."""
    for turn in turns:
        if any(c.isdigit() for c in turn.id) and not turn.id.isdigit():
            yield turn.id.casefold()


def _words(text: str) -> list[str]:
    return [word.replace("\u2019", "'") for word in WORD.findall(text.casefold())]


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = _words(text)
    return (tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1))


def _holds(words: list[str], wanted: list[str]) -> bool:
    """Whether some words stand in a row among others."""
    length = len(wanted)
    return any(words[i : i + length] == wanted for i in range(len(words) - length + 1))
