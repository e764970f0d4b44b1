"""Cohen's kappa (1960) of two raters, and its interval by a jackknife over clusters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

__all__ = ["Kappa", "jackknifed"]

LEAST_CLUSTERS = 3
EVEN = 1e-12

Table = npt.NDArray[Any]


class Kappa(NamedTuple):
    """Kappa, None where chance alone would agree always (or there is nothing); and its interval,
    None where too few clusters differ to tell one."""

    value: float | None
    ends: tuple[float, float] | None


def jackknifed(tables: Table, level: float) -> Kappa:
    """Kappa of the sum of tables of counts (clusters, c, c); its interval leaves out each cluster
    in turn, t with one degree of freedom less than there are clusters."""
    whole = tables.sum(axis=0)
    kappa = _cohen(whole)
    if kappa is None:
        return Kappa(None, None)
    without = [_cohen(whole - table) for table in tables]
    values = np.array([one for one in without if one is not None])
    spread = float(values.std()) if len(values) else 0.0
    if len(values) < max(LEAST_CLUSTERS, len(tables)) or spread <= EVEN:
        return Kappa(kappa, None)
    n = len(values)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * spread * (n - 1) ** 0.5
    return Kappa(kappa, (max(-1.0, kappa - half), min(1.0, kappa + half)))


def _cohen(table: Table) -> float | None:
    """Kappa of a table of counts (c, c); None where chance alone would agree always."""
    n = table.sum()
    if not n:
        return None
    chance = float((table.sum(axis=0) * table.sum(axis=1)).sum() / n**2)
    if chance >= 1 - EVEN:
        return None
    return float((np.trace(table) / n - chance) / (1 - chance))
