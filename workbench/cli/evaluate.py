"""The command that answers a dataset's questions and scores the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from workbench.cli.command import PARTIAL, Jobs, Llm, Scheduler, command
from workbench.cli.output import Output, shown, table
from workbench.cli.rewriting import Rewriter
from workbench.schema import Recipe

__all__ = ["register"]


Answerer = Annotated[
    str,
    typer.Option(
        help="extractive; llm: a language model; or a trivial rival: top-memory, last-phrase."
    ),
]
Context = Annotated[
    str,
    typer.Option(
        help="What the model reads: ppro (profile, semantic and episodic memories), retrieved "
        "(episodic alone), empty, full (all that was said), oracle (the evidence); "
        "without-profile, without-semantic, without-episodic. Default: ppro."
    ),
]
Window = Annotated[
    int | None,
    typer.Option(help="Tokens that the model reads: contexts over it are left out, counted."),
]
System = Annotated[
    str | None,
    typer.Option(
        help="MODULE:NAME of another memory system with remember, retrieve and answer (see "
        "workbench.systems); it has memories and answers of its own, so no recipe counts."
    ),
]
Gold = Annotated[Literal["original", "audited"], typer.Option(help="Which gold answers count.")]


def register(app: typer.Typer) -> None:
    command(app, "evaluate")(evaluate)
    command(app, "attribution")(attribution)


def evaluate(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    recipe: Recipe,
    out: Output,
    answerer: Answerer = "extractive",
    llm: Llm = None,
    context: Context = "",
    rewriter: Rewriter = "identity",
    window: Window = None,
    system: System = None,
    split: Annotated[str, typer.Option(help="all, train, validation or test.")] = "all",
    gold: Gold = "original",
    fresh: Annotated[bool, typer.Option(help="Drop what an unfinished run answered.")] = False,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
) -> None:
    """Answer a dataset's questions from its memories, score that, and say where answers were lost.

    Without a language model unless one is asked for. The recipe's defaults are those of `recall`;
    `--preset locomo-turns` finds more. A run that is stopped goes on when it is asked for again.
    """
    if system is not None:
        return _of_system(out, name, system, split, gold)
    from workbench.library import open_banks
    from workbench.parallel import Workers
    from workbench.prepare import sources_for
    from workbench.run import evaluate as run
    from workbench.run_plan import Plan, asks_llm, check

    check(recipe, answerer, context, rewriter)
    model = _model(llm, out) if asks_llm(answerer, rewriter) else None
    with out.progress() as progress:
        banks = open_banks(out.workspace, name, recipe.memories, recipe.embedder, progress)
        sources = sources_for(out.workspace, banks, recipe, progress)
        workers = Workers(jobs=jobs, scheduler=scheduler)
        made = (out.workspace, banks, recipe, answerer, split, sources, workers)
        plan = Plan(*made, model, context, rewriter, window)
        report = run(plan, gold, fresh, progress)
    _told(out, report)


def _of_system(out: Output, name: str, spec: str, split: str, gold: Any) -> None:
    """The same of another memory system."""
    from workbench.system_run import evaluate_system
    from workbench.systems import open_system

    system = open_system(spec)
    with out.progress() as progress:
        report = evaluate_system(out.workspace, name, system, split, gold, progress)
    _told(out, report)


def _told(out: Output, report: dict[str, Any]) -> None:
    if report["failed"]:
        out.exit_code = PARTIAL
    out.data(report, _report)


def attribution(
    run: Annotated[str, typer.Argument(help="A run of recall, score or evaluate.")], out: Output
) -> None:
    """Where a run's questions were lost: in memory, in retrieval, or in the answer."""
    from workbench.attribution import attribution_of

    with out.progress() as progress:
        told = attribution_of(out.workspace, run, progress)
    out.data(told, _lost)


def _model(spec: str | None, out: Output) -> Any:
    from workbench.chat_models import open_llm

    return open_llm(spec, out.workspace)


def _lost(report: dict[str, Any]) -> Iterator[Any]:
    left = ", ".join(f"{n} {why}" for why, n in report["excluded"].items()) or "none"
    right = f"; right: {report['right']}" if report["right"] else ""
    yield f"Where {report['n']} questions were lost (left out: {left}{right})"
    apart = report["by_category"]
    rows = [
        [name, n, *(found[name] for found in apart.values())]
        for name, n in report["classes"].items()
    ]
    yield table("", ["", "all", *apart], rows)


def _report(report: dict[str, Any]) -> Iterator[Any]:
    said = f"{report['dataset']} ({report['split']}): {shown(report['answerer'], 80)}"
    yield f"{said}{_how(report.get('recipe'))}; run {report['run']}"
    left = ", ".join(f"{n} {why}" for why, n in report["excluded"].items()) or "none"
    yield (
        f"n = {report['n']} questions; excluded: {left}; abstained: {report['abstained']}; "
        f"failed: {len(report['failed'])}; {report['seconds']:.1f} s"
    )
    if report.get("llm"):
        yield (
            f"context {report['context']} ({report['over_window']} over the window), rewriter "
            f"{report['rewriter']}; tokens: {report['tokens']['in']} in, {report['tokens']['out']} "
            f"out; model: {shown(str(report['llm'].get('model', report['llm'])), 80)}"
        )
    for what in ("failures", "not_rewritten"):
        if report.get(what):
            counted = ", ".join(f"{n} {kind}" for kind, n in report[what].items())
            yield f"{what.replace('_', ' ')}: {counted}"
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
    yield from _lost(report["attribution"])


def _how(recipe: dict[str, Any] | None) -> str:
    """How memories were found, where that was ours to say."""
    if recipe is None:
        return ""
    named = f"{recipe['memories']}, {recipe['retriever']}, prior {recipe['prior']}"
    return f", {named}, K = {recipe['k']}"
