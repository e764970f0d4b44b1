"""How a training went: rewards, validation, the policy's own measures; a panel for each scale."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import signed, span
from workbench.figures.lines import LABEL_GAP, Label, lines, spread
from workbench.passport import Passport
from workbench.theme import RIGHT, axes

__all__ = ["training_curves"]

# The panels from the top, each with the series that share its scale; others stand in one of their
# own, the last.
PANELS: dict[str, tuple[str, ...]] = {
    "held out": ("held-out recall", "held-out F1"),
    "reward": ("retrieval reward", "answer reward"),
    "normalised": ("retrieval reward, normalised", "answer reward, normalised", "reward"),
    "share": ("flat groups", "copied questions", "cut share", "clipped share"),
    "nats": ("entropy",),
    "KL": ("KL divergence",),
    "words": ("words of a rewrite",),
}
OTHERS = "value"
# Pixels of a panel, and the share of one that is left free between two.
PANEL, GAP = 150, 0.22
ALONE = 440


def training_curves(frame: pl.DataFrame, passport: Passport) -> go.Figure:
    """Rewards before and after normalisation, validation, and what shows a collapse, by step.

    `frame` has `series, step, mean, lo, hi`. Series of one scale share a panel (`PANELS`); a frame
    of other series has one panel alone.
    """
    ordered = frame.sort("step", maintain_order=True)
    known = {name: panel for panel, names in PANELS.items() for name in names}
    shown: dict[str, list[str]] = {panel: [] for panel in (*PANELS, OTHERS)}
    for name in ordered["series"].unique(maintain_order=True):
        shown[known.get(name, OTHERS)].append(name)
    panels = {panel: names for panel, names in shown.items() if names}
    height = ALONE if len(panels) < 2 else PANEL * len(panels) + 190
    figure = axes(
        "How training went",
        "rewards, validation and the policy, step by step",
        "training step",
        "",
        height,
    )
    for place, (panel, names) in enumerate(panels.items()):
        part = ordered.filter(pl.col("series").is_in(names))
        _panel(figure, part, panel, (place, len(panels)))
    longest = max((len(name) for names in panels.values() for name in names), default=0)
    figure.update_layout(margin_r=RIGHT + 14 + 7 * longest)
    figure.update_xaxes(anchor=f"y{len(panels)}" if len(panels) > 1 else "y")
    said = (
        "Each point is the mean of a few steps, or one validation. Bands: 95% intervals over its "
        "questions; none where a value is of all completions together."
    )
    return signed(figure, "training_curves", said, passport)


def _panel(figure: go.Figure, part: pl.DataFrame, title: str, at: tuple[int, int]) -> None:
    """Draw the series of one panel, the `at[0]`th of `at[1]` from the top."""
    place, number = at
    axis = "y" if not place else f"y{place + 1}"
    size = (1 - GAP * (number - 1) / number) / number
    top = 1 - place * (size + GAP / number)
    before, shown = len(figure.data), span(part)
    labels = list(lines(figure, part, ("step", "step")))
    for trace in figure.data[before:]:
        trace.yaxis = axis
    key = "yaxis" if not place else f"yaxis{place + 1}"
    look = {"domain": [max(top - size, 0.0), top], "range": list(shown), "anchor": "x"}
    figure.update_layout({key: {**look, "title": {"text": title, "standoff": 6}, "nticks": 5}})
    _named(figure, labels, axis, (shown, size))


def _named(
    figure: go.Figure, labels: list[Label], axis: str, scale: tuple[tuple[float, float], float]
) -> None:
    """Name a panel's lines at their right ends, pushed apart where they would overlap."""
    (low, high), share = scale
    layout = figure.layout
    pixels = (layout.height - layout.margin.t - layout.margin.b) * share / (high - low)
    order = sorted(labels, key=lambda label: label.y)
    places = spread([(label.y - low) * pixels for label in order])
    # What is pushed beyond the panel's top would stand in the next one.
    over = max(places[-1] - (high - low) * pixels - LABEL_GAP / 2, 0.0) if places else 0.0
    for label, at in zip(order, places, strict=True):
        figure.add_annotation(
            text=f'<span style="color:{label.colour}">●</span> {label.text}',
            x=1,
            xref="paper",
            y=label.y,
            yref=axis,
            xanchor="left",
            xshift=6,
            yshift=at - over - (label.y - low) * pixels,
            showarrow=False,
            align="left",
        )
