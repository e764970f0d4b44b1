"""Traces: what one question was asked with, found and answered. Generate once, score many times.

A trace holds nothing of the gold, so that answers can be scored against another gold later.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from workbench.errors import DataError, UsageError
from workbench.schema import Hit, Record, decode_jsonl, encode_jsonl
from workbench.workspace import write_atomically

__all__ = [
    "Found",
    "Trace",
    "begin",
    "changes",
    "found",
    "read_traces",
    "repair",
    "resumed",
    "write_traces",
]

TRACES, PLAN = "traces.jsonl", "plan.json"


class Found(Record, frozen=True, kw_only=True):
    """A retrieved memory by its id, with its rank (from 1) and score."""

    memory: str
    rank: int
    score: float


class Trace(Record, frozen=True, kw_only=True):
    """One answered question.

    `queries` are the texts that were searched with, `support` the id of the memory that the answer
    was taken from, `abstained` says that the answerer declined. `sources` are the turns behind all
    that the answerer was given. A question that failed has an `error`, its class where it has one
    (`failure`), and no answer; one whose context is over the model's window has the class alone.
    `rewriting` is why the question was searched with as it was. Tokens are those of every call for
    this question, `seconds` what retrieval and answer took, vectors included.
    """

    question: str
    queries: tuple[str, ...] = ()
    hits: tuple[Found, ...] = ()
    answer: str | None = None
    support: str | None = None
    abstained: bool = False
    sources: tuple[str, ...] = ()
    rewriting: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    error: str | None = None
    failure: str | None = None


def found(hits: Iterable[Hit]) -> tuple[Found, ...]:
    """Hits as a trace keeps them."""
    return tuple(Found(memory=h.memory.id, rank=h.rank, score=h.score) for h in hits)


def read_traces(path: Path) -> list[Trace]:
    """The traces of a finished file, in its order.

    Raises DataError naming file, line and field where a line is no trace, or a question has two.
    """
    traces = decode_jsonl(path, Trace)
    seen: set[str] = set()
    for number, trace in enumerate(traces, start=1):
        if trace.question in seen:
            raise DataError(f"{path}, line {number}: question {trace.question!r} came before")
        seen.add(trace.question)
    return traces


def write_traces(path: Path, traces: Iterable[Trace]) -> None:
    """Write a whole file of traces at once."""
    write_atomically(path, encode_jsonl(traces))


def repair(path: Path) -> int:
    """Cut an unfinished last line off a file that was being appended to; returns bytes dropped.

    Only the tail can be torn: a damaged line before it is left for `read_traces` to name.
    """
    data = path.read_bytes() if path.exists() else b""
    whole = data.rfind(b"\n") + 1
    last = data.rfind(b"\n", 0, max(whole - 1, 0)) + 1
    # A line end may reach the disk although what stands before it did not.
    if whole and not _is_trace(data[last:whole]):
        whole = last
    if whole < len(data):
        with path.open("rb+") as stream:
            stream.truncate(whole)
    return len(data) - whole


def begin(folder: Path, identity: dict[str, Any], done: Iterable[Trace] = ()) -> None:
    """Start, or start again, an unfinished run: `plan.json` says what its traces depend on, those
    of `traces.jsonl` are `done`."""
    # The traces first: a plan that names a recipe must never stand beside another recipe's.
    (folder / PLAN).unlink(missing_ok=True)
    write_traces(folder / TRACES, done)
    write_atomically(folder / PLAN, msgspec.json.encode(identity))


def resumed(folder: Path, identity: dict[str, Any]) -> dict[str, Trace]:
    """The usable traces of an unfinished run, by question; those that failed are not.

    Raises UsageError where they depend on something else than `identity`, naming what.
    """
    try:
        begun = msgspec.json.decode((folder / PLAN).read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return {}
    changed = changes(begun, identity)
    if changed:
        raise UsageError(
            f"an unfinished run was begun with other settings: {changed}. "
            "Ask for it as it was to finish it, or give --fresh to drop its answers"
        )
    repair(folder / TRACES)
    return {t.question: t for t in read_traces(folder / TRACES) if t.error is None}


def changes(begun: dict[str, Any], identity: dict[str, Any]) -> str:
    """What differs between two identities, in words: dotted names with both values; "" where
    nothing does."""
    before, now = _flat(begun), _flat(msgspec.to_builtins(identity))
    changed = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    return ", ".join(f"{k} ({before.get(k)!r} → {now.get(k)!r})" for k in changed)


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names: {"recipe": {"k": 5}} as {"recipe.k": 5}."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        inner = isinstance(value, dict)
        flat.update(_flat(value, f"{prefix}{key}.") if inner else {prefix + key: value})
    return flat


def _is_trace(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=Trace)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
