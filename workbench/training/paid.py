"""What a training pays for: the parts of the data, the retrieval and answers, the two rewards."""

from __future__ import annotations

from collections.abc import Callable

from workbench.library import open_banks
from workbench.llm import LLM
from workbench.prepare import sources_for
from workbench.rewards import Terms
from workbench.run_plan import Plan
from workbench.training.plan import Settings
from workbench.workspace import Workspace

__all__ = ["plan_of", "terms_of"]


def plan_of(
    workspace: Workspace,
    of: Settings,
    llm: LLM | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Plan:
    """How rewrites are searched with and answered; memories that are not built yet are built."""
    banks = open_banks(workspace, of.dataset, of.recipe.memories, of.recipe.embedder, progress)
    sources = sources_for(workspace, banks, of.recipe, progress)
    return Plan(workspace, banks, of.recipe, of.answerer, "all", sources, llm=llm)


def terms_of(of: Settings) -> Terms:
    """The two rewards and their balance."""
    return Terms(
        alpha=of.alpha,
        retrieval=of.retrieval,
        answer=of.answer,
        with_question=of.with_question,
    )
