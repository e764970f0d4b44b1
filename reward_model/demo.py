"""The reward model's part of the demonstration: simulated judgments, a fit, its coefficients."""

from __future__ import annotations

from typing import Any

from reward_model.fitting import fit_comparisons, fitted
from reward_model.material import EvaluationPlan
from reward_model.models import save_model
from reward_model.scores import load_scores, save_scores
from reward_model.simulate import SimulationOptions, simulate
from reward_model.store import save_comparisons
from workbench.workspace import Workspace

__all__ = ["NAME", "reward_demo"]

NAME = "simulated"


def reward_demo(workspace: Workspace, seed: int = 0) -> dict[str, Any]:
    """Simulate the default set, fit it by its planned features, and return the fitted model's
    document (`fitting.fitted`) with its id.

    Raises UsageError where the name holds people's judgments, which are never replaced."""
    made = simulate(SimulationOptions(seed=seed))
    chosen = save_comparisons(workspace, NAME, made.comparisons, "workbench demo")
    save_scores(workspace, made.scores(chosen.content))
    scores = load_scores(workspace, chosen.content, "simulator")
    model = fit_comparisons(chosen, scores, EvaluationPlan(seed=seed))
    return {"model": save_model(workspace, model), **fitted(model)}
