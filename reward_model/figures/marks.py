"""What rows of marks share: values with whiskers, the paper's hollow ones, remarks, the names."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workbench.figures.drawing import estimate
from workbench.theme import NEUTRAL, TOP

__all__ = [
    "HOLLOW",
    "Look",
    "Rows",
    "dots",
    "hollow",
    "legend_above",
    "remark",
    "rows_axis",
    "whiskers",
]

Rows = Sequence[Mapping[str, Any]]
Look = tuple[str, str, str]  # name, colour, shape

# Below one another: a line of them would break on a narrow page, and grow into the titles.
LEGEND = {"orientation": "v", "y": 1, "yanchor": "bottom", "x": 0, "xanchor": "left"}
LEGEND_LINE = 20  # pixels
HOLLOW = "paper (its own data)"


def dots(figure: go.Figure, group: Rows, mark: Look, names: Sequence[str]) -> None:
    """Marks of one look (name, colour, shape) at `mean`, `at`, with whiskers; none for None."""
    shown = [(one, name) for one, name in zip(group, names, strict=True) if one["mean"] is not None]
    if not shown:
        return
    label, colour, shape = mark
    figure.add_scatter(
        x=[one["mean"] for one, _ in shown],
        y=[one["at"] for one, _ in shown],
        mode="markers",
        name=label,
        marker={"color": colour, "symbol": shape, "size": 10},
        error_x=whiskers([one for one, _ in shown]),
        hovertext=[f"{name}<br>{label}<br>{estimate(one)}" for one, name in shown],
        hoverinfo="text",
    )


def hollow(
    figure: go.Figure,
    points: Sequence[tuple[float, float, Any]],
    marks: Mapping[Any, Look],
) -> None:
    """The paper's values as hollow marks in the colours of ours; one entry in the legend."""
    if not points:
        return
    first = not any(trace.name == HOLLOW for trace in figure.data)
    figure.add_scatter(
        x=[value for value, _, _ in points],
        y=[at for _, at, _ in points],
        mode="markers",
        name=HOLLOW,
        showlegend=first,
        marker={
            "symbol": [f"{marks[kind][2]}-open" for _, _, kind in points],
            "color": [marks[kind][1] for _, _, kind in points],
            "size": 13,
            "line": {"width": 1.5},
        },
        hovertext=[f"paper: {value:.3f}" for value, _, _ in points],
        hoverinfo="text",
    )


def remark(figure: go.Figure, at: float, text: str) -> None:
    """A text at the right of a row, or inside it where there is no value."""
    inside = not text[:1].isdigit()
    figure.add_annotation(
        text=text,
        x=0.02 if inside else 1,
        xref="paper",
        xanchor="left",
        xshift=0 if inside else 8,
        y=at,
        showarrow=False,
        font={"size": 12},
    )


def whiskers(rows: Rows) -> dict[str, object]:
    """From mean to the interval's ends; none where an end is unknown."""
    ends = {
        name: [None if one[end] is None else sign * (one[end] - one["mean"]) for one in rows]
        for name, end, sign in (("array", "hi", 1), ("arrayminus", "lo", -1))
    }
    style = {"type": "data", "symmetric": False, "color": NEUTRAL, "thickness": 1.5, "width": 4}
    return {**style, **ends}


def rows_axis(figure: go.Figure, names: Sequence[str]) -> None:
    """Name the rows of y, the first on top, and the legend above them."""
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=list(names),
        range=[len(names) - 0.4, -0.6],
        showgrid=False,
        ticklabelstandoff=8,
    )
    longest = max((len(html.unescape(name)) for name in names), default=0)
    figure.update_layout(margin_l=40 + 7 * longest)
    legend_above(figure)


def legend_above(figure: go.Figure) -> None:
    """The legend of all traces so far between titles and plot, which keeps its height."""
    entries = sum(bool(one.name) and one.showlegend is not False for one in figure.data)
    figure.update_layout(
        showlegend=True,
        legend=LEGEND,
        margin_t=TOP + LEGEND_LINE * max(entries, 1),
        height=figure.layout.height + LEGEND_LINE * max(entries - 1, 0),
    )
