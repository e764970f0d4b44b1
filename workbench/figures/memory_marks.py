"""Marks that the figures of memories are drawn with: clouds of points, rays, bars, rows."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import NAME_WIDTH, estimate, rows_axis
from workbench.passport import Passport
from workbench.theme import MUTED, NEUTRAL, captioned, faded, plain, visible

__all__ = [
    "bars",
    "cloud",
    "divided",
    "folded",
    "of_session",
    "origin",
    "rays",
]

ROOM = 0.14  # of a bar’s length: what is shorter has no room for its name
HOVER = 240  # characters of a text that a hover shows


def origin(figure: go.Figure, name: str, said: str, passport: Passport) -> go.Figure:
    """The finished figure: what it shows and counts, where from, its name and passport."""
    meta = {"figure": name, "passport": msgspec.to_builtins(passport)}
    return captioned(figure, f"{said} {passport.origin}.", meta)


def cloud(figure: go.Figure, points: pl.DataFrame, look: Mapping[str, Any]) -> None:
    """Points (`text, owner, layer, x, y`) of one owner and layer, their texts where one hovers.

    The owner's name enters the legend with the episodic ones."""
    if not len(points):
        return
    owner, layer = points["owner"][0], points["layer"][0]
    figure.add_scatter(
        x=points["x"].to_list(),
        y=points["y"].to_list(),
        mode="markers",
        marker=dict(look),
        name=plain(owner, NAME_WIDTH) or "nobody named",
        legendgroup=plain(owner),
        showlegend=layer == "episodic",
        hovertext=[f"{layer}<br>{folded(text)}" for text in points["text"]],
        hoverinfo="text",
    )


def rays(figure: go.Figure, points: pl.DataFrame, chosen: str, near: Collection[str]) -> None:
    """A ring around a memory, and lines from it to others, as far as they are drawn."""
    places = {
        memory: (x, y)
        for memory, x, y in points.select("memory", "x", "y").iter_rows()
        if memory == chosen or memory in near
    }
    if chosen not in places:
        return
    x, y = places.pop(chosen)
    for other_x, other_y in places.values():
        figure.add_scatter(
            x=[x, other_x],
            y=[y, other_y],
            mode="lines",
            line={"color": NEUTRAL, "width": 1.5},
            hoverinfo="skip",
            showlegend=False,
        )
    ring = {"symbol": "circle-open", "size": 20, "color": NEUTRAL, "line": {"width": 3}}
    figure.add_scatter(
        x=[x], y=[y], mode="markers", marker=ring, hoverinfo="skip", showlegend=False
    )


def bars(
    figure: go.Figure,
    rows: Sequence[Mapping[str, Any]],
    ys: Sequence[float],
    look: tuple[str, float],
) -> None:
    """Bars of `mean` with whiskers from `lo` to `hi`; `look` is their colour and width."""
    colour, width = look
    ends = [
        (
            row["mean"] if row["lo"] is None else row["lo"],
            row["mean"],
            row["mean"] if row["hi"] is None else row["hi"],
        )
        for row in rows
    ]
    figure.add_bar(
        x=[mean for _, mean, _ in ends],
        y=list(ys),
        orientation="h",
        width=width,
        marker={"color": faded(colour, 0.45), "line": {"color": colour, "width": 1.5}},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [hi - mean for _, mean, hi in ends],
            "arrayminus": [mean - lo for lo, mean, _ in ends],
            "color": NEUTRAL,
            "thickness": 1.2,
            "width": 3,
        },
        hovertext=[
            f"{plain(row['category'])}, {row['series']}<br>{estimate(row)}<br>"
            f"{row['covered']:,} of {row['pieces']:,} pieces of evidence"
            for row in rows
        ],
        hoverinfo="text",
    )


def divided(
    figure: go.Figure, rows: Sequence[tuple[str, str, int]], colours: Mapping[str, str]
) -> None:
    """A bar of length 1 for each name, divided by value; a part is named in it, or where it is too
    small, above it."""
    names = list(dict.fromkeys(name for name, _, _ in rows))
    whole = {name: sum(n for one, _, n in rows if one == name) for name in names}
    reached = dict.fromkeys(names, 0.0)
    left: dict[str, list[str]] = {name: [] for name in names}
    for name, value, n in rows:
        if not n:
            continue
        share = n / whole[name]
        small = share <= ROOM
        colour = colours.get(value, NEUTRAL)
        figure.add_bar(
            x=[share],
            base=[reached[name]],
            y=[names.index(name)],
            orientation="h",
            width=0.62,
            marker={"color": faded(colour, 0.4), "line": {"color": colour, "width": 1.5}},
            hovertext=[f"{name}: {value}<br>{n:,} of {whole[name]:,} ({share:.1%})"],
            hoverinfo="text",
        )
        if small:
            left[name].append(f"{value} {n:,}")
        else:
            within(figure, reached[name] + share / 2, names.index(name), f"{value} {n:,}")
        reached[name] += share
    for name, parts in left.items():
        above(figure, names.index(name) - 0.45, " · ".join(parts))
    rows_axis(figure, [f"{name} (n = {whole[name]:,})" for name in names])
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(range=[0, 1.005], tickformat=".0%")


def within(figure: go.Figure, x: float, y: float, text: str) -> None:
    """A text within a bar, in the mode's ink (a bar's own text keeps that of the light one)."""
    figure.add_annotation(text=text, x=x, y=y, showarrow=False, font={"size": 12})


def above(figure: go.Figure, y: float, text: str) -> None:
    """A small text at the right end above a bar; it is escaped already."""
    figure.add_annotation(
        text=text, x=1, xanchor="right", y=y, showarrow=False, font={"size": 11}, opacity=MUTED
    )


def of_session(row: Mapping[str, Any], what: str) -> str:
    """What one hovers over in a timeline."""
    when = (
        row["start"].strftime("%e %B %Y" if what == "session" else "%B %Y") if row["start"] else ""
    )
    name = f"session {row['place']}" if what == "session" else f"{row['sessions']:,} sessions"
    lines = [f"{name} {when}".strip(), f"{row['turns']:,} turns"]
    if row.get("speakers"):
        lines[1] += f": {folded(row['speakers'])}"
    if row.get("memories") is not None:
        lines.append(f"{row['memories']:,} memories")
    if row.get("title"):
        lines.insert(0, folded(row["title"]))
    return "<br>".join(lines)


def folded(text: str) -> str:
    """Data for a hover: escaped, cut, broken into lines that fit beside the pointer."""
    words = textwrap.wrap(visible(text[: 2 * HOVER]), 64)
    shown = words[: HOVER // 64 + 1]
    return "<br>".join(map(plain, shown)) + (" …" if len(shown) < len(words) else "")
