"""Small runs with results by hand, and text that tries to be something else."""

from __future__ import annotations

from typing import Any

import polars as pl

from workbench.passport import Passport
from workbench.runs import save_run, tidy
from workbench.workspace import Workspace

IMG = "<img src=x onerror=alert(1)>"
LINK = '<a href="javascript:alert(1)">x</a>'
HOSTILE = f"{IMG}{LINK}</script><script>alert(1)</script>"

PASSPORT = Passport(
    run="ab12cd34ef567890",
    kind="recall",
    dataset="toy",
    data="79fa87e9aabbccdd",
    recipe="1234567890abcdef",
    code="9.9.9",
    seed=7,
    n=1536,
    clusters=10,
    excluded={"without evidence": 1, "unresolved evidence": 3},
)
RECIPE = {
    "memories": "turns",
    "retriever": "dense",
    "prior": "facts",
    "lam": 0.5,
    "embedder": "minilm",
}

# Recall of six questions of three scopes at K = 1 and 5, by hand: means 1/3 and 3/4.
RECALLS: list[tuple[str, str, str, float, float]] = [
    ("q1", "a", "multi-hop", 0.0, 0.5),
    ("q2", "a", "multi-hop", 0.5, 1.0),
    ("q3", "b", "multi-hop", 0.5, 0.5),
    ("q4", "b", "odd", 1.0, 1.0),
    ("q5", "c", "odd", 0.0, 1.0),
    ("q6", "c", "odd", 0.0, 0.5),
]


def recall_frame(shift: float = 0.0, odd: str = "odd") -> pl.DataFrame:
    """`RECALLS` as a tidy frame, each value lower by `shift`; `odd` names the second category."""
    return tidy(
        [
            {
                "question": question,
                "scope": scope,
                "category": odd if category == "odd" else category,
                "metric": f"recall@{k}",
                "value": value - shift,
            }
            for k, column in ((1, 3), (5, 4))
            for row in RECALLS
            for question, scope, category, value in [(*row[:3], row[column])]
        ]
    )


def recall_run(workspace: Workspace, odd: str = "odd", shift: float = 0.0, **more: Any) -> str:
    """The id of a saved run of kind "recall" over `recall_frame`."""
    identity = {"dataset": "toy", "content": "c0ffee", "recipe": RECIPE | more, "seed": 0}
    frame = recall_frame(shift, odd)
    return save_run(workspace, "recall", identity, frame, {"excluded": {"without evidence": 2}})
