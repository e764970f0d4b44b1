"""Lines with bands by series, their names at their ends, and upright marks."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import NAME_WIDTH, estimate
from workbench.theme import MUTED, NEUTRAL, RIGHT, SERIES, faded, plain

__all__ = ["Label", "labelled", "lines", "marked", "spread"]

DASHES = ("solid", "dash", "dot")
BAND, CROWDED = 0.18, 0.07  # opacity of bands, and where many lie on each other
LABEL_GAP = 16.0  # pixels from one direct label to the next


class Label(NamedTuple):
    """A name beside the end of its line, in data units."""

    y: float
    text: str
    colour: str


def lines(
    figure: go.Figure, frame: pl.DataFrame, x: tuple[str, str], form: str = ".3f"
) -> Iterator[Label]:
    """Draw a line with its band for each of `series` (one where there is none); their labels.

    `x` is the column to draw against, and its name for people.
    """
    named = frame if "series" in frame.columns else frame.with_columns(series=pl.lit(""))
    column, shown = x
    parts = named.partition_by("series", maintain_order=True)
    band = BAND if len(parts) < 3 else CROWDED
    for place, part in enumerate(parts):
        name = plain(part["series"][0], NAME_WIDTH)
        colour = SERIES[place % len(SERIES)]
        first = f"{name}<br>" if name else ""
        hover = [
            f"{first}{shown} = {row[column]:g}<br>{estimate(row, form)}"
            for row in part.iter_rows(named=True)
        ]
        points = {
            "x": part[column].to_list(),
            **{key: part[key].to_list() for key in ("mean", "lo", "hi")},
            "hover": hover,
        }
        _banded(figure, points, colour, DASHES[place // len(SERIES) % len(DASHES)], band)
        if name:
            yield Label(part["mean"][-1], name, colour)


def _banded(
    figure: go.Figure, points: Mapping[str, Sequence[Any]], colour: str, dash: str, band: float
) -> None:
    """Add a line with its interval as a band behind it, at an opacity of `band`.

    `points` has the columns x, mean, lo, hi and `hover` (a text each, escaped already).
    """
    x = list(points["x"])
    figure.add_scatter(
        x=x + x[::-1],
        y=[*points["hi"], *reversed(points["lo"])],
        fill="toself",
        fillcolor=faded(colour, band),
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=x,
        y=list(points["mean"]),
        mode="lines",
        line={"color": colour, "width": 2.5, "dash": dash},
        hovertext=list(points["hover"]),
        hoverinfo="text",
    )


def labelled(figure: go.Figure, labels: Sequence[Label], span: tuple[float, float]) -> None:
    """Name lines at their right ends, where they end, pushed apart where they would overlap.

    `span` is the range of the y axis; the labels' texts are escaped already.
    """
    layout = figure.layout
    pixels = (layout.height - layout.margin.t - layout.margin.b) / (span[1] - span[0])
    order = sorted(range(len(labels)), key=lambda place: labels[place].y)
    places = spread([(labels[place].y - span[0]) * pixels for place in order])
    for place, at in zip(order, places, strict=True):
        label = labels[place]
        figure.add_annotation(
            text=f'<span style="color:{label.colour}">●</span> {label.text}',
            x=1,
            xref="paper",
            y=label.y,
            xanchor="left",
            xshift=6,
            yshift=at - (label.y - span[0]) * pixels,
            showarrow=False,
            align="left",
        )
    longest = max((len(html.unescape(label.text)) for label in labels), default=0)
    figure.update_layout(margin_r=RIGHT + 14 + 7 * longest)


def marked(figure: go.Figure, x: float, text: str, dash: str = "dash") -> None:
    """A thin upright line with a remark at its top: a reference, not data."""
    figure.add_vline(x=x, line={"color": NEUTRAL, "width": 1.2, "dash": dash})
    figure.add_annotation(
        text=text,
        x=x,
        y=1,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
        font={"size": 12},
        opacity=MUTED,
    )


def spread(places: Sequence[float]) -> list[float]:
    """Ascending positions, moved as little as their order allows to stand LABEL_GAP apart."""
    groups: list[list[float]] = []  # [sum of wanted starts, members]
    for place in places:
        groups.append([place, 1])
        while len(groups) > 1 and _start(groups[-2]) + groups[-2][1] * LABEL_GAP > _start(
            groups[-1]
        ):
            wanted, members = groups.pop()
            # A later group's members want to stand one gap each below where they are.
            groups[-1][0] += wanted - members * groups[-1][1] * LABEL_GAP
            groups[-1][1] += members
    return [_start(g) + step * LABEL_GAP for g in groups for step in range(int(g[1]))]


def _start(group: Sequence[float]) -> float:
    """Where a group's lowest member stands: the mean of where its members would have it."""
    return group[0] / group[1]
