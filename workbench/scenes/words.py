"""Questions in a rewriter's words, as notebooks measure them beside the questions as asked."""

from __future__ import annotations

from collections.abc import Callable

from workbench.cells import Study
from workbench.errors import ModelError, UsageError
from workbench.library import BankSet
from workbench.prepare import in_split
from workbench.rewriters import located, unasked
from workbench.rewritten import Worded, rewritten
from workbench.workspace import Workspace

__all__ = ["TRAINED_BY", "questions_to_ask", "study_of", "worded", "worded_again"]

Progress = Callable[[str, int, int], None]
TRAINED_BY = "workbench train NAME --preset cpu --model FOLDER"


def questions_to_ask(workspace: Workspace, banks: BankSet, name: str, split: str = "all") -> int:
    """How many questions of a split `worded` would have to ask a rewriter's model about.

    Raises UsageError for a checkpoint that is not here, ModelError for a damaged one, or one whose
    base model is gone.
    """
    return unasked(workspace, banks, name, in_split(banks, split))


def worded(
    workspace: Workspace,
    banks: BankSet,
    name: str,
    split: str = "all",
    progress: Progress | None = None,
) -> Worded | None:
    """A split's questions in the words of a rewriter of `rewriters.rewriter_labels`, None for their
    own; what it said before is not asked again. Raises what `questions_to_ask` raises."""
    kind = located(workspace, name)
    if kind == "identity":
        return None
    return rewritten(workspace, banks, (kind, None), split, progress)


def study_of(
    workspace: Workspace,
    banks: BankSet,
    words: Worded | None = None,
    split: str = "all",
    progress: Progress | None = None,
) -> Study:
    """The study of a split's questions, in a rewriter's words where there are any."""
    asked, told = words or (banks, None)
    return Study(workspace, asked, split=split, progress=progress, rewriter=told)


def worded_again(workspace: Workspace, banks: BankSet, name: str, split: str) -> Worded | None:
    """`worded` for a figure that is drawn again: UsageError whatever is missing of the rewriter."""
    try:
        return worded(workspace, banks, name, split)
    except ModelError as absent:
        raise UsageError(f"the figure's rewriter {name[:60]} cannot be asked: {absent}") from absent
