"""References to turns as LoCoMo and its audit write them: mended only towards turns that exist."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, NamedTuple

__all__ = ["References", "parse_references"]

SEPARATORS = re.compile(r"[;,\s]+")
NEARLY_AN_ID = re.compile(r"D:?0*(\d+):0*(\d+)")


class References(NamedTuple):
    """What a list of references comes to.

    `resolved` are ids of existing turns in order of first mention, `unresolved` the raw text of
    references to none. `split`, `respelt` and `repeated` quote what had to be mended: strings that
    held several ids, ids with a stray colon or a leading zero, and ids named more than once.
    """

    resolved: tuple[str, ...]
    unresolved: tuple[str, ...]
    split: tuple[str, ...]
    respelt: tuple[str, ...]
    repeated: tuple[str, ...]

    @property
    def irregular(self) -> bool:
        """Whether any reference was not one clean id of an existing turn."""
        return bool(self.unresolved or self.split or self.respelt)

    @property
    def repairs(self) -> tuple[tuple[str, str], ...]:
        """(what was mended, how) in the words of the import report."""
        return (
            *((raw, "several references in one text were separated") for raw in self.split),
            *((raw, "respelt as the id of an existing turn") for raw in self.respelt),
            *((raw, "a repeated reference was dropped") for raw in self.repeated),
        )


def parse_references(raw: Any, known: Collection[str]) -> References:
    """Resolve references such as `["D8:6; D9:17", "D30:05"]` against the turn ids in `known`.

    Texts are separated at semicolons, commas and white space. `D30:05` becomes `D30:5`, and
    `D:11:26` becomes `D11:26`, only where that turn exists; nothing is ever moved to a neighbour.
    """
    texts = raw if isinstance(raw, list) else [] if raw is None else [raw]
    resolved: list[str] = []
    unresolved: list[str] = []
    split: list[str] = []
    respelt: list[str] = []
    repeated: list[str] = []
    for text in texts:
        pieces = _pieces(text)
        if len(pieces) > 1:
            split.append(str(text))
        for piece in pieces:
            turn = _existing(piece, known)
            if turn is None:
                unresolved.append(piece)
                continue
            if turn != piece:
                respelt.append(piece)
            (repeated if turn in resolved else resolved).append(turn)
    lists = (resolved, unresolved, split, respelt, repeated)
    return References(*(tuple(found) for found in lists))


def _pieces(text: Any) -> list[str]:
    """The references within one text; anything but text stays whole, to be kept as unresolved."""
    if not isinstance(text, str):
        return [repr(text)]
    return [piece for piece in SEPARATORS.split(text) if piece] or [text]


def _existing(piece: str, known: Collection[str]) -> str | None:
    if piece in known:
        return piece
    match = NEARLY_AN_ID.fullmatch(piece)
    respelt = f"D{match[1]}:{match[2]}" if match else None
    return respelt if respelt in known else None
