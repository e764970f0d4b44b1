"""Evidence by K, from kept runs: curves with intervals, by setting, measure and category; paired
differences with tests.

A curve is read from a run of kind "recall", the one that `workbench recall` keeps. Where the
workspace has it, nothing is measured again, so a notebook that moves a control back is quick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import polars as pl

from workbench.compare import compare
from workbench.errors import UsageError, WorkspaceError
from workbench.library import BankSet
from workbench.metrics import PLAN, GoldKind, Level, Plan
from workbench.passport import Passport, passport_of
from workbench.prepare import effective, sources_for
from workbench.provenance import code_digest
from workbench.recall import measure, save_recall
from workbench.report.estimates import at_cutoffs, estimates
from workbench.report.tables import bounded, probability
from workbench.rewritten import Worded
from workbench.runs import Run, load_run, run_id
from workbench.schema import Recipe, digest_of
from workbench.stats import interval_matrix
from workbench.workspace import Workspace

__all__ = [
    "KS",
    "MEASURES",
    "TESTED",
    "Gap",
    "by_category",
    "curves",
    "difference",
    "gap_words",
    "kept",
    "latest",
    "measured",
    "missing",
    "only",
    "passport_of_runs",
    "plan_for",
]

KS = (1, 2, 3, 5, 7, 10, 15, 25, 35, 50, 70, 100, 150, 200)
# Ks at which two curves are tested: few, since every further test costs the others.
TESTED = (1, 5, 10, 25, 50, 100)
ALPHA = 0.05
# What counts as found, and its words.
MEASURES = {"recall": "share found", "any": "any found", "all": "all found"}

Progress = Callable[[str, int, int], None]


class Gap(NamedTuple):
    """One run less another: `curve` with `k, difference, lo, hi` at every K, and `tests` with
    `k, a, b, difference, lo, hi, p, p_holm, n` at the Ks of `TESTED`."""

    curve: pl.DataFrame
    tests: pl.DataFrame


def plan_for(
    banks: BankSet, level: Level = "turn", gold: GoldKind = "original", split: str = "all"
) -> Plan:
    """What a curve of this data measures: the Ks up to its largest bank, or number of sessions."""
    if level == "turn":
        most = max((len(bank) for bank in banks.episodic.values()), default=1)
    else:
        scopes = {dialogue.scope for dialogue in banks.dataset.dialogues}
        most = max((len(set(banks.shelf(s).sessions.values())) for s in scopes), default=1)
    ks = tuple(k for k in KS if k <= max(most, 1))
    return Plan(ks=ks, split=split, level=level, gold=gold)


def measured(
    workspace: Workspace,
    banks: BankSet,
    recipe: Recipe,
    plan: Plan = PLAN,
    progress: Progress | None = None,
    words: Worded | None = None,
) -> Run:
    """The run of a recipe under a plan: the workspace's, or measured now and kept there.

    The recipe's own K is the plan's largest. `words` are what is searched with instead of the
    questions' own; such a run can be compared with one of the same questions as they were asked.
    Raises what `recall.measure` raises.
    """
    recipe = _plainest(recipe, max(plan.ks, default=1))
    asked, told = words or (banks, None)
    found = kept(workspace, _run_of(banks, recipe, plan, told))
    if found is None:
        sources = sources_for(workspace, banks, recipe, progress)
        outcome = measure(asked, recipe, plan, sources, progress)
        outcome.report.update({"rewriter": told} if told else {})
        found = load_run(workspace, save_recall(workspace, banks, outcome))
    return found


def missing(
    workspace: Workspace,
    banks: BankSet,
    recipes: Iterable[Recipe],
    plan: Plan,
    words: Worded | None = None,
) -> int:
    """How many of some recipes `measured` would have to measure."""
    known = workspace.manifests("runs")
    most, told = max(plan.ks, default=1), words[1] if words else None
    wanted = {_run_of(banks, _plainest(recipe, most), plan, told) for recipe in recipes}
    return len(wanted - known.keys())


def kept(workspace: Workspace, name: str) -> Run | None:
    """A run of the workspace by its whole id; None where it is not there, or damaged."""
    try:
        return load_run(workspace, name)
    except (UsageError, WorkspaceError):
        return None


def latest(workspace: Workspace, kind: str, dataset: str) -> Run | None:
    """The newest run of a kind on a dataset; None where there is none."""
    for name, manifest in reversed(workspace.manifests("runs").items()):
        told = manifest.get("identity", {}).get("dataset", manifest.get("dataset"))
        if manifest.get("kind") == kind and told == dataset:
            return load_run(workspace, name)
    return None


def passport_of_runs(runs: Iterable[Run]) -> Passport:
    """The passport of a figure that shows several runs of the same questions: ids joined by "+",
    one digest of all recipes, and every rewriter; counts are the first run's."""
    every = list(runs)
    passports = [passport_of(run) for run in every]
    if len(every) == 1:
        return passports[0]
    recipes = digest_of([run.manifest["identity"].get("recipe") for run in every])
    ids = "+".join(run.id for run in every)
    rewriters = "+".join(dict.fromkeys(filter(None, (one.rewriter for one in passports))))
    return msgspec.structs.replace(passports[0], run=ids, recipe=recipes, rewriter=rewriters)


def only(run: Run, category: str) -> Run:
    """The run with the questions of one category, or of all for ""."""
    kept_rows = run.frame.filter(pl.col("category") == category) if category else run.frame
    return run._replace(frame=kept_rows)


def curves(runs: Mapping[str, Run], measures: Sequence[str] = ("recall",)) -> pl.DataFrame:
    """`series, k, n, mean, lo, hi`: a curve for each run under its name.

    Several `measures` (keys of `MEASURES`) of one run are a curve each, named by the measure. A
    run without questions has no curve.
    """
    parts = []
    for name, run in runs.items():
        rows = _chosen(run, measures)
        found = at_cutoffs(estimates(rows, ["metric"], passport_of(run)))
        series = pl.col("measure").replace(MEASURES) if len(measures) > 1 else pl.lit(name)
        parts.append(found.with_columns(series=series))
    return pl.concat(parts).select("series", "k", "n", "mean", "lo", "hi")


def by_category(run: Run, measures: Sequence[str] = ("recall",)) -> pl.DataFrame:
    """`series, category, k, n, mean, lo, hi`: a curve for each category; `series` names its n."""
    found = estimates(_chosen(run, measures), ["category", "metric"], passport_of(run))
    named = pl.format("{} (n = {})", "category", "n")
    rows = at_cutoffs(found).with_columns(series=named).sort("category", "k")
    return rows.select("series", "category", "k", "n", "mean", "lo", "hi")


def difference(a: Run, b: Run, measure: str = "recall") -> Gap:
    """`a` less `b` over the questions of both, paired: at every K of both with its interval, and
    tested (Holm over the tested Ks) at those of `TESTED`.

    Raises UsageError for runs that cannot be compared, and where they share no question.
    """
    one, other = (run._replace(frame=_chosen(run, [measure])) for run in (a, b))
    pairs = at_cutoffs(one.frame.join(other.frame, on=["question", "scope", "metric"]))
    ks = pairs["k"].unique().sort().to_list()
    wanted = [f"{measure}@{k}" for k in TESTED if k in ks] or [f"{measure}@{max(ks, default=1)}"]
    told = compare(one, other, wanted)
    change = pairs.with_columns(change=pl.col("value") - pl.col("value_right"))
    wide = change.pivot(on="k", index=["question", "scope"], values="change")
    gaps = wide.select(map(str, ks)).to_numpy()
    mean, lo, hi = interval_matrix(gaps, wide["scope"].to_list(), differences=True)
    curve = bounded(pl.DataFrame({"k": ks, "difference": mean, "lo": lo, "hi": hi}))
    kept_keys = ("a", "b", "difference", "p", "p_holm", "n")
    rows = [
        {"k": int(name.partition("@")[2]), **{key: row[key] for key in kept_keys}}
        | dict(zip(("lo", "hi"), row["interval"], strict=True))
        for name, row in told["measures"].items()
    ]
    return Gap(curve, pl.DataFrame(rows, infer_schema_length=None))


def gap_words(gap: Gap, names: tuple[str, str], k: int) -> str:
    """The test nearest to a K in one sentence, with what it shows at the 5 % level."""
    row = min(gap.tests.iter_rows(named=True), key=lambda row: (abs(row["k"] - k), row["k"]))
    known = row["lo"] is not None and row["hi"] is not None
    span = f" [{row['lo']:+.3f}, {row['hi']:+.3f}]" if known else ""
    shown = known and row["p_holm"] < ALPHA and (row["lo"] > 0 or row["hi"] < 0)
    finds = f"“{names[0] if row['difference'] > 0 else names[1]}” finds more"
    return (
        f"At K = {row['k']} the mean is {row['a']:.3f} for “{names[0]}” and {row['b']:.3f} for "
        f"“{names[1]}”: a difference of {row['difference']:+.3f}{span}, "
        f"p = {probability(row['p_holm'])} (Holm). "
        + (f"So {finds}." if shown else "So no difference is shown.")
    )


def _plainest(recipe: Recipe, k: int) -> Recipe:
    """The recipe without what changes nothing in it, so that equal rankings are one run."""
    if recipe.prior == "none" or recipe.lam == 1 or recipe.retriever == "lexical":
        recipe = msgspec.structs.replace(recipe, prior="none", lam=1.0)
    return msgspec.structs.replace(recipe, k=k)


def _run_of(
    banks: BankSet, recipe: Recipe, plan: Plan, rewriter: dict[str, Any] | None = None
) -> str:
    """The id of the run that `save_recall` makes of this."""
    identity: dict[str, Any] = {
        "dataset": banks.dataset.name,
        **msgspec.to_builtins(plan),
        "banks": banks.id,
        "recipe": msgspec.to_builtins(effective(banks, recipe)[0]),
        **({"rewriter": rewriter} if rewriter else {}),
        "content": digest_of(banks.dataset.questions),
        "code": code_digest(),
    }
    return run_id("recall", identity)


def _chosen(run: Run, measures: Sequence[str]) -> pl.DataFrame:
    return run.frame.filter(pl.col("metric").str.split("@").list.first().is_in(list(measures)))
