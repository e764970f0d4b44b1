"""The tables of a report, and what is found about one kind of run."""

from __future__ import annotations

from typing import NamedTuple

import plotly.graph_objects as go
import polars as pl

from workbench.workspace import Workspace

__all__ = ["Found", "Table", "bounded", "kept_table", "probability"]


class Table(NamedTuple):
    """A table: `name` for files and JSON, `title` for people. Where the frame has `lo` and `hi`,
    they are the interval of the column before them. `provenance` says where a table is from that
    was not measured here; it is set apart wherever it is shown, and never mixed with results."""

    name: str
    title: str
    frame: pl.DataFrame
    provenance: str = ""


class Found(NamedTuple):
    """What a kind of run comes to: sentences, tables, figures by name."""

    lead: list[str]
    tables: list[Table]
    figures: dict[str, go.Figure]


def bounded(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with null for every bound that cannot be told (the statistics' infinities)."""
    ends = [name for name in frame.columns if name in ("lo", "hi") or name.endswith(("_lo", "_hi"))]
    return frame.with_columns(
        pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in ends
    )


def kept_table(workspace: Workspace, run: str, name: str) -> pl.DataFrame:
    """A table that a run keeps beside its frame ("surface", "settings"), unknown bounds null."""
    return bounded(pl.read_parquet(workspace.folder("runs", run) / f"{name}.parquet"))


def probability(p: float) -> str:
    """A p value in a sentence: no small one is ever called zero."""
    return "below 0.001" if p < 0.001 else f"{p:.3f}"
