"""The plane of question and profile: every memory's shadow, and the line that the evidence sets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import signed
from workbench.passport import Passport
from workbench.theme import NEUTRAL, SERIES, axes, faded, plain

if TYPE_CHECKING:
    from workbench.plane import Plane

__all__ = ["prior_plane"]

QUESTION, AHEAD, EVIDENCE, PROFILE = SERIES[:4]


def prior_plane(seen: Plane, passport: Passport, turn: str) -> go.Figure:
    """The shadows of all memories in the plane of question and profile; what lies beyond the line
    through the evidence `turn`, at right angles to z, is ranked before it."""
    held = seen.points.filter(pl.col("sources").list.contains(turn)).sort("rank").head(1)
    line = float(held["along"][0]) if len(held) else math.inf
    rank = int(held["rank"][0]) if len(held) else 0
    shadows = seen.points.select("x", "y").to_numpy()
    reach, low = 1.18 * max(float(shadows.max()), 0.3), 1.15 * min(float(shadows.min()), -0.05)
    figure = axes(
        f"The plane of question and profile, λ = {seen.lam:g}",
        f"{rank - 1} memories lie beyond the line, so the evidence has rank {rank}"
        if rank
        else "no memory holds the evidence",
        "along the question (cosine)",
        "towards the profile",
        height=560,
    )
    if rank:
        _beyond(figure, seen.mixed, line, 3 * reach)
        figure.add_annotation(
            text="beyond the line: ranked before ★",
            **{"x": 0.99, "y": 0.98, "xref": "paper", "yref": "paper", "showarrow": False},
        )
    _dots(figure, seen, rank)
    for vector, name, colour in (
        ((1.0, 0.0), "question", QUESTION),
        (seen.prior, "profile", PROFILE),
        (seen.mixed, "z, the mixture", NEUTRAL),
    ):
        _arrow(figure, vector, name, colour, 0.9 * reach)
    figure.update_xaxes(range=[low, reach], zeroline=True)
    figure.update_yaxes(range=[low, reach], zeroline=True, scaleanchor="x", constrain="domain")
    said = (
        f"{len(seen.points):,} memories of one conversation, one question; arrows (all of length "
        "1) are cut short. The order along z is the exact ranking, for every λ. Distances between "
        "dots are not: memories that share nothing may have shadows that touch. ★ the evidence; "
        "vermillion: ranked before it."
    )
    return signed(figure, "prior_plane", said, passport)


def _beyond(figure: go.Figure, mixed: tuple[float, float], line: float, far: float) -> None:
    """The line at a distance along z, and the half-plane beyond it, shaded."""
    x, y = mixed
    foot = (line * x, line * y)
    ends = [(foot[0] - far * y, foot[1] + far * x), (foot[0] + far * y, foot[1] - far * x)]
    corners = [*ends, *((a + far * x, b + far * y) for a, b in reversed(ends))]
    figure.add_scatter(
        x=[a for a, _ in corners],
        y=[b for _, b in corners],
        fill="toself",
        fillcolor=faded(AHEAD, 0.09),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=[a for a, _ in ends],
        y=[b for _, b in ends],
        mode="lines",
        line={"color": AHEAD, "width": 1.5, "dash": "dash"},
        hoverinfo="skip",
    )


def _dots(figure: go.Figure, seen: Plane, rank: int) -> None:
    for wanted, colour, size, symbol in (
        (pl.col("rank") > rank, NEUTRAL, 5, "circle"),
        (pl.col("rank") < rank, AHEAD, 7, "circle"),
        (pl.col("rank") == rank, EVIDENCE, 17, "star"),
    ):
        part = seen.points.filter(wanted)
        figure.add_scatter(
            x=part["x"].to_list(),
            y=part["y"].to_list(),
            mode="markers",
            marker={"color": colour, "size": size, "symbol": symbol, "opacity": 0.8},
            hovertext=[
                f"rank {row['rank']}: {plain(row['text'], 120)}"
                for row in part.iter_rows(named=True)
            ],
            hoverinfo="text",
        )


def _arrow(
    figure: go.Figure, vector: tuple[float, float], name: str, colour: str, length: float
) -> None:
    x, y = (length * part for part in vector)
    figure.add_annotation(
        **{"x": x, "y": y, "ax": 0, "ay": 0, "axref": "x", "ayref": "y", "xref": "x", "yref": "y"},
        text="",
        arrowcolor=colour,
        arrowwidth=2.5,
        arrowhead=2,
    )
    figure.add_annotation(
        text=f'<span style="color:{colour}">●</span> {name}',
        x=x,
        y=y,
        xanchor="right" if vector[0] > 0.9 else "center",
        yanchor="bottom",
        yshift=3,
        showarrow=False,
    )
