"""What a person keeps coming back to: names and words of theirs that return in several sessions.

A trait shows in what somebody says of themselves (see `profile`), and in what they speak of again
and again. This is the second kind, by counting alone: a name, or a noun of at least six turns, that
the person uses in more sessions than everyone else of the scope, and in at least three.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

from workbench.memory.periods import MONTHS
from workbench.memory.words import word_list
from workbench.schema import Memory

__all__ = ["recurring_topics"]

LEAST_SESSIONS = 3
LEAST_TURNS = 6  # for words; a name is a topic sooner
MOST_TOPICS = 8

WORD = re.compile(r"(?<![\w'’-])[^\W\d_][\w’'-]*[^\W_]")
SENTENCE_START = re.compile(r"(?:^|[.!?:;…\"“(]\s*|\n)$")
DETERMINED = re.compile(r"\b(?:my|our|an?|the) $", re.IGNORECASE)
CALENDAR = frozenset(m.lower() for m in MONTHS) | {
    f"{day}day" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
}


def recurring_topics(scope: str, person: str, turns: Sequence[Memory]) -> list[Memory]:
    """At most 8 statements "Ana often speaks of Max.", each with the turns that show it.

    `turns` are the turn memories of everyone in the scope. Topics come by the number of sessions
    that they return in, then by name.
    """
    excluded = _dull() | _names({turn.owner.lower() for turn in turns})
    own: defaultdict[str, list[Memory]] = defaultdict(list)
    others: defaultdict[str, set[str]] = defaultdict(set)
    spelling: dict[str, Counter[str]] = defaultdict(Counter)
    for turn in turns:
        for word in _candidates(_spoken(turn), excluded):
            if turn.owner == person:
                own[word.lower()].append(turn)
                spelling[word.lower()][word] += 1
            else:
                others[word.lower()].add(turn.session)
    sessions = {word: len({turn.session for turn in found}) for word, found in own.items()}
    topics = [
        word
        for word in sorted(sessions, key=lambda word: (-sessions[word], word))
        if sessions[word] >= max(LEAST_SESSIONS, len(others[word]) + 1)
        and (len(own[word]) >= LEAST_TURNS or _usual(spelling[word])[0].isupper())
    ]
    name = "The user" if person == "user" else person
    return [
        _topic(scope, person, f"{name} often speaks of {_usual(spelling[word])}.", own[word])
        for word in topics[:MOST_TOPICS]
    ]


def _candidates(text: str, excluded: frozenset[str]) -> Iterable[str]:
    """Words that could be a topic: names, and longer words that an article or "my" makes nouns."""
    for match in WORD.finditer(text):
        word = re.sub(r"['’]s?$", "", match[0])
        if word.lower() in excluded or "'" in word or "’" in word:
            continue
        before = text[max(0, match.start() - 12) : match.start()]
        named = word[0].isupper() and not SENTENCE_START.search(before)
        if named or (len(word) >= 4 and word.islower() and DETERMINED.search(before)):
            yield word


@cache
def _dull() -> frozenset[str]:
    return word_list("function_words") | word_list("adverbs") | word_list("dull") | CALENDAR


def _names(people: set[str]) -> frozenset[str]:
    """The speakers' names and what may be short for one ("Mel"): they address, they don't tell."""
    return frozenset(name[:length] for name in people for length in range(2, len(name) + 1))


def _spoken(turn: Memory) -> str:
    """What was said, without the speaker's name in front and a picture's caption behind."""
    return turn.text.removeprefix(f"{turn.owner}: ").partition(" [shares ")[0]


def _usual(spellings: Counter[str]) -> str:
    return min(spellings, key=lambda word: (-spellings[word], word))


def _topic(scope: str, person: str, text: str, turns: list[Memory]) -> Memory:
    last = turns[-1]
    return Memory(
        id=f"p:topic:{person}:{text.rstrip('.').rpartition(' ')[2].lower()}",
        scope=scope,
        kind="fact",
        text=text,
        sources=tuple(dict.fromkeys(source for turn in turns for source in turn.sources)),
        owner=person,
        subject=person,
        role=last.role,
        session=last.session,
        time=last.time,
    )
