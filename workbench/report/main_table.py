"""What the main table comes to: its rows, tests against PPRO, categories, and what is published."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from workbench import figures
from workbench.figures.drawing import estimate
from workbench.passport import Passport
from workbench.report.answers import TOLD
from workbench.report.tables import Found, Table, kept_table, probability
from workbench.runs import Run
from workbench.workspace import Workspace

__all__ = ["main_table"]

WHOLE = "PPRO"
SHOWN = ("evidence read", *TOLD, "judged right")  # behind recall@K; the other tables hold all
DRAWN = {"f1_squad": "F1, SQuAD", "bleu1": "BLEU-1"}


def main_table(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """A run of kind "table": one line a row, whether it could be measured or not."""
    told = run.manifest["report"]
    estimates, tests = (kept_table(workspace, run.id, name) for name in ("estimates", "tests"))
    whole = estimates.filter(category="").drop("category")
    parts = estimates.filter(pl.col("category") != "")
    published = told["published"]
    tables = [
        Table("rows", "Systems and ablations", _rows(told, whole)),
        Table("differences", "Each row minus PPRO; p by permutation of signs, Holm", tests),
        Table("categories", "Measures by category", parts),
        Table(
            "published",
            "What the paper's text says of its own results",
            pl.DataFrame(published["rows"]),
            published["provenance"],
        ),
    ]
    drawn = {}
    recall = next((m for m in whole["measure"] if m.startswith("recall@")), None)
    names = {**({recall: f"evidence {recall}"} if recall else {}), **DRAWN}
    for measure, name in names.items():
        frame = _bars(whole.filter(measure=measure), tests.filter(measure=measure))
        key = measure.replace("@", "_")
        drawn[key] = figures.ablation_bars(frame, passport, name, "Main table")
    return Found(list(_lead(told, whole, tests)), tables, drawn)


def _rows(told: dict[str, Any], whole: pl.DataFrame) -> pl.DataFrame:
    """One line a row: state, n, failures and the measures, each with its interval."""
    measures = whole["measure"].unique(maintain_order=True).to_list()
    shown = [name for name in measures if name.startswith("recall@") or name in SHOWN]
    values = {(r["row"], r["measure"]): r for r in whole.iter_rows(named=True)}
    lines = []
    for one in told["rows"]:
        line = {"row": one["row"], "state": one["state"], "n": one["n"], "failed": one["failed"]}
        for name in shown:
            found = values.get((one["row"], name), {})
            line[name] = found.get("mean")
            line |= {f"{name}_lo": found.get("lo"), f"{name}_hi": found.get("hi")}
        lines.append(line)
    kinds = {f"{name}{end}": pl.Float64 for name in shown for end in ("", "_lo", "_hi")}
    return pl.DataFrame(lines, schema_overrides=kinds, infer_schema_length=None)


def _bars(values: pl.DataFrame, tests: pl.DataFrame) -> pl.DataFrame:
    """The rows of one measure as `ablation_bars` takes them: PPRO first, then in the table's
    order, each with its difference."""
    gaps = tests.select("row", "difference", difference_lo=pl.col("lo"), difference_hi=pl.col("hi"))
    first = values.with_columns(place=pl.col("row") != WHOLE).sort("place", maintain_order=True)
    return first.join(gaps, on="row", how="left", maintain_order="left").rename({"row": "setting"})


def _lead(told: dict[str, Any], whole: pl.DataFrame, tests: pl.DataFrame) -> Iterator[str]:
    """What is shown, what is not, and which rows differ from PPRO."""
    model = (told["llm"] or {}).get("model")
    yield (
        f"Answers by {told['answerer']}{f' ({model})' if model else ''}, {told['split']} split, "
        f"{told['gold']} gold. Differences: {told['family']}."
    )
    own = whole.filter(row=WHOLE, measure="f1_squad")
    for row in own.iter_rows(named=True):
        yield f"PPRO: F1, SQuAD {estimate(row)}."
    apart = tests.filter(pl.col("p_holm") < 0.05)
    for row in apart.iter_rows(named=True):
        gap = estimate({**row, "mean": row["difference"]}, "+.3f")
        yield f"{row['row']} minus PPRO on {row['measure']}: {gap}, p {probability(row['p_holm'])}."
    if not len(apart):
        yield "No row is shown to differ from PPRO on a tested measure (p of 0.05 and more)."
    missing = [one["row"] for one in told["rows"] if one["state"] != "measured"]
    if missing:
        yield f"Not measured: {', '.join(missing)}; the table says why."
    yield from (f"{note}." for note in told["notes"])
