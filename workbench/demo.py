"""The demonstration: the bundled sample, one question's two rankings, both recalls."""

from __future__ import annotations

from typing import Any

from workbench.ask import ask
from workbench.library import Progress, open_banks
from workbench.recall import recall
from workbench.schema import Recipe
from workbench.workspace import Workspace

__all__ = ["demo"]

SAMPLE = "sample"

# Two people ask it in the same words, each with other evidence; the prior helps this one of them.
QUESTION = "c2/20"

SETTINGS = (
    ("without the prior (λ = 1)", Recipe(prior="none", lam=1.0)),
    ("profile prior, λ = 0.8", Recipe(prior="profile", lam=0.8)),
    ("facts prior, λ = 0.6", Recipe(prior="facts", lam=0.6)),
)

NEXT = (
    "workbench ask sample c2/21   (the same words, asked by the other person)",
    "workbench recall sample --prior facts --lam 0.8   (profile facts weighted by the question)",
    "workbench recall sample --prior other-user   (a control: somebody else's profile)",
    "workbench import PATH   (your LoCoMo, LongMemEval, PersonaMem, ChatGPT, Claude, ... file)",
    "workbench doctor   (what this machine has and lacks)",
)


def demo(workspace: Workspace, seed: int, progress: Progress | None = None) -> dict[str, Any]:
    """What the demo shows: `ask` of one question, `recall` of three settings, `next` steps."""
    banks = open_banks(workspace, SAMPLE, progress=progress)
    asked = ask(banks, QUESTION, Recipe(k=5, seed=seed))
    recalls = []
    for label, setting in SETTINGS:
        report = recall(banks, setting, (1, 5, 10, 25), progress=progress)
        recalls.append({"label": label, "n": report["n"], "recall": report["recall"]})
    return {"ask": asked, "recall": recalls, "next": list(NEXT)}
