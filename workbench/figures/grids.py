"""Two settings at once: the λ × K surface, and the layers of the dual path (K_E × K_S)."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import PAPER_LAMBDA, bands, estimate, k_axis, signed
from workbench.passport import Passport
from workbench.theme import NEUTRAL, axes

__all__ = ["layer_heatmap", "recall_surface"]

# Vermillion to blue through the paper's grey: both ends are Okabe and Ito's.
DIVERGING = [[0.0, "#D55E00"], [0.5, "#f3f3f3"], [1.0, "#0072B2"]]
PANELS = ((0.0, 0.40), (0.58, 0.98))


def recall_surface(frame: pl.DataFrame, passport: Passport) -> go.Figure:
    """Recall over the whole λ × K grid, and beside it the same less query-only recall at that K.

    `frame` has `lam, k, mean, lo, hi`: every λ with every K, λ = 1 among them.
    """
    rows = frame.sort("lam", "k").partition_by("lam", maintain_order=True)
    recall = [row["mean"].to_list() for row in rows]
    alone = next(row["mean"].to_list() for row in rows if row["lam"][0] == 1)
    gains = [[m - one for m, one in zip(row, alone, strict=True)] for row in recall]
    far = max(abs(gain) for row in gains for gain in row) or 1.0
    figure = axes(
        "Evidence recall over λ × K",
        "left: recall@K; right: what λ adds to, or takes from, the query alone (λ = 1)",
        "K (logarithmic)",
        "λ",
    )
    shared = {"x": rows[0]["k"].to_list(), "y": [row["lam"][0] for row in rows]}
    hover = [[_cell(cell) for cell in row.iter_rows(named=True)] for row in rows]
    against = [
        [f"{text}<br>{gain:+.3f} against λ = 1" for text, gain in zip(*pair, strict=True)]
        for pair in zip(hover, gains, strict=True)
    ]
    _panel(figure, 0, {**shared, "z": recall, "hovertext": hover, "colorscale": "Cividis"})
    gained = {"z": gains, "hovertext": against, "colorscale": DIVERGING}
    _panel(figure, 1, {**shared, **gained, "zmin": -far, "zmax": far})
    figure.update_layout(xaxis2_title=figure.layout.xaxis.title, margin_r=70)
    k_axis(figure, frame["k"])
    figure.update_yaxes(dtick=0.2, range=[-0.025, 1.025])
    figure.add_hline(y=PAPER_LAMBDA, line={"color": NEUTRAL, "width": 1.2, "dash": "dash"})
    said = (
        f"{bands(passport, 'Under the pointer')} Blue: better than the query alone. "
        f"Dashed: the paper’s λ = {PAPER_LAMBDA}, a reference."
    )
    return signed(figure, "recall_surface", said, passport)


def layer_heatmap(frame: pl.DataFrame, passport: Passport) -> go.Figure:
    """Recall by how many episodic and semantic memories are kept (SPEC A.9.5).

    `frame` has `k_episodic, k_semantic, mean, lo, hi`, a row for every pair.
    """
    rows = frame.sort("k_semantic", "k_episodic").partition_by("k_semantic", maintain_order=True)
    figure = axes(
        "Evidence recall by layer",
        "a memory of either layer counts by its source turns",
        "K<sub>E</sub>, episodic memories",
        "K<sub>S</sub>, semantic memories",
        height=180 + 44 * len(rows),
    )
    figure.add_heatmap(
        x=[f"{k}" for k in rows[0]["k_episodic"]],
        y=[f"{row['k_semantic'][0]}" for row in rows],
        z=[row["mean"].to_list() for row in rows],
        hovertext=[
            [
                f"K_E = {r['k_episodic']}, K_S = {r['k_semantic']}<br>{estimate(r)}"
                for r in row.iter_rows(named=True)
            ]
            for row in rows
        ],
        hoverinfo="text",
        colorscale="Cividis",
        colorbar={"title": {"text": "recall"}, "thickness": 12},
        xgap=2,
        ygap=2,
    )
    _write_in_cells(figure, rows)
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(type="category", showgrid=False)
    said = bands(passport, "Under the pointer")
    return signed(figure, "layer_heatmap", said, passport)


def _write_in_cells(figure: go.Figure, rows: list[pl.DataFrame]) -> None:
    """Each cell's mean, in white on the dark half of the scale and in black on the light one."""
    means = [mean for row in rows for mean in row["mean"]]
    middle = (min(means) + max(means)) / 2
    for y, row in enumerate(rows):
        for x, mean in enumerate(row["mean"]):
            colour = "#000000" if mean > middle else "#ffffff"
            figure.add_annotation(
                x=x, y=y, text=f"{mean:.3f}", showarrow=False, font={"color": colour, "size": 12}
            )


def _panel(figure: go.Figure, place: int, shown: dict[str, Any]) -> None:
    """A heat map in the left (0) or right (1) panel."""
    left, right = PANELS[place]
    number = "" if place == 0 else "2"
    figure.add_heatmap(
        **shown,
        hoverinfo="text",
        colorbar={"x": right + 0.01, "xanchor": "left", "thickness": 12, "tickformat": ".2f"},
        xaxis=f"x{number}",
        yaxis=f"y{number}",
    )
    figure.update_layout(
        {
            f"xaxis{number}": {"domain": [left, right], "anchor": f"y{number}", "showgrid": False},
            f"yaxis{number}": {"anchor": f"x{number}", "showgrid": False},
        }
    )


def _cell(cell: dict[str, Any]) -> str:
    return f"λ = {cell['lam']:g}, K = {cell['k']}<br>{estimate(cell)}"
