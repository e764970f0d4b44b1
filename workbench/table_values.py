"""The values of a table's rows, their means with intervals, and the tests against PPRO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from workbench.answer_metrics import MEASURES
from workbench.bank_set import BankSet
from workbench.compare import compare
from workbench.datasets.report import Dataset
from workbench.errors import UsageError
from workbench.evidence_read import evidence_frame
from workbench.metrics import GoldKind
from workbench.runs import Run, load_run
from workbench.stats import holm, mean_interval
from workbench.table_rows import PPRO, Row
from workbench.traces import Trace, read_traces
from workbench.workspace import Workspace

__all__ = [
    "FAMILY",
    "JUDGED",
    "TESTS",
    "Measured",
    "compared",
    "estimated",
    "estimates_frame",
    "measured_row",
    "measured_run",
]

JUDGED = "judged right"
# What is tested: recall@K and these. More measures would only cost the others their power.
TESTED = ("f1_squad", "bleu1", JUDGED)
FAMILY = (
    "every row minus PPRO over the questions of both; permutation of signs; Holm over all rows and "
    "the measures recall@K, f1_squad, bleu1 and the judge's"
)


ESTIMATES: dict[str, Any] = {
    **dict.fromkeys(("row", "measure", "category"), pl.String),
    "n": pl.Int64,
    **dict.fromkeys(("mean", "lo", "hi"), pl.Float64),
}
TESTS: dict[str, Any] = {
    **dict.fromkeys(("row", "measure"), pl.String),
    "n": pl.Int64,
    **dict.fromkeys(("difference", "lo", "hi", "p", "p_holm"), pl.Float64),
}


class Measured(NamedTuple):
    """A row with all its values: the id of its run, what that reported, a tidy frame, and the
    newest judge's run over it ({"run", "model"}), None where there is none."""

    run: str
    report: dict[str, Any]
    frame: pl.DataFrame
    judge: dict[str, Any] | None = None

    @property
    def n(self) -> int:
        """How many questions have an answer that is scored."""
        return self.frame.filter(pl.col("metric").is_in(list(MEASURES)))["question"].n_unique()


def measured_row(
    workspace: Workspace, row: Row, report: dict[str, Any], banks: BankSet, gold: GoldKind
) -> Measured:
    """The values of a row from its finished run: answers, evidence, verdicts."""
    run = load_run(workspace, report["run"])
    retrieved = (banks, row.recipe.k) if row.retrieves else None
    evidence = evidence_frame(banks.dataset.questions, _traces(workspace, run), gold, retrieved)
    return _with(workspace, run, report, evidence)


def measured_run(workspace: Workspace, name: str, dataset: Dataset, gold: GoldKind) -> Measured:
    """The values of any run that scored answers to these questions, as a further row.

    Raises UsageError for a run of another kind, dataset or gold.
    """
    run = load_run(workspace, name)
    kind, identity = run.manifest["kind"], run.manifest["identity"]
    if kind not in ("score", "evaluate"):
        raise UsageError(f"run {run.id} is of kind {kind}; a row is a run of score or evaluate")
    if (identity["dataset"], identity["gold"]) != (dataset.name, gold):
        raise UsageError(
            f"run {run.id} is of {identity['dataset']} with the {identity['gold']} gold, this "
            f"table of {dataset.name} with the {gold} one"
        )
    report = {"run": run.id, **run.manifest.get("report", run.manifest)}
    traces = _traces(workspace, run) if kind == "evaluate" else []
    if not any(trace.sources for trace in traces):
        traces = []  # a system that does not say what it retrieved
    return _with(workspace, run, report, evidence_frame(dataset.questions, traces, gold))


def estimated(frame: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """{measure: {"n", "mean", "interval", "by_category": {category: the same}}}."""
    told = {}
    for part in frame.partition_by("metric", maintain_order=True):
        categories = sorted(part["category"].unique())
        told[part["metric"][0]] = {
            **_mean(part),
            "by_category": {name: _mean(part.filter(category=name)) for name in categories},
        }
    return told


def compared(measured: dict[str, Measured], seed: int) -> list[dict[str, Any]]:
    """Every row against PPRO on what both have of the tested measures: `row, measure, n,
    difference, lo, hi, p, p_holm`. Nothing where PPRO has no values yet."""
    whole = measured.get(PPRO)
    tests: list[dict[str, Any]] = []
    for name, found in measured.items() if whole else ():
        if whole is None or found is whole:
            continue
        shared = [m for m in _tested(whole, found) if m in set(found.frame["metric"])]
        runs = (_as_run(found), _as_run(whole))
        told = compare(*runs, shared, seed)["measures"] if shared else {}
        tests += [
            {"row": name, "measure": measure, "n": one["n"], "difference": one["difference"]}
            | {"lo": one["interval"][0], "hi": one["interval"][1], "p": one["p"]}
            for measure, one in told.items()
        ]
    for one, corrected in zip(tests, holm([one["p"] for one in tests]), strict=True):
        one["p_holm"] = corrected
    return tests


def estimates_frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """One line a row, measure and category."""
    lines = []
    for one in rows:
        for measure, found in one["measures"].items():
            parts = {"": found, **found["by_category"]}
            lines += [
                (one["row"], measure, category, part["n"], part["mean"], *part["interval"])
                for category, part in parts.items()
            ]
    return pl.DataFrame(lines, schema=ESTIMATES, orient="row")


def _with(
    workspace: Workspace, run: Run, report: dict[str, Any], evidence: pl.DataFrame
) -> Measured:
    """A run's answer measures beside its evidence measures and the newest judge's verdicts."""
    answers = run.frame.filter(pl.col("metric").is_in(list(MEASURES)))
    frames = [evidence.sort("metric", maintain_order=True, descending=True), answers]
    judge = None
    for name, manifest in workspace.manifests("runs").items():
        identity = manifest["identity"]
        if manifest["kind"] == "judge" and identity["answers"] == {"run": run.id}:
            judge = {"run": name, "model": identity["judge"]["model"]}
    if judge is not None:
        verdicts = load_run(workspace, judge["run"]).frame.filter(metric="judged")
        frames.append(verdicts.with_columns(metric=pl.lit(JUDGED)))
    return Measured(run.id, report, pl.concat(frames), judge)


def _traces(workspace: Workspace, run: Run) -> list[Trace]:
    return read_traces(workspace.folder("runs", run.id) / "traces.jsonl")


def _tested(whole: Measured, found: Measured) -> list[str]:
    """The measures that may be tested; verdicts of two different judges are not comparable."""
    alike = (whole.judge or {}).get("model") == (found.judge or {}).get("model")
    names = whole.frame["metric"].unique(maintain_order=True).to_list()
    tested = [name for name in names if name in TESTED or name.startswith("recall@")]
    return [name for name in tested if name != JUDGED or alike]


def _as_run(found: Measured) -> Run:
    """A row as `compare` takes it; that it is of the same questions was made sure of before."""
    manifest = {"kind": "table row", "identity": {"dataset": "this table's"}}
    return Run(found.run, manifest, found.frame)


def _mean(part: pl.DataFrame) -> dict[str, Any]:
    found = mean_interval(part["value"].to_numpy(), part["scope"].to_list())
    return {"n": found.n, "mean": found.mean, "interval": [found.lo, found.hi]}
