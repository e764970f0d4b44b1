"""What several figures share: estimates in words, ranges, the K axis, the signature."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import plotly.graph_objects as go
import polars as pl

from workbench.passport import Passport
from workbench.provenance import code_digest
from workbench.theme import captioned

__all__ = [
    "NAME_WIDTH",
    "PAPER_LAMBDA",
    "again",
    "bands",
    "beside",
    "estimate",
    "k_axis",
    "rows_axis",
    "signed",
    "span",
]

PAPER_LAMBDA = 0.8  # where the paper reports its best: a reference beside our own finding
NAME_WIDTH = 34  # characters of a name that are drawn
K_TICKS = (1, 2, 5, 10, 25, 50, 100, 200, 500, 1000)
HEADROOM = 0.08


def estimate(row: Mapping[str, Any], form: str = ".3f") -> str:
    """ "0.579 [0.541, 0.618]", or what of it is known."""
    if row["mean"] is None:
        return "not defined"
    mean = format(row["mean"], form)
    if row.get("lo") is None or row.get("hi") is None:
        return mean
    return f"{mean} [{row['lo']:{form}}, {row['hi']:{form}}]"


def span(frame: pl.DataFrame, *also: float) -> tuple[float, float]:
    """The range that holds every interval (and `also`), with a little room."""
    ends = pl.concat([frame[name] for name in ("lo", "hi", "mean")]).drop_nulls().to_list()
    held = [*ends, *also]
    low, high = min(held, default=0.0), max(held, default=1.0)
    room = HEADROOM * (high - low) or 0.05
    return low - room, high + room


def k_axis(figure: go.Figure, ks: pl.Series) -> None:
    """Make x a logarithmic axis of K, marked at the round values between its ends."""
    kept = ks.to_list()
    ticks = [k for k in K_TICKS if min(kept) <= k <= max(kept)]
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{k}" for k in ticks])


def bands(passport: Passport, what: str = "Bands") -> str:
    """What the intervals of a figure are."""
    return f"{what}: {passport.intervals}."


def signed(figure: go.Figure, name: str, said: str, passport: Passport) -> go.Figure:
    """The finished figure: caption (what is shown, how many, where from), name and passport."""
    caption = f"{said} {passport.counts}. {passport.origin}."
    meta = {
        "figure": name,
        "passport": msgspec.to_builtins(passport),
    }
    return captioned(figure, caption, meta)


def again(figure: go.Figure, kind: str, **how: Any) -> go.Figure:
    """The figure with what it takes to draw it again where its passport alone does not say: a kind
    of `workbench.scenes` and its arguments, plain values, and the code's digest of today."""
    told = {"kind": kind, "code": code_digest(), **how}
    return figure.update_layout(meta={**figure.layout.meta, "again": told})


def beside(figure: go.Figure, y: float, text: str, **look: Any) -> None:
    """A text at the right of a row; it is escaped already. `look` is plotly's, of annotations."""
    figure.add_annotation(
        text=text,
        x=1,
        xref="paper",
        xanchor="left",
        xshift=8,
        y=y,
        showarrow=False,
        font={"size": 12},
        **look,
    )


def rows_axis(figure: go.Figure, names: Sequence[str]) -> None:
    """Name the rows of y, the first on top, with room for the longest name (escaped already)."""
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=list(names),
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        ticklabelstandoff=8,
    )
    longest = max((len(html.unescape(name)) for name in names), default=0)
    figure.update_layout(margin_l=32 + 7 * longest)
