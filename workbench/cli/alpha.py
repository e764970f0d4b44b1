"""Command `sweep alpha`: the balance of the rewriter's two rewards, without training or with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from workbench.cli.command import PARTIAL, Llm, command
from workbench.cli.grid import grid_of
from workbench.cli.output import Output, shown, table
from workbench.errors import DataError
from workbench.schema import Recipe

__all__ = ["register_alpha"]

Mode = Literal["landscape", "train"]


def register_alpha(sweep: typer.Typer) -> None:
    """Add the command to the group `sweep`."""
    command(sweep, "alpha")(alpha)


# What is paid for, and by how many tries.
Candidates = Annotated[int, typer.Option(help="Rewrites besides the question itself.")]
Questions = Annotated[int, typer.Option(help="How many questions, drawn by id; 0: all.")]
Answerer = Annotated[str, typer.Option(help="extractive, top-memory, last-phrase, or llm.")]
Retrieval = Annotated[
    str, typer.Option("--retrieval-reward", help="recall, rank-aware, ndcg or all.")
]
Answer = Annotated[
    str, typer.Option("--answer-reward", help="bleu1, f1_squad or another answer measure.")
]


def alpha(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    recipe: Recipe,
    out: Output,
    mode: Annotated[
        Mode, typer.Option(help="landscape: choose among given rewrites; train: a training each.")
    ] = "landscape",
    alphas: Annotated[
        str, typer.Option("--alpha", help="α grid: FIRST:LAST:STEP, or values with commas.")
    ] = "0:1:0.05",
    split: Annotated[str, typer.Option(help="all, train, validation or test.")] = "all",
    candidates: Candidates = 8,
    questions: Questions = 0,
    answerer: Answerer = "extractive",
    retrieval: Retrieval = "recall",
    answer: Answer = "bleu1",
    llm: Llm = None,
) -> None:
    """What each weight α of the answer's reward would choose among the same rewrites.

    --mode landscape chooses by gold among samples of a rewriting model (--llm; without it, rewrites
    by rule): a ceiling, no training, and its best α is not a tuned one.
    """
    if mode == "train":
        raise DataError(
            "training once for every α is not made yet; --mode landscape shows what each α would "
            "choose, and `workbench train` trains with one"
        )
    told = {"alphas": tuple(grid_of(alphas, "--alpha")), "candidates": candidates}
    told |= {"questions": questions, "terms": {"retrieval": retrieval, "answer": answer}}
    report = _landscape(out, name, recipe, (answerer, split, llm), told)
    if report["run"] is None:
        out.exit_code = PARTIAL
    out.data(report, landscape_report)


def _landscape(
    out: Output,
    name: str,
    recipe: Recipe,
    how: tuple[str, str, str | None],
    told: dict[str, Any],
) -> dict[str, Any]:
    """The report of a dataset's landscape; `how` are answerer, split and model."""
    import msgspec

    from workbench.alpha_landscape import Landscape, alpha_landscape
    from workbench.chat_models import open_llm
    from workbench.library import open_banks
    from workbench.prepare import sources_for
    from workbench.run_plan import LLM_ANSWERER, Plan, check

    answerer, split, llm = how
    model = open_llm(llm, out.workspace) if llm or answerer == LLM_ANSWERER else None
    check(recipe, answerer, llm=model is not None)
    landscape = msgspec.convert(told, Landscape)
    reader = model if answerer == LLM_ANSWERER else None
    with out.progress() as progress:
        banks = open_banks(out.workspace, name, recipe.memories, recipe.embedder, progress)
        sources = sources_for(out.workspace, banks, recipe, progress)
        plan = Plan(out.workspace, banks, recipe, answerer, split, sources, llm=reader)
        return alpha_landscape(plan, landscape, model, progress)


def landscape_report(report: dict[str, Any]) -> Iterator[Any]:
    recipe, pays = report["recipe"], report["pays"]
    yield (
        f"{report['dataset']} ({report['split']}): {recipe['memories']}, {recipe['retriever']}, "
        f"prior {recipe['prior']}, {report['answerer']} answers; pays {pays['retrieval']} and "
        f"{pays['answer']}"
    )
    yield shown(f"best of the question and {report['made_by']}; {report['is']}")
    left = ", ".join(f"{n} {why}" for why, n in report["excluded"].items()) or "none"
    yield f"n = {report['n']} questions; excluded: {left}"
    yield from map(shown, report["notes"])
    rows = [
        [
            f"{alpha:g}",
            *(_estimate(report[m][row], report["interval"][m][row]) for m in ("recall", "f1")),
            f"{report['kept'][row]:.0%}",
        ]
        for row, alpha in enumerate(report["alphas"])
    ]
    for name, what in (
        ("identity", "as asked"),
        ("mean", "mean candidate"),
        ("oracle", "best of each"),
    ):
        told = report[name]
        cells = (_estimate(told[m], told["interval"][m]) for m in ("recall", "f1"))
        rows.append([what, *cells, ""])
    yield table("", ["α", f"recall@{recipe['k']}", "F1", "left as asked"], rows)
    guards = ", ".join(f"{n} {name}" for name, n in report["guards"].items()) or "none"
    failures = [
        f"{n} {kind} ({what})"
        for what, kinds in report["failures"].items()
        for kind, n in kinds.items()
    ]
    yield f"guards: {guards}; failures: {', '.join(failures) or 'none'}"
    if report["run"] is None:
        yield f"not kept: {report['pending']} calls did not get through; run it again"
    else:
        yield f"run {report['run']}, {report['seconds']:.1f} s"


def _estimate(mean: float, ends: list[float | None]) -> str:
    if ends[0] is None or ends[1] is None:
        return f"{mean:.3f}"
    return f"{mean:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]"
