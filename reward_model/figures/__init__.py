"""Figures of the reward model, pure: documents of results in, a plotly Figure out.

They are in the workbench's style (`workbench.figures`, `workbench.theme`): counts, intervals and
passport in the caption and in `layout.meta`, names from data escaped, light and dark by template.
Hollow marks are the paper's figures, on its own data: references, never results of this program.
What comes from made-up judgments says so under its title and in its caption.
"""

from __future__ import annotations

from reward_model.figures.curves import reliability_diagram, selective_curve
from reward_model.figures.origin import (
    ComparisonPassport,
    comparisons_passport,
    evaluation_passport,
    model_passport,
)
from reward_model.figures.references import accuracy_rows
from reward_model.figures.rows import accuracy_bars, coefficient_dots, preference_dots
from reward_model.figures.waterfall import contribution_waterfall

__all__ = [
    "ComparisonPassport",
    "accuracy_bars",
    "accuracy_rows",
    "coefficient_dots",
    "comparisons_passport",
    "contribution_waterfall",
    "evaluation_passport",
    "model_passport",
    "preference_dots",
    "reliability_diagram",
    "selective_curve",
]
