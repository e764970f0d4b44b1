"""What the explorer was started with: options of `workbench explore` that its script reads."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

__all__ = ["has_llm", "llm", "read_only", "view"]


def read_only() -> bool:
    """Whether nothing may be written, for reviewers."""
    return bool(_options().read_only)


def view() -> Path | None:
    """The file of a saved view to begin with."""
    named = _options().view
    return Path(named) if named else None


def llm() -> str | None:
    """The language model that `--llm` names; `chat_models.llm_spec` has the other way."""
    named: str | None = _options().llm
    return named


def has_llm() -> bool:
    """Whether a model is named, by `--llm` or `WORKBENCH_LLM_MODEL`."""
    return bool(llm() or os.environ.get("WORKBENCH_LLM_MODEL", "").strip())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--read-only", action="store_true")
    parser.add_argument("--view")
    parser.add_argument("--llm")
    return parser.parse_known_args(sys.argv[1:])[0]
