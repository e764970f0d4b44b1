"""The tables of an evaluation of the reward model, from its document.

The paper's figures stand in them as references ("paper"): other people, other comparisons, another
scorer. Nothing here is a reproduction of them.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from reward_model.agreement import PAPER
from reward_model.figures.references import PAPER_ACCURACY, PAPER_SELECTIVE
from reward_model.rubric import RUBRIC
from workbench.report import Table

__all__ = ["NAMES", "ends", "reward_tables", "rows"]

NAMES = {
    "full": "full",
    "memory_only": "memory only",
    "response_only": "response only",
    "length_only": "length only",
    "majority": "larger class",
}
QUALITY = ("brier", "auc")
EXPECTED_ERROR = ("mean", "lo", "hi")


def reward_tables(report: dict[str, Any]) -> list[Table]:
    """The tables of an evaluation's document, the most asked for first."""
    tables = [
        Table("accuracy", "Held-out accuracy", _accuracy(report)),
        Table("tests", "The full model against the others; p by sign flips, Holm", _tests(report)),
        Table("coefficients", "Coefficients, log odds per standard deviation", _weights(report)),
        Table("selective", "Accuracy among the most certain", _selective(report)),
        Table("generators", "Accuracy by generator", _generators(report)),
        Table("calibration", "Calibration and ranking", _calibration(report)),
        Table(
            "reliability", "Shares by predicted probability", rows(report["calibration"]["bins"])
        ),
        Table("ties", "Accuracy without and with human ties (worth 1/2)", _ties(report)),
        Table("preferences", "What is preferred, by regime and by generator", _preferences(report)),
        Table("retest", "How far people agree with themselves", _retest(report)),
        Table("choices", "C chosen in the outer folds", _choices(report)),
        Table("baselines", "Baselines", _baselines(report)),
        Table("excluded", "Comparisons left out", _excluded(report)),
    ]
    return [one for one in tables if len(one.frame)]


def _accuracy(report: dict[str, Any]) -> pl.DataFrame:
    return rows(
        [
            {"model": NAMES[name]}
            | ends(mean, report["interval"][name], "accuracy")
            | {"n": report["n"], "over": report["basis"][name]}
            | {"model_ties": report["ties"]["model_ties"][name]}
            | {"paper": PAPER_ACCURACY.get(name)}
            for name, mean in report["accuracy"].items()
        ]
    )


def _tests(report: dict[str, Any]) -> pl.DataFrame:
    return rows([{**one, "a": NAMES[one["a"]], "b": NAMES[one["b"]]} for one in report["tests"]])


def _weights(report: dict[str, Any]) -> pl.DataFrame:
    shrunken = report["shrunken"] or {"coefficients": [], "coefficients_fit": {"C": None}}
    smaller = {one["feature"]: one for one in shrunken["coefficients"]}
    none = {"beta": None, "lo": None, "hi": None}
    return rows(
        [
            {"feature": one["feature"], "title": RUBRIC[one["feature"]].title}
            | {"memory": "yes" if one["memory"] else "no"}
            | {key: one[key] for key in ("beta", "lo", "hi")}
            | {
                f"shrunken{end}": smaller.get(one["feature"], none)[key]
                for key, end in (("beta", ""), ("lo", "_lo"), ("hi", "_hi"))
            }
            | {"shrunken_by_C": shrunken["coefficients_fit"]["C"]}
            | {"paper": RUBRIC[one["feature"]].paper}
            for one in report["coefficients"]
        ]
    )


def _selective(report: dict[str, Any]) -> pl.DataFrame:
    return rows(
        [one | {"paper": PAPER_SELECTIVE.get(one["coverage"])} for one in report["selective_curve"]]
    ).select("coverage", "n", "accuracy", "lo", "hi", "paper")


def _generators(report: dict[str, Any]) -> pl.DataFrame:
    return rows(
        [
            {"generator": generator, "model": NAMES[name]}
            | ends(mean, one["interval"][name], "accuracy")
            | {"n": one["n"], "participants": one["participants"]}
            for generator, one in report["by_generator"].items()
            for name, mean in one["accuracy"].items()
        ]
    )


def _calibration(report: dict[str, Any]) -> pl.DataFrame:
    return rows(
        [
            {"model": NAMES[name]}
            | {
                f"{key}{end}": value
                for key in QUALITY
                for end, value in zip(
                    ("", "_lo", "_hi"), (one[key], *one[f"{key}_interval"]), strict=True
                )
            }
            | {"ece": one["ece"]}
            | {f"ece_if_calibrated_{key}": one["ece_if_calibrated"][key] for key in EXPECTED_ERROR}
            | {"n": one["n"]}
            for name, one in report["calibration"]["variants"].items()
        ]
    )


def _ties(report: dict[str, Any]) -> pl.DataFrame:
    ties = report["ties"]
    return rows(
        [
            {"model": NAMES[name], "without_ties": mean, "n_without": ties["n_without"]}
            | ends(ties["accuracy_with"][name], ties["interval_with"][name], "with_ties")
            | {"n_with": ties["n_with"]}
            for name, mean in ties["accuracy_without"].items()
        ]
    )


def _retest(report: dict[str, Any]) -> pl.DataFrame:
    strengths = {"overall": report["retest"]["overall"], **report["retest"]["by_strength"]}
    return rows(
        [
            {"first_judgment": name}
            | {key: one[key] for key in ("agreement", "lo", "hi", "n", "participants")}
            | {"paper": PAPER["retest"].get(name)}
            for name, one in strengths.items()
            if one["n"]
        ]
    )


def _preferences(report: dict[str, Any]) -> pl.DataFrame:
    return rows(
        [
            {"by": by, "group": str(row[by])}
            | {
                f"{choice}{end}": row[choice][key]
                for choice in ("memory", "none", "tie")
                for key, end in (("share", ""), ("lo", "_lo"), ("hi", "_hi"))
            }
            | {"n": row["n"], "participants": row["participants"]}
            for by, made in report["preferences"].items()
            for row in made
        ]
    )


def _choices(report: dict[str, Any]) -> pl.DataFrame:
    return rows(
        [
            {"model": NAMES[name], "C": float(cost), "folds": folds}
            for name, counts in report["C_chosen"].items()
            for cost, folds in counts.items()
        ]
    )


def _baselines(report: dict[str, Any]) -> pl.DataFrame:
    shown = ("baseline", "accuracy", "lo", "hi", "n", "chose_memory", "model_ties", "paper")
    return rows(
        [
            {key: one[key] for key in shown}
            | {"failed": ", ".join(f"{n} {why}" for why, n in one["failed"].items())}
            | {"note": one["note"], "not_run": one["not_run"]}
            for one in report.get("baselines") or ()
        ]
    )


def _excluded(report: dict[str, Any]) -> pl.DataFrame:
    return rows([{"reason": why, "n": n} for why, n in report["excluded"].items()])


def rows(made: list[dict[str, Any]]) -> pl.DataFrame:
    """A frame of rows, its types those of all of them."""
    return pl.DataFrame(made, infer_schema_length=None)


def ends(mean: float, interval: list[float | None], name: str = "mean") -> dict[str, Any]:
    """A mean under its name, with the ends of its interval."""
    return {name: mean, "lo": interval[0], "hi": interval[1]}
