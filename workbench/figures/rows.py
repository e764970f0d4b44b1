"""A row for each setting or category: ablation bars, per-category dots."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import NAME_WIDTH, bands, beside, estimate, rows_axis, signed, span
from workbench.passport import Passport
from workbench.theme import NEUTRAL, SERIES, axes, faded, plain

__all__ = ["ablation_bars", "category_dots"]

SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x")
ROW, BAR, GAP = 30, 42, 0.18  # pixels of a row; how far apart a row’s dots stand, in rows


def ablation_bars(
    frame: pl.DataFrame, passport: Passport, measure: str, title: str = "Ablations"
) -> go.Figure:
    """A bar for each setting, in the frame's order, the whole recipe first.

    `frame` has `setting, mean, lo, hi`, and `difference, difference_lo, difference_hi` (from the
    first row) where it was tested. `measure` names the values ("evidence recall@25").
    """
    rows = list(frame.iter_rows(named=True))
    names = [plain(row["setting"], NAME_WIDTH) for row in rows]
    colours = [SERIES[0], *[SERIES[1]] * (len(rows) - 1)]
    figure = axes(
        f"{plain(title)}: {plain(measure)}",
        f"dotted: {names[0]}; at the right the mean, and the paired difference from that",
        plain(measure),
        "",
        height=190 + BAR * len(rows),
    )
    figure.add_bar(
        x=frame["mean"].to_list(),
        y=list(range(len(rows))),
        orientation="h",
        width=0.62,
        marker={
            "color": [faded(colour, 0.45) for colour in colours],
            "line": {"color": colours, "width": 1.5},
        },
        error_x=_errors(frame),
        hovertext=[f"{name}<br>{_both(row)}" for name, row in zip(names, rows, strict=True)],
        hoverinfo="text",
    )
    figure.add_vline(x=rows[0]["mean"], line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    _write_beside(figure, [_both(row) for row in rows])
    _values_axis(figure, frame)
    rows_axis(figure, names)
    return signed(figure, "ablation_bars", bands(passport, "Whiskers, brackets"), passport)


def category_dots(frame: pl.DataFrame, passport: Passport, measure: str) -> go.Figure:
    """A row for each category, in the frame's order, a dot with its interval for each of `series`.

    `frame` has `category, n, mean, lo, hi`, and `series` where several are compared. `measure`
    names the values ("F1, SQuAD").
    """
    named = frame if "series" in frame.columns else frame.with_columns(series=pl.lit(""))
    groups = named.partition_by("series", maintain_order=True)
    counts = dict(named.select("category", "n").iter_rows())
    places = {category: place for place, category in enumerate(counts)}
    figure = axes(
        f"{plain(measure)} by category",
        "",
        plain(measure),
        "",
        height=190 + (ROW + 12 * (len(groups) - 1)) * len(counts),
    )
    for number, group in enumerate(groups):
        shift = GAP * (number - (len(groups) - 1) / 2)
        _dots(figure, group, [places[category] + shift for category in group["category"]], number)
    if len(groups) > 1:
        figure.update_layout(
            showlegend=True, legend={"orientation": "h", "y": 1, "yanchor": "bottom"}
        )
    _values_axis(figure, frame)
    rows_axis(figure, [f"{plain(c, NAME_WIDTH)} (n = {n:,})" for c, n in counts.items()])
    return signed(figure, "category_dots", bands(passport, "Whiskers"), passport)


def _dots(figure: go.Figure, group: pl.DataFrame, y: list[float], number: int) -> None:
    """The dots of one of the series, in its colour and shape."""
    name = plain(group["series"][0], NAME_WIDTH)
    figure.add_scatter(
        x=group["mean"].to_list(),
        y=y,
        mode="markers",
        name=name,
        marker={
            "color": SERIES[number % len(SERIES)],
            "symbol": SYMBOLS[number % len(SYMBOLS)],
            "size": 10,
        },
        error_x=_errors(group),
        hovertext=[
            f"{name}<br>{plain(row['category'])} (n = {row['n']:,})<br>{estimate(row)}"
            for row in group.iter_rows(named=True)
        ],
        hoverinfo="text",
    )


def _write_beside(figure: go.Figure, texts: list[str]) -> None:
    """A text at the right of each row."""
    for place, text in enumerate(texts):
        beside(figure, place, text, align="left")
    figure.update_layout(margin_r=180)


def _both(row: dict[str, Any]) -> str:
    """A setting's mean, and below it the difference from the first one where it was tested."""
    if row.get("difference") is None:
        return estimate(row)
    ends = {"lo": row.get("difference_lo"), "hi": row.get("difference_hi")}
    return f"{estimate(row)}<br>{estimate({'mean': row['difference'], **ends}, '+.3f')}"


def _errors(frame: pl.DataFrame) -> dict[str, object]:
    """Whiskers from mean to the interval's ends; none where an end is unknown."""
    return {
        "type": "data",
        "symmetric": False,
        "array": (frame["hi"] - frame["mean"]).to_list(),
        "arrayminus": (frame["mean"] - frame["lo"]).to_list(),
        "color": NEUTRAL,
        "thickness": 1.5,
        "width": 4,
    }


def _values_axis(figure: go.Figure, frame: pl.DataFrame) -> None:
    """Values from zero, or from below it where an interval reaches there."""
    low, high = span(frame, 0.0)
    reach = frame["lo"].min()
    start = low if isinstance(reach, float) and reach < 0 else 0.0
    figure.update_xaxes(range=[start, high], tickformat=".2f", zeroline=True)
