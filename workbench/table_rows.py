"""The rows of the main table: systems, and PPRO without each of its parts (SPEC A.9.1, A.9.2).

A row is a recipe, what is read, and a rewriter. What a row needs and this table has not (a language
model that reads, a rewriter to leave out) is said in the row, which stays in the table.
"""

from __future__ import annotations

from typing import Any

import msgspec

from workbench.contexts import RETRIEVING
from workbench.errors import UsageError
from workbench.run_plan import LLM_ANSWERER
from workbench.schema import Recipe, Record

__all__ = ["NEEDS_MODEL", "PPRO", "Row", "chosen_rows", "paper_recipe", "table_rows"]

PPRO = "PPRO"
NEEDS_MODEL = "not available: needs --answerer llm"
# No cosine reaches it: nothing is retrieved on the episodic path.
OUT_OF_REACH = 2.0


class Row(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A row that is to be measured. `missing` says why it cannot be; "" where it can. `note` is a
    remark on what the row is here."""

    name: str
    recipe: Recipe
    context: str
    rewriter: str = "identity"
    missing: str = ""
    note: str = ""

    @property
    def retrieves(self) -> bool:
        return self.context in RETRIEVING


def paper_recipe(**chosen: Any) -> Recipe:
    """PPRO as the paper has it (λ 0.8, K_E 25, K_S 7, boost 0.05, the profile's text as prior) over
    facts made by rule, with what is chosen instead."""
    return msgspec.structs.replace(Recipe(memories="facts", retriever="ppro"), **chosen)


def table_rows(ppro: Recipe, answerer: str, rewriter: str = "identity") -> tuple[Row, ...]:
    """All rows of the table of one PPRO recipe, in its order.

    Answerers that are no language model read the hits alone, so rows that differ in what else is
    read are not available to them.
    """
    but = _replacing(ppro)
    turns = Recipe(prior="none", lam=1.0, embedder=ppro.embedder, k=ppro.k, seed=ppro.seed)
    without: dict[str, Any] = {"recipe": ppro, "context": "ppro", "rewriter": rewriter}
    rows = (
        Row(name="empty context", recipe=turns, context="empty"),
        Row(name="full context", recipe=turns, context="full"),
        Row(name="naive RAG over turns", recipe=turns, context="retrieved"),
        Row(name="oracle evidence", recipe=turns, context="oracle"),
        Row(name="λ = 0", **{**without, "recipe": but(lam=0.0)}),
        Row(name="λ = 1", **{**without, "recipe": but(lam=1.0)}),
        Row(name=PPRO, **without),
        Row(
            name="without episodic",
            **{**without, "recipe": but(threshold=OUT_OF_REACH), "context": "without-episodic"},
        ),
        Row(
            name="without semantic",
            **{**without, "recipe": but(k_semantic=0), "context": "without-semantic"},
        ),
        Row(
            name="without profile",
            **{**without, "recipe": but(prior="none", lam=1.0), "context": "without-profile"},
        ),
        Row(name="without dimensions", **{**without, "recipe": but(boost=0.0)}),
        Row(name="without rewriting", **{**without, "rewriter": "identity"}),
    )
    return tuple(_available(row, answerer, rewriter) for row in rows)


def chosen_rows(rows: tuple[Row, ...], wanted: str) -> tuple[Row, ...]:
    """The rows that a list of names with commas asks for, PPRO always among them, since all others
    are tested against it; "" is every row. Raises UsageError for a name that no row has."""
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    known = {row.name for row in rows}
    strange = [name for name in names if name not in known]
    if strange:
        listed = ", ".join(row.name for row in rows)
        raise UsageError(f"the table has no row {strange[0]!r}; its rows are: {listed}")
    return tuple(row for row in rows if not names or row.name in (*names, PPRO))


def _replacing(ppro: Recipe) -> Any:
    def but(**changes: Any) -> Recipe:
        return msgspec.structs.replace(ppro, **changes)

    return but


def _available(row: Row, answerer: str, rewriter: str) -> Row:
    """The row with the reason why it cannot be measured, and with a remark where it needs one."""
    if answerer != LLM_ANSWERER and not row.retrieves:
        return msgspec.structs.replace(row, missing=NEEDS_MODEL)
    if row.name == "without rewriting" and rewriter == "identity":
        why = NEEDS_MODEL if answerer != LLM_ANSWERER else "not available: nothing is rewritten"
        return msgspec.structs.replace(row, missing=why)
    return msgspec.structs.replace(row, note=_note(row, answerer, rewriter))


def _note(row: Row, answerer: str, rewriter: str) -> str:
    if row.name == "without dimensions" and rewriter != "identity":
        return "the rewriter still names dimensions; nothing uses them"
    if answerer == LLM_ANSWERER:
        return ""
    return {
        "without semantic": "this answerer reads the first hits, and semantic ones come last",
        "without profile": "this answerer reads no profile: without it in the ranking alone",
    }.get(row.name, "")
