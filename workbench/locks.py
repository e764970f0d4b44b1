"""Who may write: waiting for a lock, how long, and whom for."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from workbench.errors import UsageError

__all__ = ["acquire", "holder_of", "patience"]

LOCK_SECONDS = 300.0


def patience() -> float:
    """How long a writer waits for another one, in seconds."""
    given = os.environ.get("WORKBENCH_LOCK_SECONDS", "")
    try:
        return float(given) if given else LOCK_SECONDS
    except ValueError:
        raise UsageError(f"WORKBENCH_LOCK_SECONDS must be a number, not {given!r}") from None


def acquire(lock: Any, holder: Path, patience: float) -> None:
    """Try at once; say who is in the way before waiting, where waiting is wanted."""
    from filelock import Timeout

    try:
        lock.acquire(timeout=0)
    except Timeout:
        if not patience:
            raise
        print(f"waiting for {holder_of(holder)} …", file=sys.stderr)
        lock.acquire(timeout=patience)


def holder_of(path: Path) -> str:
    """Who holds a lock, from the file beside it."""
    try:
        return path.read_text(encoding="utf-8") or "another process"
    except OSError:
        return "another process"
