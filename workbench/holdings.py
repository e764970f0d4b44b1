"""What a workspace keeps, where, and how much of it: so that nobody has to guess what is stored."""

from __future__ import annotations

import contextlib
from pathlib import Path

from workbench.schema import Record
from workbench.workspace import Workspace

__all__ = ["Holding", "holdings"]

# Folder of a workspace -> what it is, and whether it holds words of people.
FOLDERS = {
    "datasets": ("conversations and questions, as imported", True),
    "sources": ("downloaded files, as they came", True),
    "banks": ("memories made from them, with their vectors", True),
    "cache": ("vectors of texts, and what language models replied", True),
    "runs": ("results by question; answers and verdicts with their words", True),
    "traces": ("answers given by evaluations, with what was retrieved", True),
    "training": ("trainings that are not finished, with what was drawn in them", True),
    "rewriters": ("trained rewriters: weights learnt from a conversation", True),
    "reports": ("reports that a command wrote", True),
    "comparisons": ("judgments, with the two responses of each", True),
    "scores": ("features of these judgments", False),
    "collections": ("judgments being collected, with their texts", True),
    "profiles": ("memories that participants entered", True),
    "rubrics": ("rubrics that were induced", True),
    "models": ("reward models: plain numbers", False),
    "language-models": ("language models that were fetched", False),
    "locks": ("who is writing now", False),
}


class Holding(Record, frozen=True, kw_only=True):
    """A folder of the workspace: what is in it, how many files, how many bytes. `words` says
    whether it holds what people said, and so what must be kept from others."""

    folder: str
    what: str
    words: bool
    files: int
    bytes: int


def holdings(workspace: Workspace) -> list[Holding]:
    """The folders that there are, in the order of a flow from data to results; others of the
    person's own come last, and count as holding words."""
    there = sorted(path.name for path in _folders(workspace.root))
    names = [*(name for name in FOLDERS if name in there), *(n for n in there if n not in FOLDERS)]
    return [_holding(workspace.root / name) for name in names]


def _folders(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if path.is_dir()] if root.is_dir() else []


def _holding(folder: Path) -> Holding:
    what, words = FOLDERS.get(folder.name, ("not the workbench’s", True))
    sizes = []
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # others may be removing it
            if path.is_file():
                sizes.append(path.stat().st_size)
    return Holding(folder=folder.name, what=what, words=words, files=len(sizes), bytes=sum(sizes))
