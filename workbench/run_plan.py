"""What a run of answers depends on: banks, recipe, answerer, what it reads, and its model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from workbench.answer import ANSWERERS
from workbench.contexts import CONTEXTS, RETRIEVING
from workbench.errors import UsageError
from workbench.library import BankSet
from workbench.llm import LLM
from workbench.parallel import ALONE, Workers
from workbench.prepare import effective, in_split
from workbench.provenance import code_digest
from workbench.retrieve import check_recipe
from workbench.rewrite import asks_model, check_rewriter, rewriter_identity
from workbench.schema import Question, Recipe, digest_of
from workbench.workspace import Workspace

__all__ = ["LLM_ANSWERER", "Plan", "asks_llm", "check"]

# The answerer that reads a context with a language model; those without one are `ANSWERERS`.
LLM_ANSWERER = "llm"


@dataclass(frozen=True)
class Plan:
    """Everything that answers depend on; `sources` are the further banks that a prior needs.

    `context` ("" for the answerer's own: `ppro` for "llm", else `retrieved`) and `window` (tokens
    that the model reads; None: whatever it takes) matter to "llm" alone; `llm` also to rewriters
    that ask a model. `workers` change nothing but the time.
    """

    workspace: Workspace
    banks: BankSet
    recipe: Recipe
    answerer: str = "extractive"
    split: str = "all"
    sources: dict[str, BankSet] | None = None
    workers: Workers = ALONE
    llm: LLM | None = None
    context: str = ""
    rewriter: str = "identity"
    window: int | None = None

    @property
    def questions(self) -> list[Question]:
        return in_split(self.banks, self.split)

    @property
    def read(self) -> str:
        """The name of the context that is read."""
        return self.context or ("ppro" if self.answerer == LLM_ANSWERER else "retrieved")

    @property
    def key(self) -> str:
        """The name of its folder of unfinished traces, and of that folder's lock."""
        own = [self.banks.dataset.name, self.split, self.answerer]
        if self.answerer == LLM_ANSWERER or self.rewriter != "identity":
            own += [self.read, self.rewriter]
        return digest_of(own)

    @property
    def folder(self) -> Path:
        """Where its traces are until it is finished."""
        return self.workspace.folder("traces", self.key)

    def identity(self) -> dict[str, Any]:
        """What the traces depend on, plain; nothing of it is gold, but where `oracle` shows it."""
        asked = [(q.id, q.scope, q.text, q.people, q.until, q.asked) for q in self.questions]
        told = {
            "dataset": self.banks.dataset.name,
            "banks": self.banks.id,
            "sources": {name: banks.id for name, banks in (self.sources or {}).items()},
            "questions": digest_of(asked),
            "split": self.split,
            "answerer": self.answerer,
            "context": self.read,
            "rewriter": rewriter_identity(self.rewriter),
            "window": self.window,
            "llm": None if self.llm is None else self.llm.identity,
            "recipe": msgspec.to_builtins(effective(self.banks, self.recipe)[0]),
            "code": code_digest(),
        }
        if self.read == "oracle":
            told["evidence"] = digest_of([q.gold.evidence for q in self.questions])
        return told


def asks_llm(answerer: str, rewriter: str = "identity") -> bool:
    """Whether the model of `--llm` is asked for anything."""
    return answerer == LLM_ANSWERER or asks_model(rewriter)


def check(
    recipe: Recipe, answerer: str, context: str = "", rewriter: str = "identity", llm: bool = True
) -> None:
    """Refuse what cannot be run before anything is embedded, built or asked; `llm` says whether
    there is a model. Raises UsageError."""
    check_recipe(recipe)
    for what, given, known in (
        ("answerer", answerer, (*ANSWERERS, LLM_ANSWERER)),
        ("context", context or "ppro", CONTEXTS),
    ):
        if given not in known:
            raise UsageError(f"unknown {what} {given!r}; known: {', '.join(known)}")
    check_rewriter(rewriter)
    asks = answerer == LLM_ANSWERER
    if asks_llm(answerer, rewriter) and not llm:
        raise UsageError("a language model is asked here: name one with --llm")
    if context and not asks:
        raise UsageError(f"--context is what a language model reads; {answerer} reads the hits")
    if context and context not in RETRIEVING and rewriter != "identity":
        raise UsageError(f"nothing is retrieved for the context {context}: leave out --rewriter")
