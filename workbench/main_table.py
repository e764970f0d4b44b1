"""The main table: every row answered and scored as a run of its own, each tested against PPRO.

Rows are `evaluate` runs, found again where they are there, resumed where they were stopped. The
table is kept as a run of kind "table" once no row is pending:

    frame.parquet      PPRO's values by question (question, scope, category, metric, value)
    questions.parquet  the same of every measured row, with a column `row`
    estimates.parquet  row, measure, category ("" for all), n, mean, lo, hi
    tests.parquet      row, measure, n, difference, lo, hi, p, p_holm
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import polars as pl

from workbench.errors import DataError, ModelError
from workbench.library import BankSet
from workbench.provenance import code_digest
from workbench.published import PROVENANCE, PUBLISHED
from workbench.run import evaluate
from workbench.run_plan import check
from workbench.runs import run_id, save_run, write_parquet
from workbench.schema import digest_of
from workbench.table_plan import Progress, TablePlan, row_plan
from workbench.table_rows import PPRO, Row
from workbench.table_values import (
    FAMILY,
    TESTS,
    Measured,
    compared,
    estimated,
    estimates_frame,
    measured_row,
    measured_run,
)

__all__ = ["KIND", "main_table"]

KIND = "table"


def main_table(plan: TablePlan, progress: Progress | None = None) -> dict[str, Any]:
    """Make what is missing of a table, keep it where nothing is pending, and report.

    "rows" have a `state` each: "measured", "not available: ..." or "pending: ..." (some answers
    failed, and the same table asks for them again). Raises UsageError for what cannot be meant, and
    ModelError where no row has any answer.
    """
    check(plan.recipe, plan.answerer, "", plan.rewriter, plan.llm is not None)
    told: list[dict[str, Any]] = []
    measured: dict[str, Measured] = {}
    banks = plan.banks("turns", progress)
    for place, row in enumerate(plan.wanted):
        if progress:
            progress("rows", place, len(plan.wanted))
        state, report, found = _made(plan, row, progress)
        told.append({"row": row.name, "state": state, **_spent(row, report)})
        if found is not None:
            measured[row.name] = found
    for name, run in plan.also.items():
        measured[name] = measured_run(plan.workspace, run, banks.dataset, plan.gold)
        told.append({"row": name, "state": "measured", **_spent(None, measured[name].report)})
    report = _report(plan, banks, told, measured)
    lost = [one for one in told if one["state"].startswith("pending")]
    if lost and not measured and all(one["seconds"] is None for one in lost):
        raise ModelError(f"no row has an answer; {lost[0]['row']} is {lost[0]['state']}")
    if report["pending"]:
        return {"run": None, **report}
    return {"run": _kept(plan, report, measured), **report}


def _made(
    plan: TablePlan, row: Row, progress: Progress | None
) -> tuple[str, dict[str, Any], Measured | None]:
    """The state of a row, what its run reports, and its values where it has all of them."""
    if row.missing:
        return row.missing, {}, None
    tell = None if progress is None else partial(_named, progress, row.name)
    banks = plan.banks(row.recipe.memories, tell)
    try:
        report = evaluate(row_plan(plan, row, banks, tell), plan.gold, plan.fresh, tell)
    except ModelError as error:
        return f"pending: {error}", {}, None
    except DataError as error:
        return f"not available: {error}", {}, None
    if report["run"] is None:
        lost = ", ".join(f"{n} {kind}" for kind, n in report["failures"].items())
        return f"pending: {lost}", report, None
    return "measured", report, measured_row(plan.workspace, row, report, banks, plan.gold)


def _named(progress: Progress, row: str, what: str, done: int, total: int) -> None:
    progress(f"{row}: {what}", done, total)


def _spent(row: Row | None, report: dict[str, Any]) -> dict[str, Any]:
    """What a row cost and what failed in it, beside its values."""
    kept = ("run", "abstained", "over_window", "excluded", "tokens", "seconds", "notes")
    notes = [row.note] if row is not None and row.note else []
    return {
        **{key: report.get(key) for key in kept},
        "notes": [*notes, *report.get("notes", [])],
        "failed": len(report.get("failed") or ()),
        "failures": report.get("failures", {}),
        "recipe": None if row is None else msgspec.to_builtins(row.recipe),
        "context": None if row is None else row.context,
        "rewriter": None if row is None else row.rewriter,
    }


def _report(
    plan: TablePlan, banks: BankSet, told: list[dict[str, Any]], measured: dict[str, Measured]
) -> dict[str, Any]:
    for one in told:
        found = measured.get(one["row"])
        one["n"] = found.n if found else 0
        one["measures"] = estimated(found.frame) if found else {}
        one["judge"] = found.judge if found else None
    whole = measured.get(PPRO)
    return {
        "dataset": banks.dataset.name,
        "split": plan.split,
        "gold": plan.gold,
        "answerer": plan.answerer,
        "rewriter": plan.rewriter,
        "llm": plan.model,
        "window": plan.window,
        "recipe": msgspec.to_builtins(plan.recipe),
        "n": whole.n if whole else 0,
        "excluded": whole.report["excluded"] if whole else {},
        "rows": told,
        "tests": compared(measured, plan.recipe.seed),
        "family": FAMILY,
        "notes": _notes(told),
        "pending": [one["row"] for one in told if one["state"].startswith("pending")],
        "published": {"provenance": PROVENANCE, "rows": msgspec.to_builtins(PUBLISHED)},
    }


def _notes(told: list[dict[str, Any]]) -> list[str]:
    """The rows' remarks, each once, behind the rows that it is of."""
    rows: dict[str, list[str]] = {}
    for one in told:
        for note in one["notes"]:
            rows.setdefault(note, []).append(one["row"])
    return [f"{', '.join(names)}: {note}" for note, names in rows.items()]


def _kept(plan: TablePlan, report: dict[str, Any], measured: dict[str, Measured]) -> str:
    """Save the table as a run, once; PPRO is always measured in a table without pending rows."""
    runs = {name: [found.run, (found.judge or {}).get("run")] for name, found in measured.items()}
    states = {one["row"]: one["state"] for one in report["rows"]}
    keys = ("dataset", "split", "gold", "answerer", "rewriter", "llm", "window", "recipe")
    identity = {key: report[key] for key in keys}
    content = digest_of(plan.banks("turns").dataset.questions)
    identity |= {"content": content, "runs": runs, "states": states}
    identity |= {"seed": plan.recipe.seed, "code": code_digest()}
    name = run_id(KIND, identity)
    if name in plan.workspace.manifests("runs"):
        return name
    tables = {
        "questions": pl.concat(
            [found.frame.with_columns(row=pl.lit(row)) for row, found in measured.items()]
        ),
        "estimates": estimates_frame(report["rows"]),
        "tests": pl.DataFrame(report["tests"], schema=TESTS),
    }
    files = {f"{key}.parquet": partial(write_parquet, frame) for key, frame in tables.items()}
    facts = {"n": report["n"], "excluded": report["excluded"], "report": report}
    return save_run(plan.workspace, KIND, identity, measured[PPRO].frame, facts, dict(files))
