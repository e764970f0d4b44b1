"""The balance of two rewards: what α changes (SPEC A.5)."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import bands, signed, span
from workbench.figures.lines import labelled, lines, marked
from workbench.passport import Passport
from workbench.theme import NEUTRAL, axes

__all__ = ["alpha_landscape", "alpha_trainings"]

PAPER_ALPHA = 0.2  # where the paper reports its best: a reference beside our own finding


def alpha_landscape(
    frame: pl.DataFrame, passport: Passport, alpha: float | None = None
) -> go.Figure:
    """What each weight α of the answer's reward, in R = α·answer + (1 - α)·retrieval, chooses.

    `frame` has `series, alpha, mean, lo, hi`; the measures of `series` share the range 0..1.
    `alpha` marks one setting.
    """
    figure = _by_alpha(frame, "What the balance α of the two rewards changes")
    if alpha is not None:
        figure.add_vline(x=alpha, line={"color": NEUTRAL, "width": 2})
    ceiling = "What is chosen is chosen by gold: a ceiling, no training."
    return signed(figure, "alpha_landscape", f"{ceiling} {_bands(passport)}", passport)


def alpha_trainings(frame: pl.DataFrame, passport: Passport) -> go.Figure:
    """What a training with each weight α has learnt; `frame` as in `alpha_landscape`."""
    figure = _by_alpha(frame, "What a training with each α learns")
    flatters = (
        "One training an α; the weights are those that did best on the very questions shown, so "
        "the figures flatter."
    )
    return signed(figure, "alpha_trainings", f"{flatters} {_bands(passport)}", passport)


def _by_alpha(frame: pl.DataFrame, title: str) -> go.Figure:
    figure = axes(
        title,
        "α = 0: the reward of retrieval alone; α = 1: that of the answer alone",
        "α (weight of the answer’s reward)",
        "mean of the measure",
    )
    shown = span(frame)
    ordered = frame.sort("alpha", maintain_order=True)
    labelled(figure, list(lines(figure, ordered, ("alpha", "α"))), shown)
    marked(figure, PAPER_ALPHA, f"the paper’s α = {PAPER_ALPHA}")
    figure.update_xaxes(range=[-0.02, 1.02], dtick=0.1)
    figure.update_yaxes(range=shown, tickformat=".2f")
    return figure


def _bands(passport: Passport) -> str:
    return f"{bands(passport)} Dashed: the best α of the paper, a reference."
