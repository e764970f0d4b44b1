"""The forms of a model's replies: what is asked for, and no more of it believed than fits.

A dimension or an aspect that is none of the known values counts as unknown; a reply of any other
form is a failure, never an empty list.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field

from workbench.schema import Dimensions

__all__ = ["Aggregated", "Chosen", "Extracted", "ProfileEntry", "Statement"]

Aspect = Literal["attribute", "relationship", "preference", "other"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)


def _aspect(value: Any) -> Aspect:
    return next(
        (one for one in ASPECTS if isinstance(value, str) and one in value.lower()), "other"
    )


def _dimensions(value: Any) -> Dimensions:
    """Three words, in whatever order and form they come; a dimension with none of its words, or
    several, is unknown."""
    words = set(re.findall(r"[a-z]+", str(value).lower()))

    def only(*known: Any) -> Any:
        named = words.intersection(known)
        return named.pop() if len(named) == 1 else "unknown"

    return Dimensions(
        tense=only("past", "present", "future"),
        subjectivity=only("objective", "subjective"),
        certainty=only("certain", "speculative"),
    )


class Statement(BaseModel):
    """One fact of a piece of dialogue; `turns` are numbers within the piece."""

    turns: list[int]
    who: str
    statement: str
    dimensions: Any = ""

    @property
    def retrieval_dimensions(self) -> Dimensions:
        return _dimensions(self.dimensions)


class Extracted(BaseModel):
    """The facts of a piece; none is an answer too."""

    memories: list[Statement]


class Aggregated(BaseModel):
    """One statement in place of several alike."""

    statement: str = Field(min_length=1)


class ProfileEntry(BaseModel):
    """One fact of a profile; `statements` are the numbers of those that it rests on."""

    statements: list[int]
    fact: str
    aspect: Annotated[Aspect, BeforeValidator(_aspect)] = "other"


class Chosen(BaseModel):
    """The entries of a profile; none is an answer too."""

    facts: list[ProfileEntry]
