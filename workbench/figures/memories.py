"""What is remembered: sessions in time, a map of memories, coverage of evidence, dimensions, and
what a session added. Counts of a whole history are no samples: they have no intervals."""

from __future__ import annotations

from collections.abc import Collection

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import NAME_WIDTH, bands, beside, rows_axis, signed
from workbench.figures.memory_marks import (
    bars,
    cloud,
    divided,
    of_session,
    origin,
    rays,
)
from workbench.memory_map import MemoryMap
from workbench.passport import Passport
from workbench.theme import NEUTRAL, SERIES, axes, faded, plain

__all__ = [
    "coverage_bars",
    "dimension_bars",
    "map_of_memories",
    "session_changes",
    "session_timeline",
]

ROW, GROUP = 24, 16  # pixels of a bar, and between groups of bars
LAYERS = {"episodic": SERIES[0], "semantic": SERIES[1], "profile": SERIES[2]}
SYMBOLS = {"episodic": ("circle", 7), "semantic": ("diamond", 10), "profile": ("star", 13)}
CHANGES = {"unchanged": NEUTRAL, "grown": SERIES[2], "new": SERIES[0], "gone": SERIES[1]}
VALUES = {
    **{"past": SERIES[0], "present": SERIES[2], "future": SERIES[4]},
    **{"objective": SERIES[0], "subjective": SERIES[4]},
    **{"certain": SERIES[0], "speculative": SERIES[4], "unknown": NEUTRAL},
}


def session_timeline(
    sessions: pl.DataFrame, passport: Passport, chosen: int | None = None
) -> go.Figure:
    """How much was said, and remembered, session by session.

    `sessions` is `inspection.timeline`, or its `by_month`; where it has a column `memories`, how
    many each gave is drawn, too. Against time where every session states one, else in reading
    order. `chosen` is a `place` to be marked.
    """
    what = "month" if "sessions" in sessions.columns else "session"
    dated = len(sessions) > 0 and sessions["start"].null_count() == 0
    remembered = "memories" in sessions.columns
    figure = axes(
        f"What was said in each {what}",
        "● turns" + ("   ◇ memories made of them" if remembered else ""),
        "" if dated else f"{what}, in reading order",
        "number",
        height=330,
    )
    xs, turns = sessions["start" if dated else "place"].to_list(), sessions["turns"].to_list()
    figure.add_scatter(
        x=[x for at in xs for x in (at, at, None)],
        y=[y for n in turns for y in (0, n, None)],
        mode="lines",
        line={"color": faded(SERIES[0], 0.45), "width": 2},
        hoverinfo="skip",
    )
    hover = [of_session(row, what) for row in sessions.iter_rows(named=True)]
    dots = {"x": xs, "mode": "markers", "hovertext": hover, "hoverinfo": "text"}
    colours = [SERIES[1] if place == chosen else SERIES[0] for place in sessions["place"]]
    figure.add_scatter(y=turns, marker={"color": colours, "size": 9}, **dots)
    if remembered:
        open_diamonds = {"color": SERIES[2], "symbol": "diamond-open", "size": 11}
        figure.add_scatter(y=sessions["memories"].to_list(), marker=open_diamonds, **dots)
    figure.update_yaxes(rangemode="tozero")
    said = f"n = {sum(turns):,} turns in {len(sessions):,} {what}s, all that there are."
    said += " Times as the source states them." if dated else ""
    said += " Vermillion: the session chosen." if chosen is not None else ""
    return origin(figure, "session_timeline", said, passport)


def map_of_memories(
    drawn: MemoryMap, passport: Passport, chosen: str = "", near: Collection[str] = ()
) -> go.Figure:
    """Memories in two dimensions (`memory_map.memory_map`), a colour a person, a shape a layer.

    `chosen` is the id of a memory to be marked; lines lead from it to those of `near`.
    """
    points, shares = drawn.points, drawn.shares
    figure = axes(
        "A map of what is remembered",
        "● episodic  ◆ semantic  ★ profile",
        f"first direction ({shares[0]:.0%} of the variance)",
        f"second direction ({shares[1]:.0%})",
        height=540,
    )
    for place, owner in enumerate(dict.fromkeys(points["owner"])):
        for layer, (symbol, size) in SYMBOLS.items():
            part = points.filter((pl.col("layer") == layer) & (pl.col("owner") == owner))
            look = {"color": SERIES[place % len(SERIES)], "symbol": symbol, "size": size}
            cloud(figure, part, {**look, "opacity": 0.55 if layer == "episodic" else 0.95})
    rays(figure, points, chosen, near)
    figure.update_layout(
        showlegend=True,
        legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1.0},
        legend_yanchor="bottom",
    )
    sampled = " (a seeded sample)" if drawn.drawn < drawn.total else ""
    said = (
        f"n = {drawn.drawn:,} of {drawn.total:,} episodic memories{sampled}. Axes: the first two "
        f"principal components of {drawn.dim} directions, with {sum(shares):.0%} of the variance: "
        "near on the map need not be near in meaning. "
    )
    if chosen:
        said += "Ring: the memory chosen; lines: to those nearest by the whole vectors. "
    return origin(figure, "map_of_memories", said + "Nothing is estimated.", passport)


def coverage_bars(frame: pl.DataFrame, passport: Passport) -> go.Figure:
    """How much of the questions' evidence each layer of memory holds (`Coverage.shares` of
    `memory_quality`).

    A group of bars for each category, a bar with its interval for each layer.
    """
    categories = list(dict.fromkeys(frame["category"]))
    layers = list(dict.fromkeys(frame["series"]))
    counts = dict(frame.select("category", "n").iter_rows())
    figure = axes(
        "How much of the evidence is remembered",
        "what no memory rests on, no ranking can find",
        "mean share of a question’s evidence turns",
        "",
        height=150 + (ROW * len(layers) + GROUP) * len(categories),
    )
    step = 0.8 / max(len(layers), 1)
    for place, layer in enumerate(layers):
        rows = [row for row in frame.iter_rows(named=True) if row["series"] == layer]
        shift = (place - (len(layers) - 1) / 2) * step
        ys = [categories.index(row["category"]) + shift for row in rows]
        bars(figure, rows, ys, (LAYERS.get(layer, NEUTRAL), step * 0.86))
        for row, y in zip(rows, ys, strict=True):
            beside(figure, y, f"{layer} {row['mean']:.0%}")
    rows_axis(figure, [f"{plain(c, NAME_WIDTH)} (n = {counts[c]:,})" for c in categories])
    figure.update_xaxes(range=[0, 1.005], tickformat=".0%")
    figure.update_layout(margin_r=120)
    said = (
        f"{bands(passport, 'Whiskers')} Where all questions of a bar have the same share, they "
        "are over questions."
    )
    return signed(figure, "coverage_bars", said, passport)


def dimension_bars(counts: pl.DataFrame, passport: Passport) -> go.Figure:
    """How often each value of the retrieval dimensions occurs (`memory_quality.dimension_counts`):
    a bar for each dimension, divided by value."""
    figure = axes(
        "When, how personal, how sure: the dimensions of memories",
        "given by rule; “unknown” never matches a question",
        "share of the memories",
        "",
        height=290,
    )
    rows = [(row["dimension"], row["value"], row["n"]) for row in counts.iter_rows(named=True)]
    divided(figure, rows, VALUES)
    said = f"n = {passport.n:,} memories. Counts of all of them, no sample: no intervals."
    return origin(figure, "dimension_bars", said, passport)


def session_changes(counts: pl.DataFrame, passport: Passport, rebuilt: bool = True) -> go.Figure:
    """What adding a session did to each layer of memory (`streaming.Difference.counts`)."""
    figure = axes(
        "What the session added",
        "unchanged, grown (more sources), new, gone (broken up or replaced)",
        "share of what there was before and after",
        "",
        height=290,
    )
    rows = [(row["layer"], row["change"], row["n"]) for row in counts.iter_rows(named=True)]
    divided(figure, rows, CHANGES)
    how = (
        "Clusters and profiles made anew for both moments"
        if rebuilt
        else "Too long to make clusters and profiles anew: those that rest on nothing later"
    )
    said = f"n = {passport.n:,} memories, clusters and facts. {how}. Counts: no intervals."
    return origin(figure, "session_changes", said, passport)
