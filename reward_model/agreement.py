"""How far people agree with themselves, and what they prefer: the paper's tables as queries.

Everything is in memory orientation: the memory response, the other one, or a tie, whichever was
shown as A. Intervals treat participants as what was sampled (`workbench.intervals`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from reward_model.schema import REGIMES, Comparison
from workbench.errors import UsageError
from workbench.kappa import jackknifed
from workbench.stats import mean_interval

__all__ = ["PAPER", "choice_of", "preference_table", "retest_agreement"]

CHOICES = ("memory", "none", "tie")
STRENGTHS = ("much", "slightly", "tie")
GROUPINGS = ("regime", "generator", "participant", "strength", "order", "synthetic")

# The paper's figures, for comparison only; nothing here computes with them. Shares of 1.
PAPER: dict[str, Any] = {
    "retest": {"collected": 75, "overall": 0.680, "much": 0.739, "slightly": 0.586},
    "preference by regime": {
        "conservative": {"memory": 0.433, "none": 0.406, "tie": 0.161},
        "ordinary": {"memory": 0.387, "none": 0.419, "tie": 0.194},
        "aggressive": {"memory": 0.346, "none": 0.493, "tie": 0.162},
    },
    "ordinary preference by generator": {
        "GPT-5.2": {"memory": 0.441, "none": 0.349, "tie": 0.211},
        "Gemini-3.1-Pro": {"memory": 0.307, "none": 0.595, "tie": 0.098},
        "Claude-Opus-5": {"memory": 0.481, "none": 0.365, "tie": 0.154},
    },
}


class _Retest(NamedTuple):
    first: Comparison
    again: Comparison

    @property
    def agrees(self) -> bool:
        return choice_of(self.first) == choice_of(self.again)


def choice_of(one: Comparison) -> str | None:
    """What was preferred: "memory", "none" (the other response) or "tie"; None: not judged."""
    if one.judgment is None:
        return None
    prefers = one.prefers_memory
    return "tie" if prefers is None else "memory" if prefers else "none"


def retest_agreement(comparisons: Sequence[Comparison], level: float = 0.95) -> dict[str, Any]:
    """How often a repeat has the same three-way choice as the comparison that it shows again.

    `overall`, `by_strength` (of the first judgment) and `by_order` (whether the repeat was shown
    in the same order) each hold agreement, lo, hi, n, participants and basis; `kappa` is Cohen's,
    with a jackknife interval over participants, or None with the reason. `excluded` counts the
    repeats that are no pair, by reason: `repeats` = n + all of them. The paper's figures are in
    `PAPER["retest"]`.
    """
    found, excluded = _retests(comparisons)
    groups: dict[str, list[_Retest]] = {strength: [] for strength in STRENGTHS}
    orders: dict[str, list[_Retest]] = {"same order": [], "other order": []}
    for pair in found:
        groups[str(pair.first.strength)].append(pair)
        same = pair.first.order == pair.again.order
        orders["same order" if same else "other order"].append(pair)
    return {
        "repeats": len(found) + sum(excluded.values()),
        "excluded": dict(sorted(excluded.items())),
        "overall": _agreement(found, level),
        "by_strength": {name: _agreement(pairs, level) for name, pairs in groups.items()},
        "by_order": {name: _agreement(pairs, level) for name, pairs in orders.items()},
        "kappa": _kappa(found, level),
        "level": level,
        "synthetic": any(pair.first.synthetic or pair.again.synthetic for pair in found),
    }


def preference_table(
    comparisons: Sequence[Comparison], by: Sequence[str] = ("regime",), level: float = 0.95
) -> list[dict[str, Any]]:
    """What is preferred in each group: a row for each combination of the fields `by` that occurs.

    A row holds the fields, n, participants, `memory`, `none` and `tie` (share, lo, hi, basis),
    `excluded` by reason (attention items, repeats, not judged) and `synthetic`. The three shares
    add up to 1; each interval stands for its own share. `by` are some of regime, generator,
    participant, strength, order, synthetic; () is one row for all. Raises UsageError for others.
    """
    unknown = [field for field in by if field not in GROUPINGS]
    if unknown or isinstance(by, str):
        raise UsageError(f"preferences go by some of {', '.join(GROUPINGS)}, not {by!r}")
    groups: dict[tuple[Hashable, ...], list[Comparison]] = defaultdict(list)
    for one in comparisons:
        groups[tuple(getattr(one, field) for field in by)].append(one)
    return [
        dict(zip(by, key, strict=True)) | _preference(groups[key], level)
        for key in sorted(groups, key=lambda key: tuple(map(_place, key)))
    ]


def _place(value: Hashable) -> tuple[int, str]:
    """Regimes and strengths in their own order, all else by its text."""
    known = (*REGIMES, *STRENGTHS)
    return (known.index(value) if value in known else len(known), str(value))


def _preference(group: Sequence[Comparison], level: float) -> dict[str, Any]:
    excluded: Counter[str] = Counter()
    counted: list[tuple[str, str]] = []
    for one in group:
        choice = choice_of(one)
        if one.attention is not None:
            excluded["attention items"] += 1
        elif one.repeat_of is not None:
            excluded["repeats"] += 1
        elif choice is None:
            excluded["not judged"] += 1
        else:
            counted.append((choice, one.participant))
    people = [participant for _, participant in counted]
    row: dict[str, Any] = {"n": len(counted), "participants": len(set(people))}
    for name in CHOICES:
        found = _share([choice == name for choice, _ in counted], people, level)
        row[name] = {key: found[key] for key in ("share", "lo", "hi", "basis")}
    synthetic = any(one.synthetic for one in group)
    return row | {"excluded": dict(sorted(excluded.items())), "synthetic": synthetic}


def _retests(comparisons: Sequence[Comparison]) -> tuple[list[_Retest], Counter[str]]:
    """Repeats with what they repeat, and how many are none of these, by reason."""
    known = {one.id: one for one in comparisons}
    found = []
    excluded: Counter[str] = Counter()
    for again in comparisons:
        if again.repeat_of is None:
            continue
        first = known.get(again.repeat_of)
        why = _no_retest(first, again)
        if first is None or why:
            excluded[why] += 1
        else:
            found.append(_Retest(first, again))
    return found, excluded


def _no_retest(first: Comparison | None, again: Comparison) -> str:
    """Why a repeat and what it names are no pair of judgments on the same thing; "" where they
    are."""
    if first is None:
        return "orphans: what they repeat is absent"
    reasons = (
        (first.id == again.id, "repeats of themselves"),
        (first.repeat_of is not None, "repeats of a repeat"),
        (first.participant != again.participant, "repeats by another participant"),
        (first.pair != again.pair, "repeats with other texts"),
        (first.attention is not None or again.attention is not None, "attention items"),
        (first.judgment is None or again.judgment is None, "not judged"),
    )
    return next((why for holds, why in reasons if holds), "")


def _agreement(pairs: Sequence[_Retest], level: float) -> dict[str, Any]:
    people = [pair.first.participant for pair in pairs]
    found = _share([pair.agrees for pair in pairs], people, level)
    return {"agreement": found.pop("share")} | found


def _share(values: Sequence[bool], people: Sequence[str], level: float) -> dict[str, Any]:
    """A share with its interval over participants; None throughout where there are no values."""
    if not values:
        return {"share": None, "lo": None, "hi": None, "n": 0, "participants": 0, "basis": None}
    found = mean_interval(np.asarray(values, np.float64), people, level=level)
    # What `workbench` calls conversations and questions are participants and judgments here.
    basis = "participants" if found.basis == "conversations" else "judgments"
    return {
        "share": found.mean,
        "lo": found.lo,
        "hi": found.hi,
        "n": found.n,
        "participants": found.clusters,
        "basis": basis,
    }


def _kappa(pairs: Sequence[_Retest], level: float) -> dict[str, Any]:
    """Cohen's kappa of first and second choice, with its interval or why there is none."""
    people = sorted({pair.first.participant for pair in pairs})
    told: dict[str, Any] = {"kappa": None, "lo": None, "hi": None, "n": len(pairs), "why": ""}
    told["participants"] = len(people)
    tables = np.zeros((len(people), len(CHOICES), len(CHOICES)))
    places = {name: place for place, name in enumerate(people)}
    for pair in pairs:
        first, again = (CHOICES.index(str(choice_of(one))) for one in pair)
        tables[places[pair.first.participant], first, again] += 1
    found = jackknifed(tables, level)
    if found.value is None:
        alike = "undefined: every first and second choice is the same, as by chance they must be"
        return told | {"why": alike if pairs else "undefined: there are no repeats"}
    told["kappa"] = found.value
    if found.ends is None:
        return told | {"why": "too few participants differ to tell an interval"}
    lo, hi = found.ends
    return told | {"lo": lo, "hi": hi}
