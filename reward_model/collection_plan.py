"""What one participant will be shown, in which order: drawn once, with a seed, and written down.

Pairs are shuffled; which response is A is drawn so that both orders are used equally often.
Attention checks (ours: a sensible answer beside a useless one) are spread evenly; some pairs come
a second time, later and never next to their first showing, to measure test-retest agreement.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from reward_model.schema import Comparison, Order, Side
from workbench.errors import DataError, UsageError
from workbench.schema import Record, digest_of

__all__ = ["Item", "Plan", "PlanOptions", "draw_plan"]

# Query, a sensible answer, a useless one. Nothing in them is about a person.
CHECKS = (
    (
        "How long should I boil an egg so that the yolk is firm?",
        "Boil it for nine to ten minutes, then put it into cold water so that it stops cooking.",
        "The train stands on the other side. A chair has four legs, and blue is a colour too.",
    ),
    (
        "What is a good way to remove a coffee stain from a cotton shirt?",
        "Rinse it with cold water, rub in some washing-up liquid, wait ten minutes and wash it.",
        "Coffee is a word of six letters. Count them again tomorrow, and again the day after.",
    ),
    (
        "How do I convert 10 kilometres to miles?",
        "Multiply by 0.621: ten kilometres are about 6.2 miles.",
        "Kilometres are long. Miles are long as well. Nothing more can be said about either.",
    ),
    (
        "What should I check before I drive a car that stood still for a month?",
        "Check the battery, the tyre pressure, the oil level and the brakes, and look for leaks.",
        "Paint the garage yellow. Then paint it yellow again. The car may or may not be a bicycle.",
    ),
    (
        "How can I keep bread fresh for longer?",
        "Keep it in a paper or cloth bag at room temperature, and freeze what you won't eat.",
        "Bread bread bread. This sentence has nothing to do with the question that was asked.",
    ),
)

ItemKind = Literal["pair", "attention check", "repeat"]


class PlanOptions(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How a plan is drawn.

    `attention` checks and `repeats` (share of the pairs; the paper's is 75 of 972) are added. A
    repeat comes at least `gap` places after its first showing, in the other order, or, with
    `reverse` off, in a random one.
    """

    seed: int = 0
    attention: int = 2
    repeats: float = 0.08
    gap: int = 5
    reverse: bool = True


class Item(Record, frozen=True, kw_only=True):
    """One thing to be judged. Its id is its place and tells nothing else."""

    id: str
    kind: ItemKind
    comparison: Comparison


class Plan(Record, frozen=True, kw_only=True):
    """Everything one participant is shown, in order. `fewer_repeats` says why there are fewer than
    asked for; "" where there are not."""

    participant: str
    options: PlanOptions
    items: tuple[Item, ...]
    fewer_repeats: str = ""


@dataclass
class _Slot:
    kind: ItemKind
    comparison: Comparison


def draw_plan(participant: str, candidates: Sequence[Comparison], options: PlanOptions) -> Plan:
    """Draw a plan for one participant's candidate pairs; the same seed draws the same plan.

    Raises UsageError for options that cannot be meant, DataError for candidates that are judged,
    of somebody else, or twice there.
    """
    _check(participant, candidates, options)
    rng = random.Random(f"{options.seed}/{participant}")
    shuffled = rng.sample(list(candidates), len(candidates))
    orders = _orders(len(shuffled), rng)
    slots = [
        _Slot("pair", msgspec.structs.replace(one, order=order))
        for one, order in zip(shuffled, orders, strict=True)
    ]
    wanted = round(options.repeats * len(candidates))
    slots = _with_repeats(slots, wanted, options, rng)
    placed = sum(slot.kind == "repeat" for slot in slots)
    slots = _with_checks(slots, participant, options.attention, rng)
    why = f"{placed} of {wanted}: with a gap of {options.gap}, {len(candidates)} pairs are too few"
    return Plan(
        participant=participant,
        options=options,
        items=tuple(
            Item(id=f"item-{place:04d}", kind=slot.kind, comparison=slot.comparison)
            for place, slot in enumerate(slots, start=1)
        ),
        fewer_repeats=why if placed < wanted else "",
    )


def _check(participant: str, candidates: Sequence[Comparison], options: PlanOptions) -> None:
    if not participant.strip() or not candidates:
        raise UsageError("a plan needs a participant and at least one candidate pair")
    if not 0 <= options.attention <= len(candidates) or not 0 <= options.repeats <= 1:
        raise UsageError(
            f"attention={options.attention}, repeats={options.repeats}: at most one check a pair, "
            "and a share of repeats from 0 to 1"
        )
    if options.gap < 2:
        raise UsageError(f"gap={options.gap}: at least 2, or a repeat could follow at once")
    seen: set[str] = set()
    for one in candidates:
        if one.participant != participant:
            raise DataError(f"{one.id}: is {one.participant!r}'s, not {participant!r}'s")
        if one.judgment is not None or one.attention is not None or one.repeat_of is not None:
            raise DataError(f"{one.id}: a candidate is not judged, no check and no repeat")
        if one.id in seen:
            raise DataError(f"{one.id}: is twice among the candidates")
        seen.add(one.id)


def _orders(number: int, rng: random.Random) -> list[Order]:
    """Both orders equally often, in random succession; which gets one more is drawn as well."""
    both: list[Order] = ["memory first", "memory second"]
    rng.shuffle(both)
    orders = [both[place % 2] for place in range(number)]
    rng.shuffle(orders)
    return orders


def _with_repeats(
    slots: list[_Slot], wanted: int, options: PlanOptions, rng: random.Random
) -> list[_Slot]:
    """Some of the pairs once more, each at least `gap` places after its first showing."""
    early = slots[: max(0, len(slots) - options.gap + 1)]
    for first in rng.sample(early, min(wanted, len(early))):
        one = first.comparison
        other: Order = "memory second" if one.order == "memory first" else "memory first"
        order = other if options.reverse else rng.choice((one.order, other))
        again = msgspec.structs.replace(one, id=f"{one.id}-again", repeat_of=one.id, order=order)
        # Whatever is put in later can only move the two further apart.
        place = rng.randint(slots.index(first) + options.gap, len(slots))
        slots = [*slots[:place], _Slot("repeat", again), *slots[place:]]
    return slots


def _with_checks(
    slots: list[_Slot], participant: str, number: int, rng: random.Random
) -> list[_Slot]:
    """Attention checks, one in each of equally long stretches, and never the first item."""
    offset = rng.randrange(len(CHECKS))
    total, pieces = len(slots), []
    for index in range(number):
        start, end = total * index // number, total * (index + 1) // number
        at = rng.randint(start + 1, end)
        query, good, bad = CHECKS[(offset + index) % len(CHECKS)]
        order: Order = rng.choice(("memory first", "memory second"))
        side: Side = "A" if order == "memory first" else "B"
        check = Comparison(
            id=f"check-{digest_of([participant, index], 8)}",
            participant=participant,
            query=query,
            memories=(),
            with_memory=good,
            without_memory=bad,
            generator="attention check",
            order=order,
            attention=side,
            synthetic=any(slot.comparison.synthetic for slot in slots),
        )
        pieces.append((at, _Slot("attention check", check)))
    for at, slot in reversed(pieces):
        slots = [*slots[:at], slot, *slots[at:]]
    return slots
