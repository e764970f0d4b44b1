"""Agreement of verdicts with other verdicts on the same answers, chance taken off by kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.judged import JudgedAnswer
from workbench.kappa import jackknifed
from workbench.stats import mean_interval

__all__ = ["agreement", "agreement_with", "kappa"]

LEVEL = 0.95
Table = npt.NDArray[np.float64]


def agreement(
    ours: Sequence[bool], theirs: Sequence[bool], clusters: Sequence[str], level: float = LEVEL
) -> dict[str, Any]:
    """How often two judges (n,) say the same: share and kappa, with intervals over `clusters`.

    `confusion` counts answers by (ours, theirs). With n = 0 nothing is known and all is None.
    """
    pairs = list(zip(ours, theirs, strict=True))
    names = {True: "right", False: "wrong"}
    counts = {
        f"{names[a]}, theirs {names[b]}": pairs.count((a, b))
        for a in (True, False)
        for b in (True, False)
    }
    told: dict[str, Any] = {"n": len(pairs), "agreement": None, "interval": [None, None]}
    if pairs:
        found = mean_interval([float(a == b) for a, b in pairs], clusters, level=level)
        told |= {"agreement": found.mean, "interval": [found.lo, found.hi], "basis": found.basis}
    return {**told, **kappa(ours, theirs, clusters, level), "confusion": counts}


def agreement_with(
    rows: Sequence[JudgedAnswer], others: Mapping[str, tuple[bool, ...]]
) -> dict[str, Any]:
    """Agreement with the majority of other verdicts, with each of them, and among themselves.

    Left out, and counted: answers that have no verdict here, none there, or a tie there.
    """
    left: Counter[str] = Counter()
    pairs: list[tuple[bool, tuple[bool, ...], str]] = []
    for row in rows:
        theirs = others.get(row.question, ())
        if not theirs or row.right is None:
            left["no verdict of theirs" if not theirs else "no verdict of ours"] += 1
        elif 2 * sum(theirs) == len(theirs):
            left["a tie of theirs"] += 1
        else:
            pairs.append((row.right, theirs, row.scope))
    ours, scopes = [pair[0] for pair in pairs], [pair[2] for pair in pairs]
    majority = [2 * sum(theirs) > len(theirs) for _, theirs, _ in pairs]
    each = []
    for place in range(max((len(theirs) for _, theirs, _ in pairs), default=0)):
        having = [(a, theirs[place], s) for a, theirs, s in pairs if place < len(theirs)]
        first, second, where = zip(*having, strict=True)
        found = agreement(first, second, where)
        each.append({key: found[key] for key in ("n", "agreement", "kappa")})
    unanimous = [float(len(set(theirs)) == 1) for _, theirs, _ in pairs]
    return {
        **agreement(ours, majority, scopes),
        "our_accuracy": float(np.mean(ours)) if ours else None,
        "their_accuracy": float(np.mean(majority)) if ours else None,
        "each": each,
        "theirs_unanimous": float(np.mean(unanimous)) if unanimous else None,
        "left_out": dict(sorted(left.items())),
    }


def kappa(
    ours: Sequence[bool], theirs: Sequence[bool], clusters: Sequence[str], level: float = LEVEL
) -> dict[str, Any]:
    """Cohen's kappa (1960) of two judges (n,), its interval by a jackknife over clusters, t with
    G - 1 degrees of freedom; or `kappa_why` there is no kappa, or no interval."""
    places = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    tables = np.zeros((len(places), 2, 2))
    for a, b, cluster in zip(ours, theirs, clusters, strict=True):
        tables[places[cluster], int(a), int(b)] += 1
    found = jackknifed(tables, level)
    told: dict[str, Any] = {"kappa": found.value, "kappa_interval": [None, None], "kappa_why": ""}
    if found.value is None:
        why = (
            "undefined: both judges give one and the same verdict only"
            if ours
            else "undefined: no answers"
        )
        return told | {"kappa_why": why}
    if found.ends is None:
        return told | {"kappa_why": "too few conversations differ to tell an interval"}
    return told | {"kappa_interval": list(found.ends)}
