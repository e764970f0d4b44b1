"""Language models by name, each with its reply cache and its accounts.

openai:MODEL          any compatible endpoint; its address and key come from the environment
hf:NAME               Transformers: a fetched model, a folder, a GGUF file, or an id of the hub
scripted:FILE.jsonl   replies written beforehand, for tests and teaching
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from workbench.errors import UsageError
from workbench.llm import Reply, Request
from workbench.reply_cache import ReplyCache, reply_key
from workbench.scripted_file import scripted_file
from workbench.workspace import Workspace

__all__ = ["ChatModel", "Prices", "Usage", "llm_spec", "open_llm"]

Done = Callable[[int, Reply], None]


class Source(Protocol):
    """Where replies come from when they are in no cache; `done` is told of each as it comes."""

    @property
    def identity(self) -> dict[str, Any]: ...

    def complete(self, requests: Sequence[Request], done: Done | None = None) -> list[Reply]: ...


class Prices(NamedTuple):
    """What a million tokens cost, in and out, in any currency."""

    tokens_in: float
    tokens_out: float


@dataclass
class Usage:
    """What a model was asked and what it cost. `calls` went to the model, `cached` did not; tokens
    and `seconds` (of the calls, one after the other) are those of calls alone, failed ones too."""

    prices: Prices | None = None
    calls: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    failures: dict[str, int] = field(default_factory=dict)
    _turn: Any = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def cost(self) -> float | None:
        """None where no prices were given."""
        if self.prices is None:
            return None
        paid = self.tokens_in * self.prices.tokens_in + self.tokens_out * self.prices.tokens_out
        return paid / 1_000_000

    @property
    def record(self) -> dict[str, Any]:
        """JSON, for reports."""
        names = ("calls", "cached", "tokens_in", "tokens_out")
        told = {name: getattr(self, name) for name in names}
        failures = dict(sorted(self.failures.items()))
        return {**told, "seconds": round(self.seconds, 3), "failures": failures, "cost": self.cost}

    def add(self, reply: Reply) -> None:
        """Count a call."""
        with self._turn:
            self.calls += 1
            self.tokens_in += reply.tokens_in
            self.tokens_out += reply.tokens_out
            self.seconds += reply.seconds
            if reply.failure is not None:
                self.failures[reply.failure] = self.failures.get(reply.failure, 0) + 1

    def add_cached(self, number: int) -> None:
        with self._turn:
            self.cached += number


class ChatModel:
    """A model with its cache: what it was asked before, it is not asked again.

    A reply is kept as soon as it comes, so a run that is stopped loses none. Equal requests of one
    call are one request. Travels to other processes by its spec; the key stays in the environment.
    """

    def __init__(
        self, spec: str, workspace: Workspace, source: Source, prices: Prices | None = None
    ) -> None:
        self.spec = spec
        self.workspace = workspace
        self.source = source
        self.usage = Usage(prices)
        self.cache = ReplyCache(workspace.folder("cache"), workspace.read_only)

    def __reduce__(self) -> tuple[Callable[[str, Workspace], ChatModel], tuple[str, Workspace]]:
        return open_llm, (self.spec, self.workspace)

    @property
    def identity(self) -> dict[str, Any]:
        return self.source.identity

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply for each request, in their order. Raises ModelError where no request would get
        through; what had come by then is kept."""
        keys = [reply_key(self.identity, request) for request in requests]
        known = self.cache.read(list(dict.fromkeys(keys)))
        new = {key: row for row, key in reversed(list(enumerate(keys))) if key not in known}
        rows = sorted(new.values())
        self.usage.add_cached(len(requests) - len(rows))

        def done(place: int, reply: Reply) -> None:
            self.usage.add(reply)
            key, request = keys[rows[place]], requests[rows[place]]
            known[key] = self.cache.keep(key, reply, request.cut_counts)

        if rows:
            self.source.complete([requests[row] for row in rows], done)
        return [known[key] for key in keys]


def llm_spec(spec: str | None) -> str:
    """The spec itself, or what `WORKBENCH_LLM_MODEL` names: a spec, or the model of an endpoint.

    Raises UsageError where neither names a model.
    """
    if spec is None:
        named = os.environ.get("WORKBENCH_LLM_MODEL", "").strip()
        if not named:
            raise UsageError(
                "no language model: give --llm openai:MODEL, hf:NAME or scripted:FILE.jsonl, or "
                "set WORKBENCH_LLM_MODEL"
            )
        spec = named if named.partition(":")[0] in KINDS else f"openai:{named}"
    kind, colon, name = spec.partition(":")
    if kind not in KINDS or not colon or not name.strip():
        raise UsageError(
            f"language model {spec!r}: write openai:MODEL, hf:NAME or scripted:FILE.jsonl"
        )
    return spec


def open_llm(spec: str | None, workspace: Workspace) -> ChatModel:
    """The model that a spec names (None: `WORKBENCH_LLM_MODEL`); nothing is asked or loaded yet.

    `WORKBENCH_LLM_PRICES="IN,OUT"` (a million tokens) lets `usage` state a cost. Raises UsageError
    for a spec that names nothing, ModelError for a model that is not here.
    """
    given = llm_spec(spec)
    kind, _, name = given.partition(":")
    source = KINDS[kind](name.strip(), workspace)
    return ChatModel(given, workspace, source, _prices())


def _endpoint(name: str, workspace: Workspace) -> Source:
    from workbench.endpoint import endpoint_of
    from workbench.openai_client import EndpointModel

    return EndpointModel(name, *endpoint_of())


def _local(name: str, workspace: Workspace) -> Source:
    from workbench.local_weights import local_model

    return local_model(name, workspace)


def _scripted(name: str, workspace: Workspace) -> Source:
    return scripted_file(Path(name).expanduser())


KINDS: dict[str, Callable[[str, Workspace], Source]] = {
    "openai": _endpoint,
    "hf": _local,
    "scripted": _scripted,
}


def _prices() -> Prices | None:
    text = os.environ.get("WORKBENCH_LLM_PRICES", "").strip()
    if not text:
        return None
    try:
        prices = Prices(*(float(piece) for piece in text.split(",")))
    except (ValueError, TypeError):
        prices = Prices(-1, -1)
    if not min(prices) >= 0:
        raise UsageError(f"WORKBENCH_LLM_PRICES={text!r}: write two prices, as in 0.15,0.60")
    return prices
