"""Ranks without and with the prior: of the same words asked by several people, and of every
question."""

from __future__ import annotations

import math
from typing import Any

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import signed
from workbench.passport import Passport
from workbench.theme import NEUTRAL, SERIES, axes, plain

__all__ = ["rank_scatter", "same_words"]

ROSE, FELL = SERIES[0], SERIES[1]
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
RANKS = ("rank_without", "rank_having")
ROW = 46


def same_words(frame: pl.DataFrame, passport: Passport, k: int) -> go.Figure:
    """The rank of each person's own evidence, without the prior (ring) and with it (dot).

    `frame` has `scope, user, rank_without, rank_having`: rows of `effects.Ranked.at` that ask the
    same words. Ranks that are not known stand at the right end.
    """
    far = 2 * _farthest(frame, k)
    figure = axes(
        "Same words, different people: where is each one’s answer?",
        "ring: by the question alone; dot: with the person’s profile; left is better",
        "rank of the evidence (logarithmic)",
        "",
        height=150 + ROW * len(frame),
    )
    names = []
    for place, row in enumerate(frame.iter_rows(named=True)):
        _moved(figure, place, (row["rank_without"], row["rank_having"]), far)
        names.append(f"{plain(row['user'], 24)} ({plain(row['scope'], 12)})")
    figure.add_vline(x=k + 0.5, line={"color": NEUTRAL, "width": 1.5, "dash": "dash"})
    figure.update_xaxes(**_rank_axis(far))
    figure.update_xaxes(range=[-0.05, math.log10(far) + 0.3])
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
    )
    figure.update_layout(margin_l=120)
    said = (
        f"Rank of the first memory that holds the evidence. Dashed: the first {k} are read. Blue: "
        "the profile lifts it; vermillion: pushes it down. Single questions, so no intervals."
    )
    return signed(figure, "same_words", said, passport)


def rank_scatter(frame: pl.DataFrame, passport: Passport) -> go.Figure:
    """Every question's evidence, its rank without and with the prior; below the diagonal the prior
    lifts it. `frame` is `effects.Ranked.at`'s; ranks that are not known are left out, and counted.
    """
    known = frame.drop_nulls(RANKS)
    far = _farthest(known, 10)
    figure = axes(
        "Every question: helped or hurt?",
        "a dot is a question; below the diagonal the profile lifts its evidence",
        "rank by the question alone (logarithmic)",
        "rank with the profile",
        height=520,
    )
    ends = [0.8, 1.3 * far]
    figure.add_scatter(
        x=ends, y=ends, mode="lines", line={"color": NEUTRAL, "dash": "dot"}, hoverinfo="skip"
    )
    move = pl.col("rank_having") - pl.col("rank_without")
    for wanted, colour, name, x, y in (
        (move < 0, ROSE, "lifted", 0.97, 0.05),
        (move > 0, FELL, "pushed down", 0.03, 0.95),
        (move == 0, NEUTRAL, "unmoved", 0.97, 0.12),
    ):
        part = known.filter(wanted)
        _cloud(figure, part, colour)
        figure.add_annotation(
            text=f'<span style="color:{colour}">●</span> <b>{len(part)}</b> {name}',
            **{"x": x, "y": y, "xref": "paper", "yref": "paper", "showarrow": False},
            xanchor="left" if x < 0.5 else "right",
        )
    figure.update_xaxes(**_rank_axis(far))
    figure.update_yaxes(**_rank_axis(far))
    span = [math.log10(end) for end in ends]
    figure.update_xaxes(range=span)
    figure.update_yaxes(range=span)
    left = len(frame) - len(known)
    said = "Rank of the first memory that holds evidence."
    if left:
        said += f" {left} questions whose evidence stands beyond rank 200 are left out."
    return signed(figure, "rank_scatter", said, passport)


def _moved(figure: go.Figure, place: int, ranks: tuple[int | None, int | None], far: int) -> None:
    """A person's ring and dot, joined, and the two ranks beside them."""
    before, after = ranks
    colour = _colour(before or far, after or far)
    ends = [before or far, after or far]
    figure.add_scatter(
        x=ends,
        y=[place, place],
        mode="lines+markers",
        line={"color": colour, "width": 2.5},
        marker={
            "size": 13,
            "symbol": ["circle-open", "circle"],
            "color": colour,
            "line": {"width": 2.5, "color": colour},
        },
        hovertext=[f"by the question alone: {before}", f"with the profile: {after}"],
        hoverinfo="text",
    )
    figure.add_annotation(
        text=f"{before or 'none'} → {after or 'none'}",
        x=math.log10(max(ends)),
        y=place,
        xanchor="left",
        xshift=12,
        showarrow=False,
    )


def _cloud(figure: go.Figure, part: pl.DataFrame, colour: str) -> None:
    figure.add_scatter(
        x=part["rank_without"].to_list(),
        y=part["rank_having"].to_list(),
        mode="markers",
        marker={"color": colour, "size": 8, "opacity": 0.75},
        hovertext=[
            f"{plain(row['question'], 30)}: {row['rank_without']} → {row['rank_having']}<br>"
            f"{plain(row['user'], 40)}: {plain(row['text'], 90)}"
            for row in part.iter_rows(named=True)
        ],
        hoverinfo="text",
    )


def _rank_axis(far: int) -> dict[str, Any]:
    ticks = [rank for rank in TICKS if rank <= far]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{rank}" for rank in ticks]}


def _farthest(frame: pl.DataFrame, least: int) -> int:
    """The lowest place of any question, `least` or below it."""
    return max([least, *(rank for name in RANKS for rank in frame[name].drop_nulls())])


def _colour(before: int, after: int) -> str:
    return NEUTRAL if before == after else ROSE if after < before else FELL
