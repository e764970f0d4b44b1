"""Presets: named, documented recipes. Explicit options of a command override a preset's.

Their weights were chosen on LoCoMo's conv-26 and conv-30 only (Paper A's train and validation
conversations); RESULTS.md has their recall on the other eight, and every ingredient's share of it.
"""

from __future__ import annotations

import msgspec

from workbench.errors import UsageError
from workbench.schema import Recipe

__all__ = ["PRESETS", "preset"]

# Turns alone: centred dense + BM25, the speaker asked about, and the turns around.
LOCOMO_TURNS = Recipe(
    memories="turns",
    retriever="hybrid",
    prior="none",
    lam=1.0,
    centred=True,
    lexical_weight=0.8,
    speaker=0.8,
    neighbours=0.4,
    neighbours_far=0.1,
)

PRESETS: dict[str, Recipe] = {
    "paper": Recipe(retriever="ppro"),
    "query-only": Recipe(prior="none", lam=1.0),
    "locomo-turns": LOCOMO_TURNS,
    # The same, with the scores of LoCoMo's own observations lent to the turns they came from.
    "locomo-observations": msgspec.structs.replace(LOCOMO_TURNS, lend=0.5),
}


def preset(name: str) -> Recipe:
    """The recipe of a preset. Raises UsageError naming those that exist."""
    if name not in PRESETS:
        raise UsageError(f"unknown preset {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name]
