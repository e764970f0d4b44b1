"""What two synthetic responses must hold for their features to come out as planned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

__all__ = ["Plan", "planned_pair"]

# Content sentences of a response that covers no more ground than the other.
ASPECTS = 3
# Sentences that a whole point of a judged feature is worth: it is scored in quarters.
POINTS = 4


class Plan(NamedTuple):
    """What one response holds, in numbers of sentences; `advisory` are those of the `aspects` that
    advise, where the others state a fact."""

    headings: int
    grounded: int
    assumed: int
    stiff: int
    aspects: int
    advisory: int
    costs: int
    commits: int
    steps: int


def planned_pair(planned: Mapping[str, float], rng: np.random.Generator) -> tuple[Plan, Plan]:
    """The plans of the memory response and of the other one.

    `planned` maps the twelve features to raw values. HEAD is kept exactly, the judged features as
    differences in quarters; AXIS, being an average over both, is the same for both. REL, LEN and
    OPT are no numbers of sentences: whoever writes the texts sees to them.
    """

    grounded, unfounded = _sides(planned["PROP"])
    personal = grounded + unfounded
    # What the memory response assumes beyond that, or the other one, makes up the rest of ASSUMP.
    excess = round(POINTS * planned["ASSUMP"]) - personal
    assumed = (unfounded + max(excess, 0), max(-excess, 0))
    common = int(rng.choice([0, 0, 2, 3]))
    heads = round(planned["HEAD"])
    wider, narrower = _sides(planned["BREADTH"])
    fitting, stiff = _sides(planned["REGISTER"])
    steps, costs, commits = (_sides(planned[name]) for name in ("CLOSURE", "COST", "COMMIT"))
    aspects = (ASPECTS + wider, ASPECTS + narrower)
    first, second = (
        Plan(
            headings=common + (max(heads, 0), max(-heads, 0))[side],
            grounded=(grounded, 0)[side],
            assumed=assumed[side],
            stiff=(stiff, fitting)[side],
            aspects=aspects[side],
            advisory=_advisory(planned["AXIS"], aspects[side], costs[side] + steps[side]),
            costs=costs[side],
            commits=commits[side],
            steps=steps[side],
        )
        for side in (0, 1)
    )
    return first, second


def _sides(feature: float) -> tuple[int, int]:
    """Sentences of the memory response and of the other one whose difference is the feature."""
    quarters = round(POINTS * feature)
    return max(quarters, 0), max(-quarters, 0)


def _advisory(axis: float, aspects: int, orders: int) -> int:
    """How many of the aspects must advise, as whoever asks for effort or names a step does too."""
    wanted = (axis * (aspects + orders) - orders + aspects) / 2
    return min(max(round(wanted), 0), aspects)
