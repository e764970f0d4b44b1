"""The demonstration: the sample, one question's two rankings, recalls, a λ sweep, a report."""

from __future__ import annotations

from typing import Any

from workbench.ask import ask
from workbench.cells import Study
from workbench.library import Progress, open_banks
from workbench.recall import recall
from workbench.report import findings, page
from workbench.schema import Recipe
from workbench.sweep import lambda_sweep
from workbench.workspace import Workspace, write_atomically

__all__ = ["demo"]

SAMPLE = "sample"

# Two people ask it in the same words, each with other evidence; the prior helps this one of them.
QUESTION = "c2/20"

SETTINGS = (
    ("without the prior (λ = 1)", Recipe(prior="none", lam=1.0)),
    ("profile prior, λ = 0.8", Recipe(prior="profile", lam=0.8)),
    ("facts prior, λ = 0.8", Recipe(prior="facts", lam=0.8)),
)
KS = (1, 5, 10, 25)
LAMS = tuple(step / 10 for step in range(11))

NEXT = (
    "workbench ask sample c2/21   (the same words, asked by the other person)",
    "workbench sweep controls sample --prior profile --lam 0.9   (is the gain personalisation?)",
    "workbench recall sample --preset locomo-turns   (a stronger retriever)",
    "workbench reward evaluate simulated   (how well the reward model predicts strangers)",
    "workbench notebooks   (six notebooks, from memories to the reward model)",
    "workbench import PATH   (your LoCoMo, LongMemEval, PersonaMem, ChatGPT, Claude, ... file)",
    "workbench doctor   (what this machine has and lacks)",
    "workbench explore   (all of it in the browser: start here)",
)


def demo(workspace: Workspace, seed: int, progress: Progress | None = None) -> dict[str, Any]:
    """What the demo shows: `ask` of one question, `recall` of three settings with intervals, the
    λ `sweep` of the profile prior, where the `report` of it lies, and `next` steps."""
    banks = open_banks(workspace, SAMPLE, progress=progress)
    asked = ask(banks, QUESTION, Recipe(k=5, seed=seed))
    recalls = []
    for label, setting in SETTINGS:
        told = recall(banks, setting, KS, progress=progress)
        kept = {key: told[key] for key in ("n", "recall", "interval", "basis")}
        recalls.append({"label": label, **kept})
    study = Study(workspace, banks, seed=seed, progress=progress)
    sweep = lambda_sweep(study, Recipe(prior="profile", seed=seed), LAMS, (5, 25))
    path = workspace.root / "reports" / f"{sweep['run']}.html"
    write_atomically(path, page(findings(workspace, sweep["run"])).encode("utf-8"))
    return {
        "ask": asked,
        "recall": recalls,
        "sweep": sweep,
        "report": str(path),
        "next": list(NEXT),
    }
