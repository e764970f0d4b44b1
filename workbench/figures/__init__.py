"""Figures, pure: a frame of results in, a plotly Figure out. Nothing is measured here.

Every frame is a summary with its interval (`mean, lo, hi`), so that a figure's size does not grow
with the data. Names in the frames may be anybody's text: they are escaped where they are drawn.
Each figure carries its passport, in its caption and in `layout.meta`.
"""

from __future__ import annotations

from workbench.figures.curves import difference_curve, lambda_sensitivity, recall_curves
from workbench.figures.grids import layer_heatmap, recall_surface
from workbench.figures.ranks import rank_movement
from workbench.figures.rows import ablation_bars, category_dots

__all__ = [
    "ablation_bars",
    "category_dots",
    "difference_curve",
    "lambda_sensitivity",
    "layer_heatmap",
    "rank_movement",
    "recall_curves",
    "recall_surface",
]
