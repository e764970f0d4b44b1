"""Reading what an induction's passes and its consolidation reply: proposals, then dimensions.

Everything in a reply is checked against what was asked: a dimension rests on proposals that exist,
a proposal is in one dimension, and whatever is left out is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field, StrictBool, StringConstraints, field_validator

from reward_model.induced import Dimension, Proposal
from workbench.replies import Exchange
from workbench.schema import Record

__all__ = ["InductionPlan", "Merged", "Proposals", "Rubric", "canonical", "collected"]

EXAMPLE_NAME = "short name"  # of the prompts' examples: a reply with it was copied
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
Definition = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]


class InductionPlan(Record, frozen=True, kw_only=True):
    """How a rubric is induced. Defaults are the paper's; `most` dimensions (ours: as many as its
    example has), `tries` of a request whose reply cannot be read, `max_tokens` of a reply."""

    fold: str = "all"
    seed: int = 0
    passes: int = 5
    examples: int = 10
    proposals: int = 10
    most: int = 12
    tries: int = 2
    max_tokens: int = 2_000


class _Proposed(BaseModel):
    name: Name
    definition: Definition

    @field_validator("name")
    @classmethod
    def own(cls, name: str) -> str:
        if name == EXAMPLE_NAME:
            raise ValueError("the example was copied")
        return name


class Proposals(BaseModel):
    dimensions: Annotated[list[_Proposed], Field(min_length=1)]


class Merged(_Proposed):
    memory_dependent: StrictBool
    proposals: list[str]


class Rubric(BaseModel):
    dimensions: Annotated[list[Merged], Field(min_length=1)]


def collected(
    exchanges: Sequence[Exchange], plan: InductionPlan
) -> tuple[tuple[Proposal, ...], Counter[str]]:
    """Proposals numbered over all passes, at most `plan.proposals` each, and what is missing."""
    proposals: list[Proposal] = []
    failed: Counter[str] = Counter()
    for reading, exchange in enumerate(exchanges, start=1):
        if not isinstance(exchange.outcome, Proposals):
            failed[f"pass: {getattr(exchange.outcome, 'kind', '')}"] += 1
            continue
        made = exchange.outcome.dimensions
        failed["proposal: too many"] += max(len(made) - plan.proposals, 0)
        failed["proposal: too few"] += max(plan.proposals - len(made), 0)
        for one in made[: plan.proposals]:
            proposals.append(
                Proposal(
                    id=f"P{len(proposals) + 1:02d}",
                    reading=reading,
                    title=one.name,
                    definition=one.definition,
                )
            )
    return tuple(proposals), +failed


def canonical(
    merged: Sequence[Merged], proposals: Sequence[Proposal], plan: InductionPlan
) -> tuple[tuple[Dimension, ...], Counter[str]]:
    """Dimensions that rest on proposals that exist, each proposal in one of them; what was lost."""
    free = {one.id for one in proposals}
    named: set[str] = set()
    dimensions: list[Dimension] = []
    lost: Counter[str] = Counter()
    for one in merged:
        real = tuple(dict.fromkeys(name for name in one.proposals if name in free))
        lost["merged: invented or repeated proposal"] += len(one.proposals) - len(real)
        key = one.name.casefold()
        if not real or key in named or len(dimensions) == plan.most:
            reason = "no proposal" if not real else "same name" if key in named else "too many"
            lost[f"dimension: {reason}"] += 1
            continue
        free -= set(real)
        named.add(key)
        dimensions.append(
            Dimension(
                name=f"D{len(dimensions) + 1:02d}",
                title=one.name,
                definition=one.definition,
                memory=one.memory_dependent,
                proposals=real,
            )
        )
    lost["proposal: in no dimension"] += len(free)
    return tuple(dimensions), +lost
