"""Profiles that a model chooses: what stays true of a person, each entry with its sources."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from workbench.constructed.asking import Asker, Unit, examples_of, numbered, request
from workbench.constructed.extraction import names
from workbench.constructed.forms import Chosen, ProfileEntry
from workbench.embed import is_blank
from workbench.llm import Request
from workbench.memory.profile import MOST_FACTS
from workbench.schema import Memory, Profile

__all__ = ["profiles_by_model"]

READ_AT_ONCE = 20  # statements; a new session changes only the last request
REPLY_TOKENS = 480
ORDER = ("attribute", "relationship", "preference", "other")


class _Part(NamedTuple):
    """Some statements about a person, in reading order."""

    scope: str
    person: str
    memories: tuple[Memory, ...]


def profiles_by_model(
    asker: Asker,
    people: Mapping[str, Sequence[str]],
    memories: Mapping[str, Sequence[Memory]],
    left_out: Counter[str],
) -> list[Profile]:
    """A profile of every person of every scope, from the scope's episodic memories.

    At most 40 facts each: attributes, relationships, preferences, then the rest, each in reading
    order. Entries that say the same are one with all their sources.
    """
    parts = [
        part
        for scope, persons in people.items()
        for person in persons
        for part in _parts(scope, person, memories.get(scope, ()))
    ]
    units = [
        Unit(f"profile/{one.scope}/{one.person}/{number}", _request(one))
        for number, one in _counted(parts)
    ]
    chosen: dict[tuple[str, str], dict[str, tuple[str, Memory]]] = {}
    for part, reply in zip(parts, asker.ask("profiles", units, Chosen), strict=True):
        if reply is not None:
            own = chosen.setdefault((part.scope, part.person), {})
            _gather(own, part, reply, left_out)
    return [
        _profile(scope, person, chosen.get((scope, person), {}), left_out)
        for scope, persons in people.items()
        for person in persons
    ]


def _parts(scope: str, person: str, memories: Sequence[Memory]) -> Iterator[_Part]:
    about = [memory for memory in memories if names(memory.text, person)]
    for start in range(0, len(about), READ_AT_ONCE):
        yield _Part(scope, person, tuple(about[start : start + READ_AT_ONCE]))


def _counted(parts: Sequence[_Part]) -> Iterator[tuple[int, _Part]]:
    """Each part with its number among those of its person, from 1."""
    counts = Counter[tuple[str, str]]()
    for part in parts:
        counts[part.scope, part.person] += 1
        yield counts[part.scope, part.person], part


def _request(part: _Part) -> Request:
    lines = numbered([memory.text for memory in part.memories])
    return request("profile", [("person", part.person), ("statements", lines)], REPLY_TOKENS)


def _gather(
    own: dict[str, tuple[str, Memory]], part: _Part, reply: Chosen, left_out: Counter[str]
) -> None:
    """Add the entries of a reply to those of the person, by what they say."""
    for entry in reply.facts:
        text = " ".join(entry.fact.split())
        rests = [n for n in dict.fromkeys(entry.statements) if 1 <= n <= len(part.memories)]
        left_out["invented statement number"] += len(set(entry.statements)) - len(rests)
        if is_blank(text):
            left_out["blank entry"] += 1
        elif text.lower() in examples_of("profile"):
            left_out["the prompt's example"] += 1
        elif not rests:
            left_out["entry without a statement"] += 1
        else:
            fact = _fact(part, entry, text, [part.memories[n - 1] for n in sorted(rests)])
            key = text.lower().rstrip(".")
            if key in own:
                left_out["entry said before"] += 1
                fact = _merged(own[key][1], fact)
            own[key] = entry.aspect, fact


def _fact(part: _Part, entry: ProfileEntry, text: str, rests: Sequence[Memory]) -> Memory:
    sources = tuple(dict.fromkeys(chain.from_iterable(memory.sources for memory in rests)))
    digest = hashlib.sha256(text.lower().encode()).hexdigest()[:8]
    return msgspec.structs.replace(
        rests[-1],
        id=f"p:{part.person}#{digest}",
        kind="fact",
        text=text,
        sources=sources,
        owner=part.person,
        subject=part.person,
    )


def _merged(first: Memory, second: Memory) -> Memory:
    sources = tuple(dict.fromkeys((*first.sources, *second.sources)))
    return msgspec.structs.replace(second, sources=sources)


def _profile(
    scope: str, person: str, chosen: Mapping[str, tuple[str, Memory]], left_out: Counter[str]
) -> Profile:
    ordered = sorted(chosen.values(), key=lambda one: ORDER.index(one[0]))
    left_out["beyond the profile's limit"] += max(0, len(ordered) - MOST_FACTS)
    return Profile(scope=scope, person=person, facts=tuple(f for _, f in ordered[:MOST_FACTS]))
