"""What the toy policy of the lesson learns, step by step."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import signed, span
from workbench.figures.lines import labelled, lines
from workbench.passport import Passport
from workbench.theme import axes

__all__ = ["toy_curves"]


def toy_curves(frame: pl.DataFrame, passport: Passport) -> go.Figure:
    """What the policy of every step is paid on average.

    `frame` has `series, step, mean`, and `lo, hi` that are null: the means are exact.
    """
    figure = axes(
        "What the toy learns",
        "how well its rewrites are paid: 1 where the evidence always comes first",
        "training step",
        "mean pay",
    )
    shown = span(frame)
    ordered = frame.sort("step", maintain_order=True)
    labelled(figure, list(lines(figure, ordered, ("step", "step"))), shown)
    figure.update_yaxes(range=shown, tickformat=".2f")
    said = "Means over all rules, as likely as each is, and the questions: exact, so no intervals."
    return signed(figure, "toy_curves", said, passport)
