"""The option that says in whose words questions are searched with, and what commands do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.output import Output

if TYPE_CHECKING:
    from workbench.library import BankSet
    from workbench.llm import LLM

__all__ = ["Rewriter", "in_words", "rewriter_of", "worded"]

Rewriter = Annotated[
    str,
    typer.Option(
        help="identity; prompted: the model of --llm words what is searched with; trained:FOLDER "
        "or trained:RUN-f1 that `train` made, or untrained: with the same, its base model."
    ),
]
Progress = Callable[[str, int, int], None]


def rewriter_of(out: Output, name: str, llm: str | None) -> tuple[str, LLM | None]:
    """A rewriter's name with the model that it asks; refused here, before anything is built."""
    from workbench.chat_models import open_llm
    from workbench.rewrite import asks_model, check_rewriter, rewriter_identity
    from workbench.rewriters import located_if_here

    name = located_if_here(out.workspace, name)
    check_rewriter(name)
    rewriter_identity(name)
    return name, open_llm(llm, out.workspace) if asks_model(name) else None


def in_words(
    out: Output, banks: BankSet, rewriter: tuple[str, LLM | None], split: str, progress: Progress
) -> tuple[BankSet, dict[str, Any]]:
    """The banks with a split's questions in the rewriter's words, and what a report says of it:
    nothing for the questions' own."""
    from workbench.rewritten import rewritten

    changed, told = rewritten(out.workspace, banks, rewriter, split, progress)
    return changed, {} if rewriter[0] == "identity" else {"rewriter": told}


def worded(report: dict[str, Any]) -> Iterator[str]:
    """Whose words were searched with, where not the questions' own, and what stayed as it is."""
    if "rewriter" in report:
        told = report["rewriter"]
        left = ", ".join(f"{n} {why}" for why, n in told["not_rewritten"].items())
        yield f"questions in the words of the rewriter {told['name']}; unchanged: {left or 'none'}"
