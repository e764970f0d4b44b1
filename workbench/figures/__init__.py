"""Figures, pure: a frame of results in, a plotly Figure out. Nothing is measured here.

Every frame is a summary with its interval (`mean, lo, hi`), so that a figure's size does not grow
with the data. Names in the frames may be anybody's text: they are escaped where they are drawn.
Each figure carries its passport, in its caption and in `layout.meta`.
"""

from __future__ import annotations

from workbench.figures.alpha import alpha_landscape, alpha_trainings
from workbench.figures.components import component_ladder, rank_split, score_parts
from workbench.figures.curves import difference_curve, lambda_sensitivity, recall_curves
from workbench.figures.flips import effect_shares, rank_flips
from workbench.figures.grids import layer_heatmap, recall_surface
from workbench.figures.lesson import rank_scatter, same_words
from workbench.figures.memories import (
    coverage_bars,
    dimension_bars,
    map_of_memories,
    session_changes,
    session_timeline,
)
from workbench.figures.plane import prior_plane
from workbench.figures.ranks import rank_movement
from workbench.figures.rows import ablation_bars, category_dots
from workbench.figures.training import training_curves

__all__ = [
    "ablation_bars",
    "alpha_landscape",
    "alpha_trainings",
    "category_dots",
    "component_ladder",
    "coverage_bars",
    "difference_curve",
    "dimension_bars",
    "effect_shares",
    "lambda_sensitivity",
    "layer_heatmap",
    "map_of_memories",
    "prior_plane",
    "rank_flips",
    "rank_movement",
    "rank_scatter",
    "rank_split",
    "recall_curves",
    "recall_surface",
    "same_words",
    "score_parts",
    "session_changes",
    "session_timeline",
    "training_curves",
]
