"""The paper's figures that stand beside ours (SPEC B.5), and rows that carry them.

They were measured on the paper's own 291 comparisons, which are not published: references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["PAPER_ACCURACY", "PAPER_SELECTIVE", "accuracy_rows"]

PAPER_ACCURACY = {"full": 0.728, "memory_only": 0.625, "response_only": 0.670, "majority": 0.550}
PAPER_SELECTIVE = {0.25: 0.888, 0.5: 0.837, 0.75: 0.762, 1.0: 0.728}

NAMES = {
    "full": "full rubric",
    "memory_only": "memory-only features",
    "response_only": "response-only features",
    "length_only": "length only",
}


def accuracy_rows(
    evaluation: Mapping[str, Any], baselines: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """Rows for `accuracy_bars` from the document of an evaluation and its rows of baselines.

    A baseline that is also a variant of the evaluation is not shown twice.
    """
    rows = [
        {
            "variant": NAMES.get(name, name),
            "mean": mean,
            "lo": evaluation["interval"][name][0],
            "hi": evaluation["interval"][name][1],
            "n": evaluation["n"],
            "paper": PAPER_ACCURACY.get(name),
        }
        for name, mean in evaluation["accuracy"].items()
    ]
    own = {name.replace("_", "-") for name in evaluation["accuracy"]}
    return rows + [
        {
            "variant": one["baseline"],
            "mean": one.get("accuracy"),
            "lo": one.get("lo"),
            "hi": one.get("hi"),
            "n": one.get("n") or 0,
            "paper": one.get("paper"),
            "not_run": one.get("not_run"),
        }
        for one in baselines
        if one["baseline"].replace("_", "-") not in own
    ]
