"""LongMemEval's two accuracies: averaged over tasks, and overall (Wu et al. 2024).

The benchmark counts an abstention item within the type that it carries, and gives abstention
accuracy once more apart; so does this. Paper A reports five of the six types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.answer_metrics import macro_mean
from workbench.judged import JudgedAnswer
from workbench.stats import mean_interval

__all__ = ["PAPER_TYPES", "TYPES", "longmemeval"]

TYPES = (
    *("single-session-user", "single-session-assistant", "single-session-preference"),
    *("multi-session", "temporal-reasoning", "knowledge-update"),
)
PAPER_TYPES = tuple(name for name in TYPES if name != "single-session-assistant")


def longmemeval(rows: Sequence[JudgedAnswer], level: float) -> dict[str, Any]:
    """`all` six types and the paper's `five`: `overall`, `task_averaged`, n and the types met.

    Abstention items are among them; `all_answerable` and `five_answerable` leave them out. Types
    without a judged answer enter no average and are `missing`; other categories enter nothing.
    """
    answerable = [row for row in rows if not row.abstention]
    return {
        "all": _accuracies(rows, TYPES, level),
        "five": _accuracies(rows, PAPER_TYPES, level),
        "all_answerable": _accuracies(answerable, TYPES, level),
        "five_answerable": _accuracies(answerable, PAPER_TYPES, level),
    }


def _accuracies(rows: Sequence[JudgedAnswer], types: Sequence[str], level: float) -> dict[str, Any]:
    judged = [row for row in rows if row.category in types and row.right is not None]
    met = [name for name in types if any(row.category == name for row in judged)]
    told: dict[str, Any] = {"n": len(judged), "overall": None, "interval": [None, None]}
    told |= {"task_averaged": None, "missing": [name for name in types if name not in met]}
    if judged:
        values = np.array([float(bool(row.right)) for row in judged])
        found = mean_interval(values, [row.scope for row in judged], level=level)
        told |= {"overall": found.mean, "interval": [found.lo, found.hi]}
        told["task_averaged"] = macro_mean(values, np.array([row.category for row in judged]))[0]
    return told
