"""A scoring: the parts that add up to a memory's score, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from workbench.bank import Bank, Scores, rank_rows
from workbench.schema import Hit

__all__ = ["Mask", "Scoring", "hits_of", "spread", "z_scores"]

Mask = npt.NDArray[np.bool_]


@dataclass
class Scoring:
    """Parts that add up to the score, raw values, and the rows that may be returned.

    `notes` say what the recipe asked for and the shelf could not give.
    """

    parts: dict[str, Scores] = field(default_factory=dict)
    raw: dict[str, Scores] = field(default_factory=dict)
    allowed: Mask | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def total(self) -> Scores:
        total: Scores = np.sum(list(self.parts.values()), axis=0)
        return total

    def forbid(self, mask: Mask | None) -> None:
        """Keep only rows that `mask` (None: all) allows as well."""
        if mask is not None:
            self.allowed = mask if self.allowed is None else self.allowed & mask

    def best(self, k: int) -> npt.NDArray[np.intp]:
        return rank_rows(self.total, k, self.allowed)


def hits_of(
    bank: Bank, scoring: Scoring, rows: npt.NDArray[np.intp], first: int = 1
) -> tuple[Hit, ...]:
    """The memories of some rows, best first; ranks count from `first`."""
    total = scoring.total
    return tuple(
        Hit(
            memory=bank.memories[row],
            rank=rank,
            score=float(total[row]),
            parts={name: float(part[row]) for name, part in scoring.parts.items()},
            raw={name: float(value[row]) for name, value in scoring.raw.items()},
        )
        for rank, row in enumerate(rows, start=first)
    )


def z_scores(values: Scores) -> Scores:
    """Values less their mean, in standard deviations; all 0 where all are equal."""
    return (values - values.mean()) / spread(values)


def spread(values: Scores) -> float:
    """Standard deviation, or 1 where all values are equal (z-scores are then all 0)."""
    deviation = float(values.std())
    return deviation if deviation > 1e-12 else 1.0
