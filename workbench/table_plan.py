"""What a table is of, and what each of its rows is run with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.library import BankSet, open_banks
from workbench.llm import LLM
from workbench.metrics import GoldKind
from workbench.parallel import ALONE, Workers
from workbench.prepare import sources_for
from workbench.run_plan import LLM_ANSWERER, Plan
from workbench.schema import Recipe, digest_of
from workbench.table_rows import Row, chosen_rows, table_rows
from workbench.workspace import Workspace

__all__ = ["Progress", "TablePlan", "row_plan"]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class TablePlan:
    """What a table is of. `recipe` is PPRO's; `rows` are names with commas ("": all); `also` are
    further runs of the same questions by the name of their row: other systems' answers."""

    workspace: Workspace
    dataset: str
    recipe: Recipe
    answerer: str = "extractive"
    split: str = "all"
    llm: LLM | None = None
    rewriter: str = "identity"
    window: int | None = None
    gold: GoldKind = "original"
    rows: str = ""
    also: dict[str, str] = field(default_factory=dict)
    workers: Workers = ALONE
    fresh: bool = False

    @cached_property
    def wanted(self) -> tuple[Row, ...]:
        return chosen_rows(table_rows(self.recipe, self.answerer, self.rewriter), self.rows)

    @cached_property
    def opened(self) -> dict[str, BankSet]:
        """The banks that are open, by kind of memory."""
        return {}

    def banks(self, memories: str, progress: Progress | None = None) -> BankSet:
        """The dataset's banks of a kind of memory; opened once, for all rows."""
        if memories not in self.opened:
            named = (self.dataset, memories, self.recipe.embedder)
            self.opened[memories] = open_banks(self.workspace, *named, progress)
        return self.opened[memories]

    @cached_property
    def model(self) -> dict[str, Any] | None:
        return None if self.llm is None else self.llm.identity


@dataclass(frozen=True)
class _RowPlan(Plan):
    """A row's answers are unfinished in a folder of their own: the rows of a table differ in their
    recipes alone, which a plan's folder does not depend on."""

    @property
    def key(self) -> str:
        model = None if self.llm is None else self.llm.identity
        return digest_of([super().key, self.recipe, model, self.window])


def row_plan(plan: TablePlan, row: Row, banks: BankSet, progress: Progress | None) -> Plan:
    """The plan of a row: a run of `evaluate` like any other."""
    asks = plan.answerer == LLM_ANSWERER
    return _RowPlan(
        plan.workspace,
        banks,
        row.recipe,
        plan.answerer,
        plan.split,
        sources_for(plan.workspace, banks, row.recipe, progress),
        plan.workers,
        plan.llm if asks or row.rewriter != "identity" else None,
        row.context if asks else "",
        row.rewriter,
        plan.window if asks else None,
    )
