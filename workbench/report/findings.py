"""What a run found: its tables with intervals, its figures, and the sentences that sum it up.

One function for each kind of run turns its frame and manifest into these; whatever has none of
its own is shown as its measures with intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go
import polars as pl

from workbench import figures
from workbench.compare import compare
from workbench.contrasts import by_category
from workbench.figures.differences import category_differences
from workbench.figures.drawing import estimate
from workbench.passport import Passport, passport_of
from workbench.report.answers import answers
from workbench.report.estimates import at_cutoffs, estimates
from workbench.report.main_table import main_table
from workbench.report.sweeps import SWEEPS
from workbench.report.tables import Found, Table, probability
from workbench.report.trainings import TRAININGS
from workbench.report.verdicts import verdicts
from workbench.run_list import apart
from workbench.runs import Run, load_run
from workbench.workspace import Workspace

__all__ = ["Findings", "Table", "findings", "main_measure"]

FAVOURITE_K = 25  # the paper's K_E
TITLES = {
    "recall": "Evidence recall",
    "score": "Answers scored",
    "evaluate": "Answers made and scored",
    "judge": "Answers judged",
    "sweep-lambda": "λ sweep",
    "sweep-layers": "Layers of the dual path",
    "sweep-ablation": "Ablations",
    "sweep-controls": "Control priors",
    "sweep-alpha": "α landscape, chosen by gold",
    "sweep-alpha-train": "A training for every α",
    "train": "Training the rewriter",
    "table": "Main table",
}


class Findings(NamedTuple):
    """What a report shows of a run. `lead` are its findings in a sentence each, `questions` the
    tidy frame behind it all."""

    title: str
    passport: Passport
    lead: list[str]
    tables: list[Table]
    figures: dict[str, go.Figure]
    questions: pl.DataFrame


def findings(workspace: Workspace, name: str, against: str | None = None) -> Findings:
    """The findings of a run, or of a run compared with another one of the same questions.

    Raises UsageError where there is no such run, or the two have nothing in common.
    """
    run = load_run(workspace, name)
    if against is None:
        passport = passport_of(run)
        found = KINDS.get(run.manifest["kind"], _measures)(workspace, run, passport)
    else:
        other = load_run(workspace, against)
        passport = passport_of(run, other)
        found = _comparison(run, other, passport)
    for key, figure in found.figures.items():
        figure.update_layout(meta={**figure.layout.meta, "name": key})
    what = TITLES.get(passport.kind, passport.kind)
    title = f"{'Comparison' if against else what} on {passport.dataset or 'unnamed data'}"
    return Findings(title, passport, found.lead, found.tables, found.figures, run.frame)


def _measures(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """Any run: its measures, over all questions and by category."""
    whole = estimates(run.frame, ["metric"], passport)
    parts = estimates(run.frame, ["metric", "category"], passport)
    tables = [
        Table("measures", "Measures over all questions", whole),
        Table("categories", "Measures by category", parts),
    ]
    return Found([], tables, {})


def _recall(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """Evidence recall of one recipe: by K, by category, and the other evidence measures."""
    cut = at_cutoffs(run.frame)
    recall = cut.filter(pl.col("measure") == "recall")
    whole = estimates(recall, ["k"], passport)
    parts = estimates(recall, ["category", "k"], passport).sort("k", "category")
    others = run.frame.filter(~pl.col("metric").str.starts_with("recall@"))
    tables = [
        Table("recall", "Evidence recall over all questions", whole),
        Table("categories", "Evidence recall by category", parts),
        Table("others", "Other evidence measures", estimates(others, ["metric"], passport)),
    ]
    k = _favourite(whole["k"].to_list())
    named = pl.concat(
        [
            whole.select(pl.lit("all questions").alias("series"), *whole.columns),
            parts.select(pl.col("category").alias("series"), *whole.columns),
        ]
    )
    drawn = {
        "recall": figures.recall_curves(named, passport),
        "categories": figures.category_dots(
            parts.filter(pl.col("k") == k), passport, f"Evidence recall@{k}"
        ),
    }
    row = whole.row(by_predicate=pl.col("k") == k, named=True)
    lead = [f"Evidence recall@{k} is {estimate(row)}; {_recipe(run)}.", _yardstick(run)]
    return Found(lead, tables, drawn)


def _comparison(run: Run, other: Run, passport: Passport) -> Found:
    """Two runs over the questions that both measured, as `workbench compare` does it."""
    tests = _tests(compare(run, other, seed=passport.seed)["measures"])
    drawn = {}
    curve = at_cutoffs(tests).filter(pl.col("measure") == "recall")
    if len(curve) > 1:
        names = (f"{_short(run)} (a)", f"{_short(other)} (b)")
        drawn["difference"] = figures.difference_curve(curve, passport, names)
    favourite = main_measure(tests["metric"].to_list())
    parts = by_category(run, other, favourite, passport.seed)
    names = apart(run.manifest, other.manifest)
    drawn["categories"] = category_differences(parts, passport, favourite, names)
    lead = [f"a: {_recipe(run)}. b: {_recipe(other)}."]
    lead += [
        f"{row['metric']}: a − b = {estimate(row | {'mean': row['difference']}, '+.3f')}, "
        f"p = {probability(row['p'])}, corrected for {len(tests)} measures "
        f"{probability(row['p_holm'])}."
        for row in tests.iter_rows(named=True)
        if row["metric"] == favourite
    ]
    title = "Paired differences, a − b; p by permutation of signs, Holm over the table"
    by = f"{favourite} by category, a − b; Holm over the categories"
    tables = [Table("differences", title, tests), Table("categories", by, parts)]
    return Found(lead, tables, drawn)


def _tests(measures: dict[str, dict[str, Any]]) -> pl.DataFrame:
    """A row a measure of what `compare` returns."""
    rows = [
        {"metric": name, "a": one["a"], "b": one["b"], "difference": one["difference"]}
        | {"lo": one["interval"][0], "hi": one["interval"][1]}
        | {key: one[key] for key in ("p", "p_holm", "n")}
        for name, one in measures.items()
    ]
    # A bound may be unknown in every row.
    kinds = {"lo": pl.Float64, "hi": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)


def main_measure(measures: Sequence[str]) -> str:
    """The measure that speaks for a comparison: recall at the paper's K or the largest below it,
    the SQuAD F1 of answers, else the first there is."""
    ends = [name.removeprefix("recall@") for name in measures if name.startswith("recall@")]
    ks = [int(end) for end in ends if end.isdecimal()]
    if ks:
        return f"recall@{_favourite(ks)}"
    return "f1_squad" if "f1_squad" in measures else measures[0]


def _favourite(ks: list[int]) -> int:
    """The paper's K where it was measured, else the largest below it, else the least."""
    return max((k for k in ks if k <= FAVOURITE_K), default=min(ks))


def _yardstick(run: Run) -> str:
    """What counts as found, where the run says so."""
    level, gold = (run.manifest["identity"].get(name) for name in ("level", "gold"))
    return f"Measured by {level or 'turn'}, against the {gold or 'original'} gold."


def _short(run: Run) -> str:
    prior = (run.manifest["identity"].get("recipe") or {}).get("prior")
    if prior is None:
        return f"run {run.id[:8]}"
    return "no prior" if prior == "none" else f"{prior} prior"


def _recipe(run: Run) -> str:
    """A run's recipe in a line; its kind and id where it has none."""
    recipe = run.manifest["identity"].get("recipe")
    if not recipe:
        return f"{run.manifest['kind']} run {run.id}"
    return (
        f"{recipe['memories']}, {recipe['retriever']}, prior {recipe['prior']}, "
        f"λ = {recipe['lam']:g}, {recipe['embedder']}"
    )


KINDS: dict[str, Callable[[Workspace, Run, Passport], Found]] = {
    "recall": _recall,
    "score": answers,
    "evaluate": answers,
    "judge": verdicts,
    "table": main_table,
    **SWEEPS,
    **TRAININGS,
}
