"""Whom a prior helps and whom it harms: a row a person, and how all of them are spread."""

from __future__ import annotations

import html
from typing import Any

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import NAME_WIDTH, beside, estimate, rows_axis, signed, span
from workbench.passport import Passport
from workbench.theme import MUTED, NEUTRAL, SERIES, axes, plain

__all__ = ["MOST_USERS", "gain_by_user"]

MOST_USERS = 40  # rows that can be read; beyond, the two ends are drawn
ROW = 26
GAINS, LOSES = SERIES[0], SERIES[1]


def gain_by_user(
    frame: pl.DataFrame, passport: Passport, k: int, chosen: tuple[str, str] = ("", "")
) -> go.Figure:
    """A row for each person, those whom the prior harms most on top: the mean change of evidence
    recall@k with its interval, and how many questions it helped and hurt.

    `frame` is `workbench.effects.by_user`'s. Beyond 40 people, the 20 at either end are drawn, and
    the caption says so. `chosen` (scope, person) is marked.
    """
    rows = list(frame.iter_rows(named=True))
    drawn = (
        rows if len(rows) <= MOST_USERS else [*rows[: MOST_USERS // 2], *rows[-MOST_USERS // 2 :]]
    )
    several = len({row["scope"] for row in rows}) > 1
    figure = axes(
        f"What the prior does to each person’s recall@{k}",
        "left of the line it harms, right of it it helps; a dot a person, whiskers its interval",
        f"change of evidence recall@{k}",
        "",
        height=150 + ROW * max(len(drawn), 1),
    )
    figure.add_vline(x=0, line={"color": NEUTRAL, "width": 1.5})
    names = [_name(row, several, chosen) for row in drawn]
    figure.add_scatter(
        x=[row["mean"] for row in drawn],
        y=list(range(len(drawn))),
        mode="markers",
        marker={
            "color": [_colour(row["mean"]) for row in drawn],
            "symbol": ["diamond" if row["mean"] < 0 else "circle" for row in drawn],
            "size": [14 if (row["scope"], row["user"]) == chosen else 9 for row in drawn],
        },
        error_x=_whiskers(drawn),
        hovertext=[_told(row) for row in drawn],
        hoverinfo="text",
    )
    _rows_axis(figure, drawn, names)
    if rows:
        figure.update_xaxes(range=span(frame, 0.0), tickformat=".2f")
    return signed(figure, "gain_by_user", _said(frame, len(drawn), passport), passport)


def _rows_axis(figure: go.Figure, drawn: list[dict[str, Any]], names: list[str]) -> None:
    """Name the rows, the first on top, and write the counts beside them."""
    for place, row in enumerate(drawn):
        said = f"{row['helped']} helped, {row['hurt']} hurt of {row['n']}"
        beside(figure, place, said, opacity=MUTED)
    rows_axis(figure, names)
    longest = max((len(html.unescape(name)) for name in names), default=0)
    figure.update_layout(margin_l=40 + 8 * longest, margin_r=170)


def _colour(mean: float) -> str:
    return NEUTRAL if mean == 0 else LOSES if mean < 0 else GAINS


def _said(frame: pl.DataFrame, drawn: int, passport: Passport) -> str:
    """The caption: how many gain and lose, and what the whiskers are."""
    means = frame["mean"].to_list()
    harmed = sum(mean < 0 for mean in means)
    sure = sum(hi is not None and hi < 0 for hi in frame["hi"].to_list())
    cut = f" The {drawn} at both ends are drawn." if drawn < len(means) else ""
    return (
        f"{len(means):,} people: {sum(mean > 0 for mean in means):,} gain on average, "
        f"{harmed:,} lose ({sure:,} with an interval below 0).{cut} “A & B”: questions that "
        "name both. Whiskers: "
        f"{passport.level:.0%} intervals over that person’s questions; nothing is corrected for "
        "how many people there are."
    )


def _name(row: dict[str, Any], several: bool, chosen: tuple[str, str]) -> str:
    where = f" ({row['scope']})" if several and row["scope"] != row["user"] else ""
    name = plain(f"{row['user']}{where}", NAME_WIDTH)
    return f"<b>{name}</b>" if (row["scope"], row["user"]) == chosen else name


def _told(row: dict[str, Any]) -> str:
    return (
        f"{plain(row['user'], 60)} in {plain(row['scope'], 40)}<br>{estimate(row, '+.3f')}<br>"
        f"{row['helped']} helped, {row['hurt']} hurt, {row['unchanged']} unchanged"
    )


def _whiskers(rows: list[dict[str, Any]]) -> dict[str, object]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [0 if row["hi"] is None else row["hi"] - row["mean"] for row in rows],
        "arrayminus": [0 if row["lo"] is None else row["mean"] - row["lo"] for row in rows],
        "color": NEUTRAL,
        "thickness": 1.5,
        "width": 4,
    }
