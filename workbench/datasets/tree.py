"""Messages as a tree: which branch is the conversation. Never recursive; no loop can hang it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

__all__ = ["Parents", "Path", "leaves", "newest", "path_to"]

Parents = Mapping[str, str | None]  # message id -> id of the message that it answers


class Path(NamedTuple):
    """A branch from its first message to a leaf. `missing` is a parent that is not in the source,
    `looped` says that the parents never end."""

    ids: tuple[str, ...]
    missing: str | None = None
    looped: bool = False


def path_to(leaf: str, parents: Parents) -> Path:
    """Follow the parents up from a leaf, and return the way down."""
    ids: dict[str, None] = {}
    node: str | None = leaf
    while node is not None and node in parents and node not in ids:
        ids[node] = None
        node = parents[node]
    return Path(
        ids=tuple(reversed(ids)),
        missing=None if node is None or node in parents else node,
        looped=node is not None and node in ids,
    )


def leaves(parents: Parents) -> list[str]:
    """Messages that no other message answers, in the source's order."""
    answered = set(parents.values())
    return [node for node in parents if node not in answered]


def newest(choice: Sequence[str], parents: Parents, times: Mapping[str, float]) -> str:
    """The message of the latest time; the first of `choice` among equals.

    `times` are seconds. A message without one counts as old as the nearest message above it that
    has one: it cannot be older.
    """
    settled: dict[str, float] = {}
    for leaf in choice:
        trail = []
        node: str | None = leaf
        while node is not None and node in parents and node not in settled and node not in times:
            settled[node] = -inf  # ends the walk if it comes round again
            trail.append(node)
            node = parents[node]
        found = -inf if node is None else times.get(node, settled.get(node, -inf))
        settled.update(dict.fromkeys([*trail, leaf], found))
    return max(choice, key=settled.__getitem__)
