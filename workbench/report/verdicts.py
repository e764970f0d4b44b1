"""What a judge's verdicts on answers come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import polars as pl

from workbench import figures
from workbench.figures.drawing import estimate
from workbench.passport import Passport
from workbench.report.tables import Found, Table
from workbench.runs import Run
from workbench.workspace import Workspace

__all__ = ["verdicts"]


def verdicts(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """Accuracy of a run of kind "judge" over questions and categories, what was not judged and why,
    and who judged, as the command reported it."""
    told = run.manifest["report"]
    rows = [
        {"category": name, "n": one["n"], "judged": one["judged"], **_ends(one)}
        for name, one in (("all questions", told), *told["by_category"].items())
    ]
    # An accuracy, or a bound, may be unknown in every row.
    kinds = dict.fromkeys(("mean", "lo", "hi"), pl.Float64)
    frame = pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)
    tables = [
        Table("accuracy", "Share of answers that the judge holds right, by category", frame),
        Table("left", "Answers without a verdict, by class", _left(told)),
    ]
    drawn = {}
    parts = frame.filter(pl.col("category") != "all questions", pl.col("mean").is_not_null())
    if len(parts):
        judged = parts.with_columns(n=pl.col("judged"))
        drawn["categories"] = figures.category_dots(judged, _own(passport, told), "Judged right")
    return Found(list(_lead(told)), tables, drawn)


def _lead(told: Mapping[str, Any]) -> Iterator[str]:
    judge = told["judge"]
    model = ", ".join(f"{key} {value}" for key, value in judge["model"].items())
    yield (
        f"Judged by a language model ({model}), against the {told['gold']} gold; votes an answer: "
        f"{judge['repeats']}. Its verdicts are no truth."
    )
    left = ", ".join(f"{n} {why}" for why, n in told["not_judged"].items()) or "none"
    yield (
        f"Accuracy {estimate(_ends(told))} over {told['judged']} judged of {told['n']} answers; "
        f"not judged, and not counted as wrong: {left}."
    )
    if told["task_averaged"] is not None:
        low, high = told["task_interval"]
        average = estimate({"mean": told["task_averaged"], "lo": low, "hi": high})
        yield f"Averaged over categories: {average}."
    same = told["repeats"]["same"]
    if same["n"]:
        low, high = same["interval"]
        share = estimate({"mean": same["share"], "lo": low, "hi": high})
        yield f"The judge agrees with itself on {share} of its pairs of votes."


def _own(passport: Passport, told: Mapping[str, Any]) -> Passport:
    """The passport of what is judged alone: the run also counts what is declined, and answers that
    must decline."""
    apart = {"must be declined": told["abstention"]["n"]}
    return msgspec.structs.replace(
        passport, n=told["judged"], excluded={**told["not_judged"], **apart}
    )


def _left(told: Mapping[str, Any]) -> pl.DataFrame:
    rows = list(told["not_judged"].items())
    return pl.DataFrame(rows, schema={"why": pl.String, "n": pl.Int64}, orient="row")


def _ends(one: Mapping[str, Any]) -> dict[str, Any]:
    low, high = one["interval"]
    return {"mean": one["accuracy"], "lo": low, "hi": high}
