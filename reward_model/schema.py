"""The nouns of the reward model: pairs of responses, and people's judgments of them.

A comparison shows one person two responses to one of their own queries: one written with nine of
their memories, one without. They were shown as A and B in an order that is recorded, and the
judgment is kept as it was given, in terms of A and B; everything else is worked out from it here,
in one orientation: memory minus no memory (paper, section on data).
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

import msgspec

from workbench.schema import Record

__all__ = [
    "JUDGMENTS",
    "REGIMES",
    "Comparison",
    "ComparisonSet",
    "Judgment",
    "Order",
    "Pair",
    "Side",
    "Strength",
]

Judgment = Literal[
    "A much better", "A slightly better", "same", "B slightly better", "B much better"
]
Order = Literal["memory first", "memory second"]
Side = Literal["A", "B"]
Strength = Literal["much", "slightly", "tie"]

JUDGMENTS: tuple[Judgment, ...] = get_args(Judgment)
REGIMES = ("conservative", "ordinary", "aggressive")


class Pair(Record, frozen=True, kw_only=True):
    """What features are scored from: a query, the memories, and the two responses to it.

    Nothing of the judgment, the person or the order of display is in it, so no feature can leak
    them.
    """

    query: str
    memories: tuple[str, ...]
    with_memory: str
    without_memory: str

    @property
    def swapped(self) -> Pair:
        """The same pair with the responses exchanged: compared features change their sign."""
        return msgspec.structs.replace(
            self, with_memory=self.without_memory, without_memory=self.with_memory
        )


class Comparison(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One judged (or not yet judged) pair of one participant.

    `order` says which response was shown as A. `attention` is the side that an attentive reader
    must choose, None for ordinary items. `repeat_of` is the id of the comparison that this one
    shows again. `shown` and `judged` are when it was displayed and decided. `synthetic` marks
    texts and judgments that no person wrote.
    """

    id: str
    participant: str
    query: str
    memories: tuple[str, ...]
    with_memory: str
    without_memory: str
    generator: str = "unknown"
    regime: str = "ordinary"
    order: Order = "memory first"
    judgment: Judgment | None = None
    note: str = ""
    attention: Side | None = None
    repeat_of: str | None = None
    shown: datetime | None = None
    judged: datetime | None = None
    synthetic: bool = False

    @property
    def pair(self) -> Pair:
        return Pair(
            query=self.query,
            memories=self.memories,
            with_memory=self.with_memory,
            without_memory=self.without_memory,
        )

    @property
    def chosen(self) -> Side | None:
        """The side that was preferred; None for ties and where there is no judgment."""
        side = (self.judgment or "same")[0]
        return side if side in ("A", "B") else None  # type: ignore[return-value]

    @property
    def strength(self) -> Strength | None:
        """How clear the preference is; None where there is no judgment."""
        if self.judgment is None:
            return None
        if self.judgment == "same":
            return "tie"
        return "much" if "much" in self.judgment else "slightly"

    @property
    def prefers_memory(self) -> bool | None:
        """Whether the memory response was preferred; None for ties and without a judgment."""
        if self.chosen is None:
            return None
        return (self.chosen == "A") == (self.order == "memory first")

    @property
    def seconds(self) -> float | None:
        """How long the judgment took; None where a time is missing."""
        if self.shown is None or self.judged is None:
            return None
        return (self.judged - self.shown).total_seconds()


class ComparisonSet(Record, frozen=True, kw_only=True):
    """A named set of comparisons; `content` is the digest of all of them."""

    name: str
    content: str
    comparisons: tuple[Comparison, ...]
    source: str = ""

    @property
    def synthetic(self) -> bool:
        """Whether any of it was made up; then everything made from it must say so."""
        return any(comparison.synthetic for comparison in self.comparisons)

    @property
    def participants(self) -> tuple[str, ...]:
        """Participants in order of appearance."""
        return tuple(dict.fromkeys(one.participant for one in self.comparisons))
