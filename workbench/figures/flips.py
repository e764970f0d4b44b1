"""What the prior does to single questions: how many it helps and hurts, and which move where."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import PAPER_LAMBDA, bands, signed, span
from workbench.figures.lines import labelled, lines, marked
from workbench.passport import Passport
from workbench.theme import NEUTRAL, SERIES, axes, plain

__all__ = ["effect_shares", "rank_flips"]

# Points that are drawn; more would only cover each other.
MOST = 400
TEXT_WIDTH = 90
# Where a rank beyond the depth that was ranked is drawn, and the ticks up to it.
BEYOND, TICKS = 320, (1, 2, 5, 10, 25, 50, 100, 200)
LOOKS = {"helped": (SERIES[0], "circle"), "hurt": (SERIES[1], "diamond")}


def effect_shares(frame: pl.DataFrame, passport: Passport, k: int) -> go.Figure:
    """Shares of questions that the prior helps and hurts, against λ, at one K.

    `frame` has `series, lam, mean, lo, hi`; a question is helped where more of its evidence is
    among the first K than with the query alone.
    """
    figure = axes(
        f"Questions that the prior helps and hurts, by λ (K = {k})",
        f"helped: more of its evidence among the first {k} than with the query alone (λ = 1)",
        "λ",
        "share of questions",
    )
    shown = span(frame, 0.0)
    ordered = frame.sort("lam", maintain_order=True)
    labels = list(lines(figure, ordered, ("lam", "λ")))
    labelled(figure, labels, shown)
    marked(figure, PAPER_LAMBDA, f"the paper’s λ = {PAPER_LAMBDA}")
    figure.update_xaxes(range=[-0.02, 1.02], dtick=0.1)
    figure.update_yaxes(range=shown, tickformat=".0%")
    said = f"{bands(passport)} Dashed: the best λ of the paper, a reference."
    return signed(figure, "effect_shares", said, passport)


def rank_flips(frame: pl.DataFrame, passport: Passport, lam: float, k: int) -> go.Figure:
    """Questions whose evidence recall@k changes: rank of the evidence found first, without the
    prior against with it.

    `frame` has `question, text, effect, change, rank_without, rank_having`, the largest changes
    first; ranks that are null lie beyond what was ranked. The first 400 rows are drawn.
    """
    figure = axes(
        f"Questions that λ = {lam:g} flips at K = {k}",
        "each mark is a question; below the diagonal the prior lifts its evidence",
        "rank of the first evidence, query alone (logarithmic)",
        "rank with the prior (logarithmic)",
        height=500,
    )
    figure.add_scatter(
        x=[1, BEYOND],
        y=[1, BEYOND],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.2, "dash": "dot"},
        **{"hoverinfo": "skip", "showlegend": False},
    )
    for effect, (colour, symbol) in LOOKS.items():
        part = frame.head(MOST).filter(pl.col("effect") == effect)
        figure.add_scatter(
            x=part["rank_without"].fill_null(BEYOND).to_list(),
            y=part["rank_having"].fill_null(BEYOND).to_list(),
            mode="markers",
            name=f"{effect} ({len(frame.filter(pl.col('effect') == effect)):,})",
            marker={"color": colour, "symbol": symbol, "size": 9, "opacity": 0.75},
            hovertext=[_told(row) for row in part.iter_rows(named=True)],
            hoverinfo="text",
        )
    _rank_axes(figure)
    said = (
        "Single questions, so no interval. A question with several pieces of evidence can flip "
        "by another piece than the first found, whose ranks are drawn."
    )
    if len(frame) > MOST:
        said += f" Of {len(frame):,} questions the {MOST} that change most."
    return signed(figure, "rank_flips", said, passport)


def _rank_axes(figure: go.Figure) -> None:
    """Both axes logarithmic, with a place for what lies beyond the ranks; a legend inside."""
    ticks = {"tickvals": [*TICKS, BEYOND], "ticktext": [*map(str, TICKS), "beyond"]}
    figure.update_xaxes(type="log", **ticks)
    figure.update_yaxes(type="log", **ticks)
    figure.update_layout(showlegend=True, legend={"x": 0.01, "y": 0.99, "yanchor": "top"})


def _told(row: dict[str, Any]) -> str:
    """A question in words: its text, what changes, and from where to where."""
    before, after = (row[name] or "beyond 200" for name in ("rank_without", "rank_having"))
    return (
        f"{plain(row['text'], TEXT_WIDTH)}<br>{plain(row['question'], 40)}: recall "
        f"{row['change']:+.2f}; first evidence from rank {before} to {after}"
    )
