"""Commands `reward evaluate | compare | export`: how good the model is, on people it never saw."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.command import PARTIAL, Llm, command
from workbench.cli.output import Output, shown, table
from workbench.cli.reward.asking import induced, induced_lines, judged, model_asked
from workbench.cli.reward.judgments import Name, interval, synthetic
from workbench.cli.reward.models import (
    Features,
    Scorer,
    Strengths,
    coefficient_table,
    plan_of,
)

__all__ = ["evaluated", "register"]

SETS = (".jsonl", ".csv", ".parquet")


def register(app: typer.Typer) -> None:
    command(app, "evaluate")(evaluate)
    command(app, "compare")(compare)
    command(app, "export")(export)


def evaluate(
    name: Name,
    out: Output,
    scorer: Scorer = None,
    strengths: Strengths = "much",
    features: Features = None,
    repeats: Annotated[int, typer.Option(help="Shuffles of the participants.")] = 10,
    folds: Annotated[int, typer.Option(help="Folds of participants.")] = 5,
    classifier: Annotated[
        str | None,
        typer.Option(help="Folder or hub id of a sequence classifier to run as a baseline."),
    ] = None,
    judge: Annotated[
        bool,
        typer.Option("--judge", help="Ask a language model whom it would prefer, as a baseline."),
    ] = False,
    induce: Annotated[
        bool,
        typer.Option(
            "--induce", help="Also with a rubric induced by a language model in each fold."
        ),
    ] = False,
    llm: Llm = None,
) -> None:
    """Accuracy on participants that the model never saw, by the paper's protocol.

    Five folds of participants, ten shuffles, C chosen inside; memory-only, response-only and
    length-only beside it; baselines; calibration; coefficients. --judge asks directly and with the
    rubric, in one order and both. --induce makes one shuffle only, since each costs many calls.
    """
    plan = plan_of(strengths, features, out.seed, repeats=repeats, folds=folds)
    model = model_asked(out, llm, judge, induce)
    told = _run(out, name, (scorer, plan), (classifier, model, judge, induce))
    if model is not None:
        told |= {"usage": model.usage.record}
        lost = any(row["failed"] for row in told["baselines"])
        out.exit_code = PARTIAL if lost else out.exit_code
    out.data(told, evaluated)


def _run(
    out: Output, name: str, how: tuple[str | None, Any], others: tuple[str | None, Any, bool, bool]
) -> dict[str, Any]:
    """The evaluation with all that is asked for beside it, kept as a run."""
    from reward_model.baselines import baseline_rows, rule_baselines
    from reward_model.evaluate import evaluate, save_evaluation
    from reward_model.material import gather
    from reward_model.scores import load_scores
    from reward_model.store import open_comparisons

    (scorer, plan), (classifier, model, judge, induce) = how, others
    chosen = open_comparisons(out.workspace, name)
    scores = load_scores(out.workspace, chosen.content, scorer)
    with out.progress() as progress:
        found = evaluate(chosen, scores, plan, progress)
        fitted = gather(chosen, scores, plan).fitted
        results = rule_baselines(chosen, scores, plan) + _classified(fitted, classifier)
        if judge:
            results += judged(fitted, model, progress)
        if induce:
            results.append(induced(out, model, (chosen, scores, plan), progress))
        rows = baseline_rows(fitted, results)
        run = save_evaluation(out.workspace, found, rows)
    return {"run": run, **found.document, "baselines": rows}


def _classified(fitted: Any, classifier: str | None) -> list[Any]:
    """The baselines of a sequence classifier, where one is named."""
    if classifier is None:
        return []
    from reward_model.classifier_baseline import classifier_baseline

    both = (True, False)
    return [classifier_baseline(fitted, classifier, with_memories=given) for given in both]


def compare(
    run_a: Annotated[str, typer.Argument(help="Id of an evaluation's run, or its beginning.")],
    run_b: Annotated[str, typer.Argument(help="Another over the same comparisons.")],
    out: Output,
) -> None:
    """Two evaluations over the comparisons of both: differences, paired tests, Holm."""
    from workbench.cli.compare import compared
    from workbench.compare import compare_runs

    out.data(compare_runs(out.workspace, run_a, run_b, None, out.seed), compared)


def export(
    what: Annotated[str, typer.Argument(help="An evaluation's run, or a set of comparisons.")],
    to: Annotated[
        Path,
        typer.Option(
            help="File to write. A run: html, csv, tex, json, png, svg. A set: jsonl, csv, parquet."
        ),
    ],
    out: Output,
    against: Annotated[str | None, typer.Option(help="A run to compare with.")] = None,
    figure: Annotated[
        str | None, typer.Option(help="Which figure a PNG shows. Default: the first.")
    ] = None,
    tables: Annotated[str | None, typer.Option("--table", help="Which table a CSV holds.")] = None,
    dark: Annotated[bool, typer.Option("--dark", help="A PNG on dark paper.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write an evaluation's report, or a set of comparisons, to a file."""
    from reward_model.store import comparison_sets
    from workbench.cli.report import ENDINGS, check_target, write_findings

    a_set = what in comparison_sets(out.workspace)
    check_target(to, force, SETS if a_set else ENDINGS)
    if a_set:
        from reward_model.loading import export_comparisons
        from reward_model.store import open_comparisons

        chosen = open_comparisons(out.workspace, what)
        export_comparisons(chosen.comparisons, to)
        told = {"file": str(to), "comparisons": len(chosen.comparisons)}
        out.data(told | {"synthetic": chosen.synthetic}, _written)
        return
    from reward_model.report import reward_findings

    write_findings(out, reward_findings(out.workspace, what, against), to, figure, tables, dark)


def evaluated(told: dict[str, Any]) -> Iterator[Any]:
    """An evaluation for a terminal."""
    yield from synthetic(told)
    left = ", ".join(f"{n} {why}" for why, n in told["excluded"].items() if n) or "none"
    yield (
        f"n = {told['n']} comparisons of {told['participants']} participants, scorer "
        f"{told['scorer']['name']}; not fitted: {left}"
    )
    rows = [
        [name.replace("_", "-"), interval(mean, told["interval"][name])]
        for name, mean in told["accuracy"].items()
    ]
    yield table(f"accuracy, {told['level']:.0%} intervals over participants", ["", ""], rows)
    rows = [
        [
            f"full − {test['b'].replace('_', '-')}",
            interval(test["difference"], (test["lo"], test["hi"]), "+.3f"),
            f"{test['p']:.2g}",
            f"{test['p_holm']:.2g}",
        ]
        for test in told["tests"]
    ]
    yield table("", ["", "difference", "p", "p (Holm)"], rows)
    rows = [[f"{share} %", accuracy] for share, accuracy in told["selective"].items()]
    yield table("accuracy among the most certain", ["coverage", "accuracy"], rows)
    yield coefficient_table(
        told["coefficients"], "descriptive fit: log odds a standard deviation, no penalty"
    )
    rows = [_baseline(row) for row in told["baselines"]]
    yield table("baselines", ["", "accuracy", "n", "paper"], rows)
    yield from induced_lines(told["baselines"])
    yield from map(shown, told["notes"])
    yield f"run {told['run']}; report: workbench reward export {told['run']} --to report.html"


def _baseline(row: dict[str, Any]) -> list[Any]:
    """A line of the table of baselines: its accuracy, or why it was not run."""
    paper = "" if row["paper"] is None else f"{row['paper']:.3f}"
    if row["not_run"]:
        return [row["baseline"], f"not run: {shown(row['not_run'])}", "", paper]
    return [row["baseline"], interval(row["accuracy"], (row["lo"], row["hi"])), row["n"], paper]


def _written(told: dict[str, Any]) -> Iterator[Any]:
    yield from synthetic(told)
    yield f"{shown(told['file'])}: {told['comparisons']} comparisons"
