"""recall-workbench: personalised retrieval in long-term conversational memory.

The names below are the library's front door. They load on first use, so that importing the package
costs next to nothing and never imports torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Workspace": "workbench.workspace",
    "Recipe": "workbench.schema",
    "Bank": "workbench.bank",
    "open_banks": "workbench.library",
    "open_embedder": "workbench.embedders",
    "load_dataset": "workbench.datasets",
    "import_file": "workbench.datasets",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - the names of _HOMES are strings


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
