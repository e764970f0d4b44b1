"""Accuracy by coverage, and how far predicted probabilities come true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import polars as pl

from reward_model.figures.origin import ComparisonPassport, opened
from reward_model.figures.references import PAPER_SELECTIVE
from workbench.figures.drawing import bands, signed, span
from workbench.figures.lines import Label, labelled, lines
from workbench.theme import NEUTRAL, SERIES

__all__ = ["reliability_diagram", "selective_curve"]

Rows = Sequence[Mapping[str, Any]]


def selective_curve(
    rows: Rows, passport: ComparisonPassport, majority: float | None = None
) -> go.Figure:
    """Accuracy among the share of comparisons whose prediction is most certain (SPEC B.4).

    `rows` have `coverage` (0..1), `accuracy, lo, hi, n`; `majority` is the accuracy of always
    choosing the commoner preference, a dotted line.
    """
    frame = _frame(rows)
    figure = opened(
        passport,
        "Accuracy among the most certain predictions",
        "left: only those far from 50 %; right: all of them",
        ("coverage: share of comparisons that are predicted", "accuracy"),
        440,
    )
    shown = span(frame, *PAPER_SELECTIVE.values(), *([majority] if majority is not None else []))
    # Accuracies end at 1, and an axis that went on would promise more.
    shown = shown[0], min(shown[1], 1.02)
    labels = list(lines(figure, frame, ("coverage", "coverage")))
    counts = [f" (n = {n})" for n in frame["n"]]
    line = figure.data[-1]
    line.hovertext = [told + n for told, n in zip(line.hovertext, counts, strict=True)]
    if majority is not None:
        figure.add_hline(y=majority, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
        labels.append(Label(majority, "majority", NEUTRAL))
    figure.add_scatter(
        x=list(PAPER_SELECTIVE),
        y=list(PAPER_SELECTIVE.values()),
        mode="markers",
        marker={"symbol": "circle-open", "color": SERIES[0], "size": 12, "line": {"width": 1.5}},
        hovertext=[f"paper: {value:.3f}" for value in PAPER_SELECTIVE.values()],
        hoverinfo="text",
    )
    labelled(figure, labels, shown)
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%")
    figure.update_yaxes(range=shown, tickformat=".0%")
    said = f"{bands(passport)} Hollow: the paper’s, on its own data."
    return signed(figure, "selective_curve", said, passport)


def reliability_diagram(
    rows: Rows, passport: ComparisonPassport, quality: Mapping[str, Any] | None = None
) -> go.Figure:
    """How often memory was preferred, where it was predicted with a probability about as high.

    `rows` have `bin_lo, bin_hi, mean_p, share, lo, hi, n`; the area of a mark is proportional to
    its n. `quality` adds Brier score and calibration error to the subtitle: `brier,
    brier_interval, ece, ece_if_calibrated` (`mean, lo, hi`).
    """
    figure = opened(
        passport,
        "Predicted and observed preference for memory",
        _quality(quality or {}),
        ("predicted probability (mean of a bin)", "observed share"),
        500,
    )
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        line={"color": NEUTRAL, "width": 1.5, "dash": "dash"},
        hoverinfo="skip",
    )
    _bins(figure, rows)
    figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    figure.update_yaxes(range=[-0.05, 1.05], tickformat=".0%")
    said = (
        f"{bands(passport, 'Whiskers')} Dashed: predictions that come true. Numbers: comparisons "
        "in a bin."
    )
    return signed(figure, "reliability_diagram", said, passport)


def _frame(rows: Rows) -> pl.DataFrame:
    """The curve as `lines` draws it."""
    columns = ("coverage", "accuracy", "lo", "hi", "n")
    frame = pl.DataFrame(
        [{key: one[key] for key in columns} for one in rows], infer_schema_length=None
    )
    return frame.rename({"accuracy": "mean"}).sort("coverage").with_columns(series=pl.lit("full"))


def _bins(figure: go.Figure, rows: Rows) -> None:
    """A mark for each bin, its area by its n, with whiskers."""
    most = max((one["n"] for one in rows), default=1)
    figure.add_scatter(
        x=[one["mean_p"] for one in rows],
        y=[one["share"] for one in rows],
        mode="markers+text",
        marker={
            "color": SERIES[0],
            "size": [max(6.0, 26 * (one["n"] / most) ** 0.5) for one in rows],
            "opacity": 0.85,
        },
        text=[f" {one['n']}" for one in rows],
        textposition="middle right",
        textfont={"size": 11},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [_gap(one, "hi") for one in rows],
            "arrayminus": [_gap(one, "lo") for one in rows],
            "color": NEUTRAL,
            "thickness": 1.5,
            "width": 4,
        },
        hovertext=[_bin(one) for one in rows],
        hoverinfo="text",
    )


def _gap(one: Mapping[str, Any], end: str) -> float | None:
    return None if one[end] is None else abs(one[end] - one["share"])


def _bin(one: Mapping[str, Any]) -> str:
    ends = "" if one["lo"] is None else f" [{one['lo']:.3f}, {one['hi']:.3f}]"
    return (
        f"predicted {one['bin_lo']:.1f} to {one['bin_hi']:.1f}, mean {one['mean_p']:.3f}<br>"
        f"observed {one['share']:.3f}{ends} (n = {one['n']})"
    )


def _quality(quality: Mapping[str, Any]) -> str:
    """ "Brier score 0.210 [0.190, 0.231]; calibration error 0.040 (0.020–0.050 if calibrated)"."""
    said = []
    if quality.get("brier") is not None:
        lo, hi = quality.get("brier_interval") or (None, None)
        ends = "" if lo is None or hi is None else f" [{lo:.3f}, {hi:.3f}]"
        said.append(f"Brier score {quality['brier']:.3f}{ends}")
    if quality.get("ece") is not None:
        chance = quality.get("ece_if_calibrated")
        span = f" ({chance['lo']:.3f}–{chance['hi']:.3f} if calibrated)" if chance else ""
        said.append(f"calibration error {quality['ece']:.3f}{span}")
    return "; ".join(said)
