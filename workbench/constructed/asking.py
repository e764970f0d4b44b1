"""Units of construction: asked in groups, what failed named and left for the next run.

A unit is one request with a name of its own (`conv-30/session_4/2`). Replies are kept by the
model's cache as they come, so a build that is killed asks for nothing twice. A unit that failed is
*pending*: the next run asks for it in another attempt, which is sampled with a seed of its own,
since the likeliest reply would be the same once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec
from pydantic import BaseModel

from workbench.llm import LLM, Request
from workbench.prompting import prompt, quoted
from workbench.replies import ReplyFailure, ask_recorded
from workbench.reply_json import objects_in

__all__ = ["Asker", "Unit", "examples_of", "numbered", "request"]

Progress = Callable[[str, int, int], None]
S = TypeVar("S", bound=BaseModel)

# Units asked together; a multiple of the batches that local models make.
GROUP = 16
WARMTH = 0.5  # temperature of every attempt but the first
SEEDS = 100  # between two attempts, so that the repairs of one never share another's seed


class Unit(NamedTuple):
    """A named request."""

    name: str
    request: Request


@dataclass
class Asker:
    """A model that is asked for units. `attempts` numbers those that failed before, by name (0
    where it is not named). `log` gains a record of every unit: its replies word for word."""

    llm: LLM
    attempts: dict[str, int] = field(default_factory=dict)
    progress: Progress | None = None
    log: list[dict[str, Any]] = field(default_factory=list)
    pending: dict[str, str] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)

    def ask(self, stage: str, units: Sequence[Unit], schema: type[S]) -> list[S | None]:
        """What the model says to each unit; None where it failed, which is then in `pending` with
        its class. Raises ModelError where no request would get through."""
        found: list[S | None] = []
        self.asked[stage] += len(units)
        for start in range(0, len(units), GROUP):
            group = units[start : start + GROUP]
            requests = [self._attempt(unit) for unit in group]
            for unit, one in zip(group, ask_recorded(self.llm, requests, schema), strict=True):
                self.log.append({"unit": unit.name, "stage": stage, **one.record})
                if isinstance(one.outcome, ReplyFailure):
                    self.pending[unit.name] = one.outcome.kind
                    found.append(None)
                else:
                    found.append(one.outcome)  # type: ignore[arg-type]
            if self.progress:
                self.progress(stage, len(found), len(units))
        return found

    def _attempt(self, unit: Unit) -> Request:
        attempt = self.attempts.get(unit.name, 0)
        if attempt == 0:
            return unit.request
        how = {"temperature": WARMTH, "seed": unit.request.seed + SEEDS * attempt}
        return msgspec.structs.replace(unit.request, **how)


def request(name: str, parts: Sequence[tuple[str, str]], tokens: int) -> Request:
    """A request with the prompt `extract_NAME`; `parts` are labels and the data under them."""
    data = "\n\n".join(quoted(text, label) for label, text in parts)
    system = prompt(f"extract_{name}").text
    return Request(system=system, user=data, max_tokens=tokens, json_object=True)


def numbered(lines: Sequence[str]) -> str:
    """Lines as "1 | text", counted from 1: short numbers, which a small model repeats rightly."""
    flat = (" ".join(line.split()) for line in lines)
    return "\n".join(f"{number} | {line}" for number, line in enumerate(flat, start=1))


@cache
def examples_of(name: str) -> frozenset[str]:
    """Every text of a prompt's worked examples, in small letters: a model that repeats one has said
    nothing about the data."""

    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for one in value.values() for text in texts(one)]
        if isinstance(value, list):
            return [text for one in value for text in texts(one)]
        return [value.lower()] if isinstance(value, str) and " " in value else []

    return frozenset(texts(list(objects_in(prompt(f"extract_{name}").text).objects)))
