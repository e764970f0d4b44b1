"""What banks hold, as memory inspection shows it; no run keeps these figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go
import polars as pl

from workbench import figures
from workbench.bank_set import BankSet
from workbench.figures.drawing import again
from workbench.inspection import by_month, history, memory_table
from workbench.library import by_model, open_banks
from workbench.memory_kinds import set_named
from workbench.memory_map import MemoryMap, memory_map, neighbours
from workbench.memory_quality import Coverage, coverage, dimension_counts
from workbench.passport import passport_of_banks
from workbench.report.reproduction import Maker
from workbench.streaming import MOST_TURNS, Difference, session_added
from workbench.workspace import Workspace

__all__ = [
    "MAKERS",
    "added",
    "added_by",
    "covered_by",
    "dimensions_of",
    "map_of",
    "sessions_of",
]

MONTHLY = 600  # sessions beyond which a month is one mark


def sessions_of(banks: BankSet, scope: str, chosen: int | None = None) -> go.Figure:
    """The sessions of a scope in time, one of them marked (by its place, from 1); by month where
    there are very many."""
    sessions = history(banks, scope)
    many = len(sessions) > MONTHLY and sessions["start"].null_count() < len(sessions)
    drawn = figures.session_timeline(
        by_month(sessions) if many else sessions,
        passport_of_banks(banks.manifest, len(sessions)),
        None if many else chosen,
    )
    return again(drawn, "sessions", **_of(banks), scope=scope, chosen=chosen)


def dimensions_of(banks: BankSet, scope: str, user: str | None = None) -> go.Figure | None:
    """The dimensions of a scope's episodic memories, or of one person's; None without any."""
    held = memory_table(banks, scope).filter(
        (pl.col("layer") == "episodic") & ((pl.col("owner") == user) if user else True)
    )
    if not len(held):
        return None
    passport = passport_of_banks(banks.manifest, len(held))
    drawn = figures.dimension_bars(dimension_counts(held), passport)
    return again(drawn, "dimensions", **_of(banks), scope=scope, user=user)


def map_of(
    banks: BankSet, made: MemoryMap, scope: str, user: str | None = None, memory: str = ""
) -> go.Figure:
    """A scope's map (`memory_map.memory_map(banks, scope, user)`), lines leading from a memory to
    its neighbours."""
    near = neighbours(banks, scope, memory)["memory"].to_list() if memory else []
    passport = passport_of_banks(banks.manifest, made.drawn)
    drawn = figures.map_of_memories(made, passport, memory, near)
    return again(drawn, "memory-map", **_of(banks), scope=scope, user=user, memory=memory)


def covered_by(banks: BankSet, found: Coverage) -> go.Figure:
    """How much of the evidence the layers hold: `memory_quality.coverage(banks)`."""
    more = {"clusters": found.scopes, "excluded": found.excluded, "basis": found.basis}
    passport = passport_of_banks(banks.manifest, found.n, **more)
    return again(figures.coverage_bars(found.shares, passport), "coverage", **_of(banks))


def added(banks: BankSet, scope: str, session: int) -> Difference:
    """`streaming.session_added`; what a model made is not made anew by rules to compare."""
    most = 0 if by_model(banks.manifest["memories"]) else MOST_TURNS
    return session_added(banks, scope, session, most)


def added_by(banks: BankSet, found: Difference, scope: str, session: int) -> go.Figure:
    """What a session (its place, from 1) added, as `added` tells it."""
    passport = passport_of_banks(banks.manifest, int(found.counts["n"].sum()))
    drawn = figures.session_changes(found.counts, passport, found.rebuilt)
    return again(drawn, "session-added", **_of(banks), scope=scope, session=session)


def _of(banks: BankSet) -> dict[str, Any]:
    memories = set_named(banks.manifest["memories"], banks.id)
    told = {name: banks.manifest[name] for name in ("dataset", "embedder")}
    return {**told, "memories": memories}


# ---------------------------------------------------------------- drawn again


def _opened(workspace: Workspace, how: Mapping[str, Any]) -> BankSet:
    return open_banks(workspace, how["dataset"], how["memories"], how["embedder"])


def _sessions_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return sessions_of(_opened(workspace, how), how["scope"], how["chosen"])


def _dimensions_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure | None:
    return dimensions_of(_opened(workspace, how), how["scope"], how["user"])


def _map_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    banks, scope, user = _opened(workspace, how), how["scope"], how["user"]
    return map_of(banks, memory_map(banks, scope, user), scope, user, how["memory"])


def _coverage_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    banks = _opened(workspace, how)
    return covered_by(banks, coverage(banks))


def _added_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    banks, scope, session = _opened(workspace, how), how["scope"], how["session"]
    return added_by(banks, added(banks, scope, session), scope, session)


MAKERS: dict[str, Maker] = {
    "sessions": _sessions_again,
    "dimensions": _dimensions_again,
    "memory-map": _map_again,
    "coverage": _coverage_again,
    "session-added": _added_again,
}
