"""One pair's log odds, from the base rate to the sum, feature by feature."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from reward_model.figures.marks import legend_above
from reward_model.figures.origin import ComparisonPassport, opened
from reward_model.rubric import RUBRIC
from workbench.figures.drawing import NAME_WIDTH, signed
from workbench.theme import NEUTRAL, SERIES, faded, plain

__all__ = ["contribution_waterfall"]

ROW = 30
ABOUT = {True: ("depends on memories", SERIES[0]), False: ("about the responses", SERIES[1])}
OTHER = ("not labelled", SERIES[3])


def contribution_waterfall(explained: Mapping[str, Any], passport: ComparisonPassport) -> go.Figure:
    """What each feature adds to, or takes from, the log odds of preferring memory, for one pair.

    `explained` is an `explanation.Explanation` as a document: `intercept, parts` (`feature, value,
    standardised, coef, contribution, memory`), `logit, probability`; with `comparison`, its id, and
    `prefers_memory` where `fitting.explain_comparison` made it. Largest contributions come first.
    """
    parts = sorted(explained["parts"], key=lambda one: -abs(one["contribution"]))
    figure = opened(
        passport,
        f"Why the model says {explained['probability']:.0%} for memory",
        _which(explained),
        ("log odds of preferring the memory response", ""),
        170 + ROW * (len(parts) + 2),
    )
    reached = explained["intercept"]
    _bar(figure, 0, (0.0, reached), ("", NEUTRAL), f"base rate: {reached:+.3f}")
    for place, one in enumerate(parts, start=1):
        after = reached + one["contribution"]
        _bar(figure, place, (reached, after), ABOUT.get(one["memory"], OTHER), _told(one))
        _step(figure, place, reached)
        reached = after
    last = len(parts) + 1
    _step(figure, last, reached)
    said = f"sum: {explained['logit']:+.3f}, a probability of {explained['probability']:.3f}"
    _bar(figure, last, (0.0, explained["logit"]), ("", NEUTRAL), said)
    figure.add_vline(x=0, line={"color": NEUTRAL, "width": 1.5})
    _axes(figure, ["base rate", *map(_label, parts), "sum"])
    about = dict.fromkeys(ABOUT.get(one["memory"], OTHER) for one in parts)
    for name, colour in about:
        mark = {"color": faded(colour, 0.5), "line": {"color": colour, "width": 1.5}}
        figure.add_bar(x=[None], y=[None], name=name, marker=mark, showlegend=True)
    legend_above(figure)
    caption = (
        "One pair, so no interval. Each bar is a coefficient times a feature’s distance from the "
        "training mean, in standard deviations; bars to the right favour the memory response."
    )
    return signed(figure, "contribution_waterfall", caption, passport)


def _which(explained: Mapping[str, Any]) -> str:
    """Whose pair it is, and what was preferred."""
    said = []
    if explained.get("comparison") is not None:
        said.append(f"comparison {plain(explained['comparison'], 40)}")
    if "prefers_memory" in explained:
        preferred = {True: "memory", False: "no memory", None: "neither, or not judged"}
        said.append(f"preferred: {preferred[explained['prefers_memory']]}")
    return "; ".join(said)


def _bar(
    figure: go.Figure, at: int, ends: tuple[float, float], about: tuple[str, str], hover: str
) -> None:
    _, colour = about
    figure.add_bar(
        base=[ends[0]],
        x=[ends[1] - ends[0]],
        y=[at],
        orientation="h",
        width=0.66,
        showlegend=False,
        marker={"color": faded(colour, 0.5), "line": {"color": colour, "width": 1.5}},
        hovertext=[hover],
        hoverinfo="text",
    )
    right = ends[1] >= ends[0]
    figure.add_annotation(
        text=f"{ends[1] - ends[0]:+.2f}",
        x=ends[1],
        y=at,
        xanchor="left" if right else "right",
        xshift=4 if right else -4,
        showarrow=False,
        font={"size": 12},
    )


def _step(figure: go.Figure, place: int, reached: float) -> None:
    """A thin line from where the row above ended."""
    figure.add_scatter(
        x=[reached, reached],
        y=[place - 0.67, place - 0.33],
        mode="lines",
        line={"color": NEUTRAL, "width": 1, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )


def _told(one: Mapping[str, Any]) -> str:
    return (
        f"{_label(one)}<br>{one['standardised']:+.2f} deviations from the mean × coefficient "
        f"{one['coef']:+.3f} = {one['contribution']:+.3f}"
    )


def _label(one: Mapping[str, Any]) -> str:
    """ "Headings (+2)": the feature and its value."""
    known = RUBRIC.get(one["feature"])
    name = plain(known.title if known else one["feature"], NAME_WIDTH)
    # A zero is no negative number.
    return f"{name} ({one['value'] + 0.0:+.3g})"


def _axes(figure: go.Figure, names: list[str]) -> None:
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[len(names) - 0.4, -0.6],
        showgrid=False,
        ticklabelstandoff=8,
    )
    # Room for the numbers beside the outermost bars.
    ends = [one for trace in figure.data for one in (trace.x or ()) if trace.type == "scatter"]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    room = 0.12 * (high - low) or 0.5
    figure.update_xaxes(range=[low - room, high + room], tickformat=".1f")
    longest = max(len(html.unescape(name)) for name in names)
    figure.update_layout(
        margin_l=40 + 7 * longest,
        barmode="overlay",
    )
