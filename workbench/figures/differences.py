"""Two runs against each other: a row for all questions and one for each category."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import NAME_WIDTH, bands, beside, estimate, rows_axis, signed, span
from workbench.passport import Passport
from workbench.theme import NEUTRAL, SERIES, axes, plain

__all__ = ["category_differences"]

ROW = 40
# The first row is the whole: a shape of its own, not only a colour.
LOOKS = ((SERIES[0], "diamond", 13), (SERIES[1], "circle", 9))


def category_differences(
    frame: pl.DataFrame, passport: Passport, measure: str, names: tuple[str, str] = ("a", "b")
) -> go.Figure:
    """The mean paired difference a − b on a measure, with its interval and test.

    `frame` is `workbench.contrasts.by_category`'s: all questions first, then a row a category.
    `measure` names the values ("recall@25"), `names` the two runs.
    """
    rows = list(frame.iter_rows(named=True))
    figure = axes(
        f"{plain(measure)}: a − b by category",
        f"a: {plain(names[0], 60)}; b: {plain(names[1], 60)}",
        f"difference of {plain(measure)}; right of the line a is better",
        "",
        height=180 + ROW * len(rows),
    )
    figure.add_vline(x=0, line={"color": NEUTRAL, "width": 1.5})
    looks = [LOOKS[min(place, 1)] for place in range(len(rows))]
    figure.add_scatter(
        x=[row["difference"] for row in rows],
        y=list(range(len(rows))),
        mode="markers",
        marker={
            "color": [colour for colour, _, _ in looks],
            "symbol": [symbol for _, symbol, _ in looks],
            "size": [size for _, _, size in looks],
            "opacity": 1,  # plotly pales marks of several sizes
        },
        error_x=_whiskers(rows),
        hovertext=[_told(row) for row in rows],
        hoverinfo="text",
    )
    for place, row in enumerate(rows):
        _write_beside(figure, place, row)
    _axes(figure, frame, rows)
    return signed(figure, "category_differences", _said(rows, passport), passport)


def _axes(figure: go.Figure, frame: pl.DataFrame, rows: list[dict[str, Any]]) -> None:
    """A name a row, the first on top; values that hold every interval and zero."""
    labels = [f"{plain(row['category'], NAME_WIDTH)} (n = {row['n']:,})" for row in rows]
    rows_axis(figure, labels)
    ends = span(frame.rename({"difference": "mean"}).select("mean", "lo", "hi"), 0.0)
    figure.update_xaxes(range=ends, tickformat=".3~f")
    figure.update_layout(margin_r=200)


def _write_beside(figure: go.Figure, place: int, row: dict[str, Any]) -> None:
    """The difference with its interval and test, at the right of its row."""
    beside(figure, place, _beside(row), align="left")


def _said(rows: list[dict[str, Any]], passport: Passport) -> str:
    few = [row["category"] for row in rows if row["basis"] == "questions"]
    lone = f" Over questions where conversations are too few: {', '.join(few)}." if few else ""
    return (
        f"{bands(passport, 'Whiskers, brackets')}{lone} p: paired permutation test; corrected by "
        "Holm over the categories."
    )


def _beside(row: dict[str, Any]) -> str:
    value = estimate({**row, "mean": row["difference"]}, "+.3f")
    corrected = row["p_holm"] is not None
    p = row["p_holm"] if corrected else row["p"]
    return f"{value}<br>{'corrected p' if corrected else 'p'} {_p(p)}"


def _p(p: float) -> str:
    return "&lt; 0.001" if p < 0.001 else f"= {p:.3f}"


def _told(row: dict[str, Any]) -> str:
    return (
        f"{plain(row['category'], 60)} (n = {row['n']:,})<br>a {row['a']:.3f}, b {row['b']:.3f}"
        f"<br>a − b = {estimate({**row, 'mean': row['difference']}, '+.3f')}"
    )


def _whiskers(rows: list[dict[str, Any]]) -> dict[str, object]:
    known = [row["lo"] is not None and row["hi"] is not None for row in rows]
    pairs = list(zip(rows, known, strict=True))
    return {
        "type": "data",
        "symmetric": False,
        "array": [row["hi"] - row["difference"] if there else 0 for row, there in pairs],
        "arrayminus": [row["difference"] - row["lo"] if there else 0 for row, there in pairs],
        "color": NEUTRAL,
        "thickness": 1.5,
        "width": 4,
    }
