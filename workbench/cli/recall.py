"""The command `recall`: what of the evidence is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer

from workbench.cli.command import Llm, command, numbers
from workbench.cli.output import Output, table
from workbench.cli.retrieval import Name, span
from workbench.cli.rewriting import Rewriter, in_words, rewriter_of, worded
from workbench.errors import UsageError
from workbench.schema import Recipe

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    command(app, "recall")(recall)


def recall(
    name: Name,
    recipe: Recipe,
    out: Output,
    k: Annotated[str, typer.Option(help="One or several K, with commas.")] = "1,5,10,25,50,100",
    split: Annotated[str, typer.Option(help="all, train, validation or test.")] = "all",
    level: Annotated[str, typer.Option(help="turn or session.")] = "turn",
    gold: Annotated[str, typer.Option(help="original or audited.")] = "original",
    rewriter: Rewriter = "identity",
    llm: Llm = None,
) -> None:
    """Evidence recall over a dataset's questions, with any-found, all-found, nDCG and MRR."""
    from workbench.library import open_banks
    from workbench.metrics import Plan
    from workbench.prepare import sources_for
    from workbench.recall import measure, save_recall
    from workbench.retrieve import check_recipe

    for option, given, known in (
        ("level", level, ("turn", "session")),
        ("gold", gold, ("original", "audited")),
    ):
        if given not in known:
            raise UsageError(f"--{option} is {' or '.join(known)}, not {given!r}")
    plan = msgspec.convert(
        {"ks": numbers(k, "--k", 1), "split": split, "level": level, "gold": gold}, Plan
    )
    recipe = msgspec.structs.replace(recipe, k=max(plan.ks))
    check_recipe(recipe)
    words = rewriter_of(out, rewriter, llm)
    with out.progress() as progress:
        banks = open_banks(out.workspace, name, recipe.memories, recipe.embedder, progress)
        sources = sources_for(out.workspace, banks, recipe, progress)
        searched, told = in_words(out, banks, words, split, progress)
        outcome = measure(searched, recipe, plan, sources, progress)
    outcome.report.update(told)
    run = save_recall(out.workspace, banks, outcome)
    out.data({"run": run, **outcome.report}, _recall_report)


def _recall_report(report: dict[str, Any]) -> Iterator[Any]:
    recipe = report["recipe"]
    yield (
        f"{report['dataset']} ({report['split']}): {recipe['memories']}, {recipe['retriever']}, "
        f"prior {recipe['prior']}, λ = {recipe['lam']:g}, {recipe['embedder']}"
    )
    left = ", ".join(f"{n} {why}" for why, n in report["excluded"].items()) or "none"
    yield f"n = {report['n']} questions; excluded: {left}"
    yield f"{report['level']} level, {report['gold']} gold; interval over {report['basis']}"
    yield from worded(report)
    yield from report["notes"]
    ks = list(report["recall"])
    spans = [span(report["interval"][k]) for k in ks]
    rows = [["recall", *(report["recall"][k] for k in ks)], ["95 % interval", *spans]]
    rows += [[name, *(report[name][k] for k in ks)] for name in ("any", "all", "ndcg")]
    rows += [
        [f"{category}, n={found['n']}", *(found["recall"][k] for k in ks)]
        for category, found in report["by_category"].items()
    ]
    if "with_semantic" in report:
        more = report["with_semantic"]
        rows += [[f"recall with K_S = {more['k_semantic']}", *(more["recall"][k] for k in ks)]]
    yield table("", ["", *(f"@{k}" for k in ks)], rows)
    yield "(the rows with n are recall by category)"
    yield f"MRR of the first evidence: {_number(report['mrr'])}"
    if "agreement_with_exact" in report:
        share = _number(report["agreement_with_exact"])
        yield f"the approximate top K holds {share} of the exact one"
    yield f"run {report['run']}"


def _number(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.4f}"
