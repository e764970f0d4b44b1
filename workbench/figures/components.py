"""One question's ranking taken apart: components added in turn, places moved, parts of scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import signed
from workbench.figures.lines import Label, labelled
from workbench.passport import Passport
from workbench.theme import MUTED, NEUTRAL, SERIES, axes, plain

__all__ = ["COLOURS", "NAMES", "component_ladder", "rank_split", "score_parts"]

# What the parts of a score are called, in the order in which they are added. SPEC A.3: λ weighs
# the question, 1 - λ the profile.
NAMES = {
    "query": "λ · question",
    "prior": "(1 − λ) · profile",
    "lexical": "shared words",
    "boost": "dimensions",
    "speaker": "speaker",
    "lent": "lent scores",
    "neighbours": "neighbours",
    "threshold": "threshold",
}
COLOURS = dict(zip(NAMES, [*SERIES, "#b0b0b0", NEUTRAL], strict=True))

TICKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
TEXT_WIDTH, ROW, PART_ROW = 74, 46, 24
ONE = "One question, so no interval."


def component_ladder(frame: pl.DataFrame, passport: Passport, k: int) -> go.Figure:
    """The rank of each piece of evidence as components are added (SPEC A.9.6).

    `frame` is `components.ladder`'s. The dashed line is K: what is below it is not read. Pieces
    that nothing holds, or that a threshold forbids, stand at the foot.
    """
    ranks = frame["rank"].drop_nulls().to_list()
    floor = 2 * max([*ranks, k])
    names = frame.sort("stage")["component"].unique(maintain_order=True).to_list()
    figure = axes(
        "Where the evidence stands as components are added",
        "each step adds one component to those before it; higher is better",
        "",
        "rank (logarithmic)",
        height=400,
    )
    span = (-math.log10(floor) - 0.12, 0.12)
    labels = []
    turns = frame.partition_by("turn", maintain_order=True)
    for place, part in enumerate(turns):
        colour = SERIES[place % len(SERIES)]
        _steps(figure, part, floor, colour, written=len(turns) == 1)
        first, last = part["rank"][0], part["rank"][-1]
        name = f"{plain(part['turn'][0], 24)}: {_rank(first)} → {_rank(last)}"
        labels.append(Label(-math.log10(last or floor), name, colour))
    figure.add_hline(y=-math.log10(k + 0.5), line={"color": NEUTRAL, "width": 1.5, "dash": "dash"})
    labels.append(Label(-math.log10(k + 0.5), f"first {k} are read", NEUTRAL))
    labelled(figure, labels, span)
    _ladder_axes(figure, span, [_first_plus(place, name) for place, name in enumerate(names)])
    said = f"{ONE} Rank of the first memory that holds each turn of evidence."
    if len(ranks) < len(frame):
        said += " At the foot: held by nothing that may be returned."
    if "semantic" in frame["layer"].to_list():
        said += " Diamonds: held by a semantic memory, read besides the K others."
    return signed(figure, "component_ladder", said, passport)


def rank_split(frame: pl.DataFrame, passport: Passport) -> go.Figure:
    """How many places each part of the score moves each piece of evidence.

    `frame` is `components.split`'s. λ · question alone ranks as the question does, since a common
    factor moves nothing; from there every bar is the places gained (right) or lost (left) when one
    more part is added to all memories. Bars add up to the whole movement.
    """
    groups = frame.partition_by("turn", maintain_order=True)
    rows = sum(len(group) for group in groups) + len(groups)
    figure = axes(
        "What moves the evidence, and how many places",
        "right: towards the top; left: away from it",
        "places gained or lost",
        "",
        height=170 + PART_ROW * rows,
    )
    at, moves = 0.0, [0]
    names: dict[float, str] = {}
    for group in groups:
        first, *others = group.iter_rows(named=True)
        last = others[-1] if others else first
        title = f"{plain(first['turn'], 24)}: from rank {_rank(first['after'])} "
        _write(figure, at, f"<b>{title}to {_rank(last['after'])}</b>")
        at += 1
        for row in others:
            names[at] = NAMES.get(row["part"], plain(row["part"], 24))
            moves.append(_bar(figure, at, row))
            at += 1
        at += 0.6
    far = 1.7 * max(1, *map(abs, moves))
    figure.update_xaxes(range=[-far, far], zeroline=True, tickformat="d")
    figure.update_yaxes(
        range=[at - 0.4, -0.7],
        tickvals=list(names),
        ticktext=list(names.values()),
        showgrid=False,
    )
    figure.update_layout(margin_l=140)
    said = f"{ONE} Rank by λ · question alone, then with each part added to every memory."
    return signed(figure, "rank_split", f"{said} One place is one memory overtaken.", passport)


def score_parts(frame: pl.DataFrame, passport: Passport) -> go.Figure:
    """What the score of each memory is made of, the best on top; a frame of `components.parts`."""
    hits = frame.unique("memory", keep="first", maintain_order=True)
    places = {memory: place for place, memory in enumerate(hits["memory"])}
    figure = axes(
        "What each score is made of",
        "rank with the prior (rank without); ★ holds evidence",
        "score",
        "",
        height=178 + ROW * max(len(hits), 1),
    )
    for part in frame["part"].unique(maintain_order=True):
        own = frame.filter(pl.col("part") == part)
        name = NAMES.get(part, plain(part, 24))
        figure.add_bar(
            x=own["value"].to_list(),
            y=[places[memory] for memory in own["memory"]],
            orientation="h",
            width=0.34,
            name=name,
            marker={"color": COLOURS.get(part, NEUTRAL)},
            hovertext=[
                f"{name}: {row['value']:+.3f} of {row['score']:.3f}<br>{plain(row['text'], 300)}"
                for row in own.iter_rows(named=True)
            ],
            hoverinfo="text",
        )
    for row in hits.iter_rows(named=True):
        _write(figure, places[row["memory"]], _headed(row), above=12, left=0)
    figure.update_layout(
        barmode="relative",
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        margin={"l": 20, "t": 112},
    )
    figure.update_xaxes(zeroline=True)
    figure.update_yaxes(visible=False, range=[len(hits) - 0.5, -0.75])
    return signed(figure, "score_parts", f"{ONE} Parts add up to the score.", passport)


def _ladder_axes(figure: go.Figure, span: tuple[float, float], names: list[str]) -> None:
    ticks = [rank for rank in TICKS if -math.log10(rank) >= span[0]]
    figure.update_yaxes(
        range=span, tickvals=[-math.log10(rank) for rank in ticks], ticktext=[f"{t}" for t in ticks]
    )
    places = list(range(len(names)))
    figure.update_xaxes(range=[-0.3, len(names) - 0.7], tickvals=places, ticktext=names)
    figure.update_xaxes(tickangle=0, showgrid=False)


def _steps(
    figure: go.Figure, part: pl.DataFrame, floor: int, colour: str, *, written: bool
) -> None:
    """One turn's line, its rank written at each point where there is room."""
    ranks = part["rank"].to_list()
    figure.add_scatter(
        x=part["stage"].to_list(),
        y=[-math.log10(rank or floor) for rank in ranks],
        mode="lines+markers+text" if written else "lines+markers",
        line={"color": colour, "width": 2.5},
        marker={
            "size": 9,
            "symbol": ["diamond" if one == "semantic" else "circle" for one in part["layer"]],
        },
        text=[_rank(rank) for rank in ranks],
        textposition="top center",
        cliponaxis=False,
        hovertext=[
            f"{plain(row['turn'], 40)}<br>{plain(row['component'])}: rank {_rank(row['rank'])}"
            for row in part.iter_rows(named=True)
        ],
        hoverinfo="text",
    )


def _bar(figure: go.Figure, at: float, row: Mapping[str, Any]) -> int:
    """One part's bar with the ranks before and after it; the places that it moves."""
    before, after = row["before"], row["after"]
    moved = 0 if before is None or after is None else before - after
    figure.add_bar(
        x=[moved],
        y=[at],
        orientation="h",
        width=0.62,
        marker={"color": COLOURS.get(row["part"], NEUTRAL)},
        text=[f"{_signed(moved)}: {_rank(before)} → {_rank(after)}" if before != after else "0"],
        textposition="outside",
        cliponaxis=False,
        hoverinfo="skip",
    )
    return moved


def _write(figure: go.Figure, at: float, text: str, above: float = 0, left: int = -132) -> None:
    figure.add_annotation(
        text=text,
        x=0,
        xref="paper",
        xanchor="left",
        xshift=left,
        y=at,
        yshift=above,
        yanchor="bottom" if above else "middle",
        showarrow=False,
        align="left",
        font={"size": 12},
    )


def _headed(row: Mapping[str, Any]) -> str:
    """A memory's rank, where it comes from, and its text."""
    was = "" if row["rank_without"] == row["rank"] else f" ({_rank(row['rank_without'])})"
    star = "★ " if row["evidence"] else ""
    text = f"<span style='opacity:{MUTED}'>{plain(row['text'], TEXT_WIDTH)}</span>"
    return f"<b>{_rank(row['rank'])}</b>{was}  {star}{text}"


def _signed(places: int) -> str:
    return f"{places:+,}".replace("-", "−")


def _rank(rank: int | None) -> str:
    return "none" if rank is None else f"{rank:,}"


def _first_plus(place: int, name: str) -> str:
    """A component as a label of two lines, which fits where many stand side by side."""
    first, _, rest = plain(name).partition(" ")
    return f"{first}<br>{rest}" if place == 0 else f"+ {first}<br>{rest}"
