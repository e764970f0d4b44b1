"""What response pairs cost and how they were made: kept beside the set, with nobody's words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reward_model.responses import Response
from reward_model.schema import Order
from workbench.llm import LLM
from workbench.schema import Record, decode_jsonl, encode_jsonl
from workbench.workspace import Workspace, write_atomically

__all__ = ["Made", "cost_of", "keep_costs", "made_of", "spent", "told"]

KIND, FILE = "pairs", "made.jsonl"
TOLD = ("tokens_in", "tokens_out", "seconds", "tries")


class Made(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A pair that was made: by which model (its identity) with which prompts (their digests), under
    which regime, shown in which order, from which memories (their ids), and what its two calls
    took. `cost` is None where no prices are known."""

    id: str
    generator: dict[str, Any]
    regime: str
    order: Order
    prompts: dict[str, str]
    sources: tuple[str, ...]
    with_memory: dict[str, Any]
    without_memory: dict[str, Any]
    cost: float | None = None


def made_of(workspace: Workspace, name: str) -> dict[str, Made]:
    """What is known of the making of a set's pairs, by id."""
    path = _file(workspace, name)
    return {one.id: one for one in decode_jsonl(path, Made)} if path.is_file() else {}


def keep_costs(workspace: Workspace, name: str, made: Sequence[Made]) -> None:
    """Add pairs to what is known of a set; of a pair that was made again the last counts."""
    known = made_of(workspace, name) | {one.id: one for one in made}
    write_atomically(_file(workspace, name), encode_jsonl(known.values()))


def told(call: Response) -> dict[str, Any]:
    """What one call took, over all its tries."""
    return {name: getattr(call, name) for name in TOLD}


def cost_of(calls: Sequence[Response], llm: LLM) -> float | None:
    """What calls cost at the model's prices; None where it has none."""
    prices = getattr(getattr(llm, "usage", None), "prices", None)
    if prices is None:
        return None
    paid = (c.tokens_in * prices.tokens_in + c.tokens_out * prices.tokens_out for c in calls)
    return float(sum(paid)) / 1_000_000


def spent(calls: Sequence[Response]) -> dict[str, int | float]:
    """Tokens and seconds of different calls, those that failed included."""
    return {name: sum(getattr(call, name) for call in calls) for name in TOLD}


def _file(workspace: Workspace, name: str) -> Path:
    return workspace.folder(KIND, name) / FILE
