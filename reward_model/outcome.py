"""What held-out predictions come to: the document that an evaluation reports.

No mean stands alone: each has its n and its interval over participants (`workbench.stats`); what
is no mean (areas, accuracy among the most certain) has one by resampling them; a calibration error
has none, and stands beside the range of what a calibrated model would show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from reward_model.agreement import preference_table, retest_agreement
from reward_model.calibration import (
    TOLERANCE,
    credit,
    defined,
    most_certain,
    quality_of,
    reliability,
    resampled_interval,
    selective,
)
from reward_model.coefficients import Coefficients, Resampling, bootstrap_coefficients
from reward_model.material import EvaluationPlan, Material
from reward_model.protocol import HeldOut, Splits
from reward_model.schema import Comparison
from workbench.stats import Difference, holm, mean_interval, paired_difference

__all__ = ["LEVEL", "document"]

Vector = npt.NDArray[np.float64]

LEVEL = 0.95
COVERAGES = (0.25, 0.5, 0.75, 1.0)  # SPEC B.4
CURVE = tuple(at / 20 for at in range(1, 21))
POOLED = "areas under the curve are pooled: a participant with one kind of preference has none"
GROUPS = ("regime", "generator")  # whose preferences are told
TESTED = ("memory_only", "response_only", "length_only", "majority")
BASES = {"conversations": "participants", "questions": "comparisons"}

MAJORITY = (
    "majority is the larger of the two preferences among these very comparisons: the best constant"
)
SYNTHETIC = "synthetic data: no person gave these judgments, and they say nothing about people"
TIES = (
    f"a probability within {TOLERANCE:g} of 1/2 chooses nothing and is worth 1/2; a human tie is "
    "worth 1/2 whatever is predicted, and trains nothing"
)


def document(
    material: Material,
    found: dict[str, HeldOut],
    splits: Splits,
    plan: EvaluationPlan,
) -> dict[str, Any]:
    """Accuracies, tests, selective accuracy, generators, coefficients, calibration, ties, notes."""
    y, who = material.y, material.participants
    credits = {name: credit(one.probability, y) for name, one in found.items()}
    means = {name: mean_interval(one, who) for name, one in credits.items()}
    curve = _selective(material, found["full"].probability, credits["full"], plan.seed)
    few = {f"{100 * one['coverage']:g}": one for one in curve if one["coverage"] in COVERAGES}
    quality = {name: quality_of(one.probability, y, who, plan.seed) for name, one in found.items()}
    chosen_c = {name: _chosen(one) for name, one in found.items() if name != "majority"}
    told = {
        "accuracy": {name: one.mean for name, one in means.items()},
        "interval": {name: [one.lo, one.hi] for name, one in means.items()},
        "basis": {name: BASES[one.basis] for name, one in means.items()},
        "tests": _tests(credits, who, plan.seed),
        "selective": {name: one["accuracy"] for name, one in few.items()},
        "selective_interval": {name: [one["lo"], one["hi"]] for name, one in few.items()},
        "selective_n": {name: one["n"] for name, one in few.items()},
        "selective_curve": curve,
        "by_generator": _by_generator(material, credits),
        **_coefficients(material, chosen_c["full"], plan),
        "C_chosen": chosen_c,
        "calibration": quality["full"]
        | {"bins": reliability(found["full"].probability, y, who), "variants": quality},
        "ties": _ties(material, found, credits),
        "other_strengths": _other_strengths(material, found),
        "retest": retest_agreement(material.passed),
        "preferences": {one: _preferences(material, one) for one in GROUPS},
        "degenerate": {name: one.degenerate for name, one in found.items()},
    }
    fits = [told["coefficients_fit"], (told["shrunken"] or {}).get("coefficients_fit", {})]
    said = [note for fit in fits for note in fit.get("notes", ())]
    made = any(one.synthetic for one in material.passed)
    notes = [*[SYNTHETIC] * made, MAJORITY, TIES, POOLED, *splits.notes, *dict.fromkeys(said)]
    return told | {"level": LEVEL, "notes": notes}


def _selective(material: Material, p: Vector, credits: Vector, seed: int) -> list[dict[str, Any]]:
    """Accuracy among the most certain at every coverage of the curve, with its n and interval.

    Intervals resample participants, and choose the most certain anew. Where all is covered, or
    resampling never finds another value (all right), they are the mean's own.
    """
    ids, who = material.ids, material.participants
    means = selective(p, credits, ids, CURVE)[0].tolist()
    ends = resampled_interval(lambda given: selective(p, credits, ids, CURVE, given), who, seed)
    rows = []
    for coverage, mean, low, high in zip(CURVE, means, *ends, strict=True):
        chosen = most_certain(p, ids, coverage)
        lo, hi = defined(low), defined(high)
        if len(chosen) == len(p) or lo == hi:
            own = mean_interval(credits[chosen], [who[at] for at in chosen])
            lo, hi = own.lo, own.hi
        rows.append({"coverage": coverage, "accuracy": mean, "lo": lo, "hi": hi, "n": len(chosen)})
    return rows


def _tests(credits: dict[str, Vector], who: Sequence[str], seed: int) -> list[dict[str, Any]]:
    """The full model against each other variant on the same comparisons; Holm over the family."""
    rivals = [name for name in TESTED if name in credits]
    tests: list[Difference] = [
        paired_difference(credits["full"], credits[name], who, seed=seed) for name in rivals
    ]
    corrected = holm([one.p for one in tests])
    return [
        {
            "a": "full",
            "b": name,
            "difference": one.difference,
            "lo": one.lo,
            "hi": one.hi,
            "p": one.p,
            "p_holm": p,
            "n": one.n,
            "participants": one.clusters,
        }
        for name, one, p in zip(rivals, tests, corrected, strict=True)
    ]


def _by_generator(material: Material, credits: dict[str, Vector]) -> dict[str, Any]:
    """Each generator's comparisons; `larger_class` is the share of its commoner preference."""
    names = np.array([one.generator for one in material.fitted])
    people = np.array(material.participants)
    told = {}
    for generator in dict.fromkeys(names.tolist()):
        inside = names == generator
        who = people[inside].tolist()
        means = {name: mean_interval(one[inside], who) for name, one in credits.items()}
        share = float(material.y[inside].mean())
        told[generator] = {
            "n": int(inside.sum()),
            "participants": len(set(who)),
            "larger_class": max(share, 1 - share),
            "accuracy": {name: one.mean for name, one in means.items()},
            "interval": {name: [one.lo, one.hi] for name, one in means.items()},
        }
    return told


def _ties(
    material: Material, found: dict[str, HeldOut], credits: dict[str, Vector]
) -> dict[str, Any]:
    """Accuracy without and with human ties, n of each, and the model's own ties."""
    at = [place for place, one in enumerate(material.others) if one.strength == "tie"]
    people = [*material.participants, *(material.others[place].participant for place in at)]
    every = {
        name: mean_interval(
            np.concatenate([credits[name], credit(one.others[at], np.full(len(at), np.nan))]),
            people,
        )
        for name, one in found.items()
    }
    certainty = np.abs(found["full"].probability - 0.5)
    tied = np.abs(found["full"].others[at] - 0.5)
    return {
        "tolerance": TOLERANCE,
        "human_ties": len(at),
        "model_ties": {
            name: int((np.abs(one.probability - 0.5) <= TOLERANCE).sum())
            for name, one in found.items()
        },
        "n_without": len(material.y),
        "n_with": len(people),
        "accuracy_without": {name: float(one.mean()) for name, one in credits.items()},
        "accuracy_with": {name: one.mean for name, one in every.items()},
        "interval_with": {name: [one.lo, one.hi] for name, one in every.items()},
        # A model that knows doubt is less certain where people were undecided.
        "certainty": {
            "preferences": float(certainty.mean()),
            "human_ties": float(tied.mean()) if at else None,
        },
    }


def _other_strengths(material: Material, found: dict[str, HeldOut]) -> dict[str, Any]:
    """Accuracy on preferences of the strengths that trained nothing."""
    told: dict[str, Any] = {}
    for strength in ("much", "slightly"):
        at = [place for place, one in enumerate(material.others) if one.strength == strength]
        if not at:
            continue
        some: list[Comparison] = [material.others[place] for place in at]
        y = np.array([float(bool(one.prefers_memory)) for one in some])
        who = [one.participant for one in some]
        means = {n: mean_interval(credit(f.others[at], y), who) for n, f in found.items()}
        told[strength] = {
            "n": len(at),
            "participants": len(set(who)),
            "accuracy": {name: one.mean for name, one in means.items()},
            "interval": {name: [one.lo, one.hi] for name, one in means.items()},
        }
    return told


def _preferences(material: Material, by: str) -> list[dict[str, Any]]:
    """What is preferred in each group that has judgments."""
    return [row for row in preference_table(material.passed, (by,)) if row["n"]]


def _chosen(found: HeldOut) -> dict[str, int]:
    """How often each C was chosen over the outer folds."""
    counted = Counter(found.C[np.isfinite(found.C)].tolist())
    return {f"{cost:g}": counted[cost] for cost in sorted(counted)}


def _coefficients(
    material: Material, chosen: dict[str, int], plan: EvaluationPlan
) -> dict[str, Any]:
    """The descriptive fit to all comparisons, and the one shrunken by the C most often chosen.

    Of C chosen equally often the smallest; where none was ever chosen, the descriptive one alone.
    """
    columns = plan.columns
    x, _ = material.only(columns)
    how = Resampling(seed=plan.seed)
    given = (x, material.y, material.participants, columns)
    told = _fit(bootstrap_coefficients(*given, None, how))
    if not chosen:
        return told | {"shrunken": None}
    cost = float(max(chosen, key=lambda one: (chosen[one], -float(one))))
    return told | {"shrunken": _fit(bootstrap_coefficients(*given, cost, how))}


def _fit(found: Coefficients) -> dict[str, Any]:
    """The rows as `coefficients`, and what else is told of the fit as `coefficients_fit`."""
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return {"coefficients": plain.pop("rows"), "coefficients_fit": plain}
