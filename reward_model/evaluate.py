"""Evaluation of the reward model by the paper's protocol, and its run in the workspace (SPEC B.4).

Three variants of the model on the same splits: full, memory-only (the memory-dependent features),
response-only (the others), and length-only (a ruler). Each predicts every comparison by models that
never saw its participant. Majority, which no model makes, is what a constant could do at best.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from reward_model.calibration import TOLERANCE, credit
from reward_model.material import RULER, EvaluationPlan, Material, facts, gather
from reward_model.outcome import LEVEL, document
from reward_model.protocol import HeldOut, Splits, draw_splits, held_out
from reward_model.rubric import RUBRIC
from reward_model.schema import ComparisonSet
from reward_model.scores import Scores
from workbench.provenance import code_digest
from workbench.runs import save_run, tidy, write_parquet
from workbench.schema import digest_of
from workbench.workspace import Workspace

__all__ = [
    "KIND",
    "Evaluation",
    "EvaluationPlan",
    "evaluate",
    "identity_of",
    "predictions_of",
    "save_evaluation",
    "variants",
]

Vector = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

KIND = "reward-evaluate"


class Evaluation(NamedTuple):
    """A finished evaluation.

    `document` is what `workbench reward evaluate --json` prints. `frame` is tidy: for each fitted
    comparison and variant `correct_<variant>` (1, 0, 1/2 for no choice) and
    `squared_error_<variant>`. `predictions` has a row for every comparison that was predicted, ties
    too; `splits` the table of who was held out when; `left_out` ids with reasons.
    """

    document: dict[str, Any]
    frame: pl.DataFrame
    predictions: pl.DataFrame
    splits: pl.DataFrame
    left_out: pl.DataFrame
    identity: dict[str, Any]


def evaluate(
    chosen: ComparisonSet,
    scores: Scores,
    plan: EvaluationPlan | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Run the protocol on a set of comparisons with one scorer's scores.

    Raises UsageError for a plan that cannot be meant or scores of other comparisons, DataError
    where there is nothing to learn from (`gather`).
    """
    plan = plan or EvaluationPlan()
    material = gather(chosen, scores, plan)
    splits = draw_splits(material.participants, plan.repeats, plan.folds, plan.inner, plan.seed)
    columns = variants(plan)
    strangers = [one.participant for one in material.others]
    found: dict[str, HeldOut] = {}
    for done, (name, features) in enumerate(columns.items()):
        if progress:
            progress("variants", done, len(columns))
        x, x_others = material.only(features)
        found[name] = held_out(x, material.y, splits, plan.Cs, (x_others, strangers))
    found["majority"] = _majority(material, splits)
    told = facts(chosen, material) | {
        "scorer": scores.scorer,
        "scores": scores.id,
        "plan": msgspec.to_builtins(plan),
        "variants": {name: list(features) for name, features in columns.items()},
        **document(material, found, splits, plan),
    }
    if progress:
        progress("variants", len(columns), len(columns))
    return Evaluation(
        told,
        _frame(material, found),
        _predictions(material, found),
        splits.table(material.ids),
        _left_out(material),
        identity_of(chosen, scores, plan),
    )


def save_evaluation(
    workspace: Workspace, evaluation: Evaluation, baselines: Sequence[dict[str, Any]] = ()
) -> str:
    """Keep an evaluation as a run of kind "reward-evaluate", and return its id.

    `baselines` are rows of `reward_model.baselines.baseline_rows`, kept and shown with it. The
    manifest's "report" is the document; beside the frame lie predictions, splits and left_out.
    """
    rows = list(baselines)
    identity = evaluation.identity | ({"baselines": rows} if rows else {})
    tables = {
        "predictions.parquet": evaluation.predictions,
        "splits.parquet": evaluation.splits,
        "left_out.parquet": evaluation.left_out,
    }
    told = evaluation.document
    kept = {"report": told | {"baselines": rows}, "level": LEVEL}
    kept |= {"excluded": told["excluded"], "synthetic": told["synthetic"]}
    return save_run(
        workspace,
        KIND,
        identity,
        evaluation.frame,
        kept,
        {name: _writer(table) for name, table in tables.items()},
    )


def variants(plan: EvaluationPlan) -> dict[str, tuple[str, ...]]:
    """The features of every fitted variant, the full model first; one without any is left out."""
    full = plan.columns
    named = {
        "full": full,
        "memory_only": tuple(one for one in full if RUBRIC[one].memory),
        "response_only": tuple(one for one in full if not RUBRIC[one].memory),
        "length_only": (RULER,),
    }
    return {name: one for name, one in named.items() if one}


def identity_of(chosen: ComparisonSet, scores: Scores, plan: EvaluationPlan) -> dict[str, Any]:
    """All that an evaluation depends on; "values" are the scores, under whatever name."""
    return {
        "dataset": chosen.name,
        "content": chosen.content,
        "scores": scores.id,
        "values": digest_of(scores.frame.rows()),
        "scorer": scores.scorer,
        "plan": msgspec.to_builtins(plan),
        "code": [code_digest(), _code()],
        "seed": plan.seed,
    }


def _majority(material: Material, splits: Splits) -> HeldOut:
    """Everywhere the share that prefers memory of all comparisons: no model, and it knows them all.

    The training folds' share, which knows less, is a baseline of its own: where preferences are
    nearly even, it errs systematically, since holding out who prefers memory leaves less of it.
    """
    share = float(material.y.mean())
    same = np.full(splits.fold.shape, share)
    unfitted = np.full((len(splits.fold), splits.folds), np.nan)
    return HeldOut(same[0], same, np.full(len(material.others), share), unfitted, {})


def _frame(material: Material, found: dict[str, HeldOut]) -> pl.DataFrame:
    rows = []
    for name, one in found.items():
        columns = {
            f"correct_{name}": credit(one.probability, material.y),
            f"squared_error_{name}": (one.probability - material.y) ** 2,
        }
        for metric, values in columns.items():
            rows += [
                {
                    "question": comparison.id,
                    "scope": comparison.participant,
                    "category": comparison.generator,
                    "metric": metric,
                    "value": value,
                }
                for comparison, value in zip(material.fitted, values.tolist(), strict=True)
            ]
    return tidy(rows)


OUTCOMES = {1.0: "right", 0.0: "wrong", 0.5: "undecided"}


def predictions_of(workspace: Workspace, run: str) -> pl.DataFrame:
    """What an evaluation predicted of everybody held out, the surest first: its table with
    `outcome`, by the full model: "right", "wrong", or "undecided" where it or the participant
    chose neither (`calibration.credit`)."""
    frame = pl.read_parquet(workspace.folder("runs", run) / "predictions.parquet")
    said = frame["prefers_memory"].cast(pl.Float64).fill_null(np.nan)
    given = credit(frame["full"], said)
    # Certainties that differ by rounding only are equal; then the id decides.
    sure = np.round(np.abs(frame["full"].to_numpy() - 0.5) / TOLERANCE)
    outcome = pl.Series([OUTCOMES[one] for one in given.tolist()], dtype=pl.String)
    by = ["sure", "comparison"]
    told = frame.with_columns(outcome=outcome, sure=pl.Series(sure))
    return told.sort(by, descending=[True, False]).drop("sure")


def _predictions(material: Material, found: dict[str, HeldOut]) -> pl.DataFrame:
    everyone = (*material.fitted, *material.others)
    told = {
        "comparison": [one.id for one in everyone],
        "participant": [one.participant for one in everyone],
        "generator": [one.generator for one in everyone],
        "regime": [one.regime for one in everyone],
        "strength": [one.strength for one in everyone],
        "prefers_memory": [one.prefers_memory for one in everyone],
        "fitted": [True] * len(material.fitted) + [False] * len(material.others),
    }
    held = {name: np.concatenate([one.probability, one.others]) for name, one in found.items()}
    return pl.DataFrame(told | held)


def _left_out(material: Material) -> pl.DataFrame:
    rows = [(one, reason) for reason, ids in material.left_out.items() for one in ids]
    return pl.DataFrame(rows, {"comparison": pl.String, "reason": pl.String}, orient="row")


def _writer(table: pl.DataFrame) -> Callable[[Path], None]:
    return lambda path: write_parquet(table, path)


@cache
def _code() -> str:
    """Digest of the package's own code: other rules, other results."""
    found = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]
