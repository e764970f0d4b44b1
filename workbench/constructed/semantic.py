"""Semantic memories that a model words: each cluster of like memories as one statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from workbench.bank import Bank
from workbench.constructed.asking import Asker, Unit, examples_of, numbered, request
from workbench.constructed.forms import Aggregated
from workbench.embed import is_blank
from workbench.llm import Request
from workbench.memory.semantic import aggregate
from workbench.schema import Memory

__all__ = ["aggregate_by_model"]

REPLY_TOKENS = 96
MOST_MEMBERS = 30  # read by the model; the sources of all are united


def aggregate_by_model(
    asker: Asker, banks: Mapping[str, Bank], threshold: float, left_out: Counter[str]
) -> dict[str, list[Memory]]:
    """The semantic memories of each scope: clusters as `memory.semantic.aggregate` finds them, each
    with a statement of the model's and the sources of all members. A cluster whose reply failed
    gives none, and is pending."""
    clusters = [pair for bank in banks.values() for pair in _clusters(bank, threshold)]
    units = [Unit(f"semantic/{one.scope}/{one.id}", _request(own)) for one, own in clusters]
    made: dict[str, list[Memory]] = {scope: [] for scope in banks}
    for (one, _), reply in zip(clusters, asker.ask("aggregating", units, Aggregated), strict=True):
        if reply is None:
            continue
        text = " ".join(reply.statement.split())
        if is_blank(text):
            left_out["blank statement"] += 1
        elif text.lower() in examples_of("semantic"):
            left_out["the prompt's example"] += 1
        else:
            made[one.scope].append(msgspec.structs.replace(one, text=text))
    return made


def _clusters(bank: Bank, threshold: float) -> Iterator[tuple[Memory, list[Memory]]]:
    """Each cluster as one memory, with its members in reading order."""
    members = {memory.id: memory for memory in bank.memories}
    # The members of a cluster are told by their ids, which stand in for their sources.
    marked = [msgspec.structs.replace(memory, sources=(memory.id,)) for memory in bank.memories]
    for one in aggregate(marked, bank.vectors, threshold):
        own = [members[name] for name in one.sources]
        sources = tuple(dict.fromkeys(chain.from_iterable(memory.sources for memory in own)))
        yield msgspec.structs.replace(one, sources=sources), own


def _request(members: Sequence[Memory]) -> Request:
    lines = numbered([memory.text for memory in members[-MOST_MEMBERS:]])
    return request("semantic", [("speaker", members[0].owner), ("statements", lines)], REPLY_TOKENS)
