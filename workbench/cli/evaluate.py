"""The command that answers a dataset's questions and scores the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from workbench.cli.command import PARTIAL, Jobs, Scheduler, command
from workbench.cli.output import Output, shown, table
from workbench.schema import Recipe

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    command(app, "evaluate")(evaluate)


def evaluate(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    recipe: Recipe,
    out: Output,
    answerer: Annotated[
        str, typer.Option(help="extractive; or a trivial rival: top-memory, last-phrase.")
    ] = "extractive",
    split: Annotated[str, typer.Option(help="all, train, validation or test.")] = "all",
    gold: Annotated[
        Literal["original", "audited"], typer.Option(help="Which gold answers count.")
    ] = "original",
    fresh: Annotated[bool, typer.Option(help="Drop what an unfinished run answered.")] = False,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
) -> None:
    """Answer a dataset's questions from its memories, without a language model, and score that.

    The recipe's defaults are those of `recall`; `--preset locomo-turns` finds more.
    A run that is stopped goes on where it was when it is asked for again.
    """
    from workbench.library import open_banks
    from workbench.parallel import Workers
    from workbench.prepare import sources_for
    from workbench.run import Plan, check
    from workbench.run import evaluate as run

    check(recipe, answerer)
    with out.progress() as progress:
        banks = open_banks(out.workspace, name, recipe.memories, recipe.embedder, progress)
        sources = sources_for(out.workspace, banks, recipe, progress)
        workers = Workers(jobs=jobs, scheduler=scheduler)
        plan = Plan(out.workspace, banks, recipe, answerer, split, sources, workers)
        report = run(plan, gold, fresh, progress)
    if report["failed"]:
        out.exit_code = PARTIAL
    out.data(report, _report)


def _report(report: dict[str, Any]) -> Iterator[Any]:
    recipe = report["recipe"]
    yield (
        f"{report['dataset']} ({report['split']}): {report['answerer']}, {recipe['memories']}, "
        f"{recipe['retriever']}, prior {recipe['prior']}, K = {recipe['k']}; run {report['run']}"
    )
    left = ", ".join(f"{n} {why}" for why, n in report["excluded"].items()) or "none"
    yield (
        f"n = {report['n']} questions; excluded: {left}; abstained: {report['abstained']}; "
        f"failed: {len(report['failed'])}; {report['seconds']:.1f} s"
    )
    yield from report["notes"]
    yield from (f"failed: {q}: {shown(why, 200)}" for q, why in report["failed"].items())
    measures = report["measures"]
    categories = list(next(iter(measures.values()))["by_category"])
    rows = [
        [
            name,
            found["micro"],
            "{:.3f} to {:.3f}".format(*found["interval"]),
            found["macro"],
            *(found["by_category"][category]["mean"] for category in categories),
        ]
        for name, found in measures.items()
    ]
    columns = ["", "micro", f"{report['level']:.0%} interval", "macro", *categories]
    yield table("", columns, rows)
