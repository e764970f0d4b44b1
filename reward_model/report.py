"""What an evaluation of the reward model found: sentences, tables, figures.

`workbench.report` writes the findings as HTML, CSV, LaTeX, JSON or PNG.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import plotly.graph_objects as go
import polars as pl

from reward_model.agreement import PAPER as PAPER_PREFERENCES
from reward_model.evaluate import KIND
from reward_model.figures import (
    ComparisonPassport,
    accuracy_bars,
    accuracy_rows,
    coefficient_dots,
    evaluation_passport,
    preference_dots,
    reliability_diagram,
    selective_curve,
)
from reward_model.outcome import BASES
from reward_model.tables import NAMES, ends, reward_tables, rows
from workbench.compare import compare
from workbench.errors import UsageError
from workbench.figures.drawing import estimate
from workbench.passport import passport_of
from workbench.report import Findings, Table
from workbench.report.tables import probability
from workbench.run_list import named_scorer
from workbench.runs import Run, load_run
from workbench.workspace import Workspace

__all__ = ["reward_findings"]

SYNTHETIC = "synthetic data"


def reward_findings(workspace: Workspace, name: str, against: str | None = None) -> Findings:
    """The findings of a run of kind "reward-evaluate", or of two over the same comparisons.

    What `workbench.report` writes as HTML, CSV, LaTeX, JSON or PNG. Raises UsageError where there
    is no such run, it is of another kind, or the two have nothing in common.
    """
    run = _evaluation(workspace, name)
    other = None if against is None else _evaluation(workspace, against)
    passport = _passport(run, other)
    mark = f" ({SYNTHETIC})" if passport.synthetic else ""
    dataset = passport.dataset or "unnamed data"
    if other is not None:
        lead, tables = _compared(run, other, passport)
        title = f"Comparison of reward models on {dataset}{mark}"
        return Findings(title, passport, lead, _marked(tables, passport), {}, run.frame)
    report = run.manifest["report"]
    lead = list(_lead(report))
    tables = _marked(reward_tables(report), passport)
    drawn = _figures(report, passport)
    for key, figure in drawn.items():
        figure.update_layout(meta={**figure.layout.meta, "name": key})
    return Findings(f"Reward model on {dataset}{mark}", passport, lead, tables, drawn, run.frame)


def _passport(run: Run, other: Run | None) -> ComparisonPassport:
    """The run's own, or that of the comparisons which it shares with another one."""
    own = evaluation_passport(run)
    if other is None:
        return own
    both = passport_of(run, other)
    basis = BASES[both.basis]
    shared = {"n": both.n, "clusters": both.clusters, "basis": basis, "against": other.id}
    synthetic = own.synthetic or bool(other.manifest.get("synthetic"))
    return msgspec.structs.replace(own, **shared, synthetic=synthetic)


def _figures(report: dict[str, Any], passport: ComparisonPassport) -> dict[str, go.Figure]:
    retest = report["retest"]["overall"]
    ceiling = retest if retest["agreement"] is not None else None
    baselines = report.get("baselines") or ()
    paper = {one["baseline"]: one["paper"] for one in baselines}
    bars = [
        row | {"paper": paper.get(row["variant"], row["paper"])}
        for row in accuracy_rows(report, baselines)
    ]
    drawn = {
        "accuracy": accuracy_bars(bars, passport, ceiling),
        "coefficients": coefficient_dots(
            report["coefficients"], passport, None, report["coefficients_fit"]["notes"]
        ),
    }
    if (smaller := report["shrunken"]) is not None:
        fit = smaller["coefficients_fit"]
        drawn["shrunken"] = coefficient_dots(
            smaller["coefficients"], passport, fit["C"], fit["notes"]
        )
    drawn["selective"] = selective_curve(
        report["selective_curve"], passport, report["accuracy"]["majority"]
    )
    quality = report["calibration"]
    drawn["reliability"] = reliability_diagram(quality["bins"], passport, quality)
    shares = {"regime": PAPER_PREFERENCES["preference by regime"]}
    for name, by in (("regimes", "regime"), ("generators", "generator")):
        rows = report["preferences"][by]
        drawn[name] = preference_dots(rows, _of_all(passport, rows), shares.get(by))
    return drawn


def _of_all(passport: ComparisonPassport, rows: list[dict[str, Any]]) -> ComparisonPassport:
    """The passport of a table of preferences: of all strengths and ties, so of another n, made of
    its own rows. How many participants that is, a table by groups does not say."""
    excluded: Counter[str] = Counter()
    for one in rows:
        excluded.update(one["excluded"])
    return msgspec.structs.replace(
        passport, n=sum(one["n"] for one in rows), clusters=0, excluded=dict(excluded)
    )


def _lead(report: dict[str, Any]) -> Iterator[str]:
    if report["synthetic"]:
        yield f"{SYNTHETIC.upper()}: these judgments were simulated, and say nothing about people."
    accuracy, n, people = report["accuracy"], report["n"], report["participants"]
    full = ends(accuracy["full"], report["interval"]["full"])
    yield (
        f"The full model predicts {estimate(full)} of {n} preferences of {people} participants "
        f"that it never saw; the larger class holds {accuracy['majority']:.3f} of them."
    )
    for one in report["tests"]:
        gap = estimate(one | {"mean": one["difference"]}, "+.3f")
        yield (
            f"Full − {NAMES[one['b']]}: {gap}, p = {probability(one['p'])}, corrected for "
            f"{len(report['tests'])} tests {probability(one['p_holm'])}."
        )
    quality = report["calibration"]
    chance = quality["ece_if_calibrated"]
    yield (
        f"Brier score {quality['brier']:.3f}; calibration error {quality['ece']:.3f}, where a "
        f"calibrated model of the same probabilities would show {chance['mean']:.3f} by chance "
        f"(95 % of the time {chance['lo']:.3f} to {chance['hi']:.3f})."
    )
    retest = report["retest"]["overall"]
    if (said := retest["agreement"]) is not None:
        yield (
            f"People repeated their own choice in {estimate({**retest, 'mean': said})} of "
            f"{retest['n']} retests (of all strengths, ties among them): a yardstick of how far "
            "choices are settled, and no bound on a model."
        )
    yield f"Features scored by: {named_scorer(report['scorer'])}."
    if odd := report["degenerate"]["full"]:
        yield f"Folds of the full model: {', '.join(f'{n} {what}' for what, n in odd.items())}."
    yield from (note for note in report["notes"] if not note.startswith(SYNTHETIC))


def _compared(run: Run, other: Run, passport: ComparisonPassport) -> tuple[list[str], list[Table]]:
    told = compare(run, other, seed=passport.seed)
    measures = [
        {"metric": name, "a": one["a"], "b": one["b"], "difference": one["difference"]}
        | {"lo": one["interval"][0], "hi": one["interval"][1]}
        | {key: one[key] for key in ("p", "p_holm", "n")}
        for name, one in told["measures"].items()
    ]
    first, second = (_short(one) for one in (run, other))
    lead = [f"a: {first}. b: {second}."]
    if passport.synthetic:
        lead.insert(0, f"{SYNTHETIC.upper()}: the judgments were simulated.")
    lead += [
        f"{row['metric']}: a − b = {estimate(row | {'mean': row['difference']}, '+.3f')}, "
        f"p = {probability(row['p'])}, corrected for {len(measures)} measures "
        f"{probability(row['p_holm'])}."
        for row in measures
        if row["metric"] == "correct_full"
    ]
    title = "Paired differences, a − b; p by permutation of signs, Holm over the table"
    return lead, [Table("differences", title, rows(measures))]


def _marked(tables: list[Table], passport: ComparisonPassport) -> list[Table]:
    """Tables travel without their page: those of synthetic data say so in a column."""
    if not passport.synthetic:
        return tables
    return [one._replace(frame=one.frame.with_columns(data=pl.lit(SYNTHETIC))) for one in tables]


def _evaluation(workspace: Workspace, name: str) -> Run:
    run = load_run(workspace, name)
    if run.manifest["kind"] != KIND:
        raise UsageError(
            f"run {run.id} is of kind {run.manifest['kind']}, not {KIND}: `workbench export` "
            "writes those of the workbench"
        )
    return run


def _short(run: Run) -> str:
    plan, scorer = run.manifest["identity"]["plan"], run.manifest["identity"]["scorer"]
    features = plan["features"] or ["all features"]
    return f"run {run.id[:8]}, {', '.join(features)}, scored by {named_scorer(scorer)}"
