"""One question's memories, ranked without and with the prior: which rise, fall, enter and leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workbench.figures.drawing import signed
from workbench.passport import Passport
from workbench.theme import NEUTRAL, SERIES, axes, plain

__all__ = ["rank_movement"]

TEXT_WIDTH, ROW = 40, 26
ROSE, FELL = SERIES[0], SERIES[1]


def rank_movement(asked: Mapping[str, Any], passport: Passport) -> go.Figure:
    """Two rankings of one question as columns, each memory's places joined by a line.

    `asked` is what `workbench ask --json` prints: `question, user, evidence, recipe, rankings`
    with `rank, memory_id, text, owner, sources, rank_without` in each; `searched_with` where a
    rewriter put the question into other words. A memory that stands in
    one column only leads to, or comes from, beyond the foot, with its rank there where known.
    """
    before, after = asked["rankings"]["without"], asked["rankings"]["with"]
    depth = max(len(before), len(after), 1)
    gold = set(asked.get("evidence") or ())
    recipe = asked["recipe"]
    figure = axes(
        plain(asked["question"], 90),
        f"as {plain(asked['user'], 60)}; left: the query alone, right: with the prior "
        f"{plain(recipe['prior'], 40)}, λ = {recipe['lam']:g}",
        "",
        "",
        height=100 + ROW * (depth + 1),
    )
    # All at once: plotly checks every annotation again for each one that is added.
    figure.add_traces(list(_lines(before, after, depth)))
    figure.update_layout(
        annotations=[
            _name(hit, column, gold) for column, hits in enumerate((before, after)) for hit in hits
        ]
    )
    figure.update_xaxes(range=[-0.03, 1.03], visible=False)
    figure.update_yaxes(range=[depth + 1.2, 0.4], visible=False)
    side = 40 + int(6.3 * TEXT_WIDTH)
    figure.update_layout(margin={"l": side, "r": side + 70, "b": 12})
    said = (
        "One question, so no interval. Blue: higher with the prior; vermillion: lower; dashed: "
        f"from below rank {depth}; dotted: to below it. ★ holds evidence."
    )
    if "searched_with" in asked:
        said = f"Both searched with “{plain(asked['searched_with'], 120)}”. {said}"
    return signed(figure, "rank_movement", said, passport)


def _colour(hit: Mapping[str, Any]) -> str:
    was = hit["rank_without"]
    if was == hit["rank"]:
        return NEUTRAL
    return ROSE if was is None or was > hit["rank"] else FELL


def _lines(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], depth: int
) -> Iterator[go.Scatter]:
    """A line for each memory of either ranking, to or from below the foot where it is in one."""
    kept = {hit["memory_id"] for hit in after}
    for hit in before:
        if hit["memory_id"] not in kept:
            yield _line(hit["rank"], depth + 1, NEUTRAL, "dot")
    for hit in after:
        was = hit["rank_without"]
        start = was if was is not None and was <= depth else depth + 1
        yield _line(start, hit["rank"], _colour(hit), "solid" if start <= depth else "dash")


def _line(start: int, end: int, colour: str, dash: str) -> go.Scatter:
    return go.Scatter(
        x=[0, 1],
        y=[start, end],
        mode="lines",
        line={"color": colour, "width": 2, "dash": dash},
        hoverinfo="skip",
    )


def _name(hit: Mapping[str, Any], column: int, gold: set[str]) -> dict[str, Any]:
    """A memory's rank and text beside its place: left of the left column, right of the right."""
    star = "★ " if gold.intersection(hit["sources"]) else ""
    text = f"{star}{plain(hit['text'], TEXT_WIDTH)}"
    was = hit["rank_without"]
    moved = f" (from {was})" if column and was not in (None, hit["rank"]) else ""
    return {
        "text": f"<b>{hit['rank']}</b>{moved}  {text}"
        if column
        else f"{text}  <b>{hit['rank']}</b>",
        "x": column,
        "y": hit["rank"],
        "xanchor": "left" if column else "right",
        "xshift": 6 if column else -6,
        "showarrow": False,
        "font": {"size": 12},
        "hovertext": f"{plain(hit['owner'], 40)}: {plain(hit['text'], 400)}",
    }
