"""What an answer model is given to read: contexts by name, each a list of sections.

empty       nothing: what the model says without any memory
full        everything that had been said when the question was asked
retrieved   the recipe's episodic memories alone (over turns: naive RAG)
ppro        the profile, the semantic and the episodic memories (Paper A, SPEC A.3.4)
oracle      the turns that hold the evidence: what a perfect retriever would give

and, for ablations, `ppro` without one of its three. `oracle` is the only one that looks at gold,
and of it only at which turns are evidence. To add a context: a line in `CONTEXTS`; a section: a
function and a line in `SECTIONS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from workbench.errors import UsageError
from workbench.schema import Hit, Memory
from workbench.shelf import Query, Shelf

__all__ = ["CONTEXTS", "RETRIEVING", "Occasion", "Section", "context_of", "sources_of", "tokens_of"]

# Tokens are guessed on the high side: English has about four characters a token.
CHARACTERS_A_TOKEN = 3.5


class Occasion(NamedTuple):
    """What there is to choose from: the shelf as it stood, the query, the hits, all turns that had
    been said as memories, and the evidence (empty unless the context is `oracle`)."""

    shelf: Shelf
    query: Query
    hits: tuple[Hit, ...] = ()
    said: tuple[Memory, ...] = ()
    evidence: frozenset[str] = frozenset()


class Section(NamedTuple):
    """A part of a context: the label that it has in the prompt, and its memories in the order in
    which they are read. `dated` where the day of saying belongs to each."""

    label: str
    memories: tuple[Memory, ...]
    dated: bool = True


def profile(occasion: Occasion) -> Section:
    """The facts of the question's people, in the profile's own order."""
    people = (occasion.shelf.people.get(person) for person in occasion.query.people)
    facts = tuple(fact for one in people if one is not None for fact in one.profile.facts)
    return Section("profile", facts, dated=False)


def semantic(occasion: Occasion) -> Section:
    """The semantic hits, best first: what holds in general has no day."""
    found = (hit.memory for hit in occasion.hits if hit.memory.kind == "semantic")
    return Section("general_statements", tuple(found), dated=False)


def episodic(occasion: Occasion) -> Section:
    """The episodic hits, in the order in which they were said."""
    found = (hit.memory for hit in occasion.hits if hit.memory.kind != "semantic")
    return Section("memories", _by_time(found))


def dialogue(occasion: Occasion) -> Section:
    """Every turn, in reading order."""
    return Section("conversation", occasion.said)


def evidence(occasion: Occasion) -> Section:
    """The turns of evidence, in reading order."""
    wanted = (m for m in occasion.said if not occasion.evidence.isdisjoint(m.sources))
    return Section("memories", tuple(wanted))


SECTIONS: dict[str, Callable[[Occasion], Section]] = {
    "profile": profile,
    "semantic": semantic,
    "episodic": episodic,
    "dialogue": dialogue,
    "evidence": evidence,
}

CONTEXTS: dict[str, tuple[str, ...]] = {
    "empty": (),
    "full": ("dialogue",),
    "retrieved": ("episodic",),
    "ppro": ("profile", "semantic", "episodic"),
    "oracle": ("evidence",),
    "without-profile": ("semantic", "episodic"),
    "without-semantic": ("profile", "episodic"),
    "without-episodic": ("profile", "semantic"),
}

# Those that need anything to be retrieved.
RETRIEVING = frozenset(
    name for name, parts in CONTEXTS.items() if {"semantic", "episodic"}.intersection(parts)
)


def context_of(name: str, occasion: Occasion) -> tuple[Section, ...]:
    """The sections of a context that hold anything. Raises UsageError for an unknown name."""
    if name not in CONTEXTS:
        raise UsageError(f"unknown context {name!r}; known: {', '.join(CONTEXTS)}")
    made = (SECTIONS[part](occasion) for part in CONTEXTS[name])
    return tuple(section for section in made if section.memories)


def sources_of(sections: Iterable[Section]) -> tuple[str, ...]:
    """The turns behind everything that is read, each once, in order."""
    return tuple(dict.fromkeys(s for part in sections for m in part.memories for s in m.sources))


def tokens_of(texts: Sequence[str]) -> int:
    """About how many tokens some texts have, on the high side: no tokeniser is asked."""
    return math.ceil(sum(map(len, texts)) / CHARACTERS_A_TOKEN)


def _by_time(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Undated ones last; equal times keep the order of the places in the session."""
    last = datetime.max

    def key(memory: Memory) -> tuple[datetime, str, int, str]:
        time = (memory.time or last).replace(tzinfo=None)
        return time, memory.session, memory.place, memory.id

    return tuple(sorted(memories, key=key))
