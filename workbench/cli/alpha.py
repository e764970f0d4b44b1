"""Command `sweep alpha`: the balance of the rewriter's two rewards, without training or with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from workbench.cli.alpha_training import GRID, trained_by_alpha
from workbench.cli.command import PARTIAL, Llm, command
from workbench.cli.grid import grid_of
from workbench.cli.output import Output, estimate, shown, table
from workbench.errors import UsageError
from workbench.schema import Recipe

__all__ = ["register_alpha"]

Mode = Literal["landscape", "train"]


def register_alpha(sweep: typer.Typer) -> None:
    """Add the command to the group `sweep`."""
    command(sweep, "alpha")(alpha)


FINE = "0:1:0.05"

Name = Annotated[str, typer.Argument(help="Name of the dataset.")]
ModeOption = Annotated[
    Mode,
    typer.Option("--mode", help="landscape: choose among given rewrites; train: a training each."),
]
Alphas = Annotated[
    str | None,
    typer.Option(
        "--alpha",
        help=f"α grid: FIRST:LAST:STEP, or values with commas. Default: {FINE}, or for trainings "
        f"{GRID}.",
    ),
]
Split = Annotated[
    str | None, typer.Option(help="Of a landscape: all (the default), train, validation or test.")
]
# What is paid for, and by how many tries.
Candidates = Annotated[int | None, typer.Option(help="Rewrites besides the question itself (8).")]
Questions = Annotated[
    int | None, typer.Option(help="How many questions, drawn by id; 0: all, the default.")
]
Answerer = Annotated[
    str | None, typer.Option(help="extractive (the default), top-memory, last-phrase, or llm.")
]
Retrieval = Annotated[
    str | None,
    typer.Option("--retrieval-reward", help="recall (the default), rank-aware, ndcg or all."),
]
Answer = Annotated[
    str | None,
    typer.Option("--answer-reward", help="bleu1 (the default), f1_squad or another measure."),
]

# Of a training each.
Model = Annotated[str | None, typer.Option(help="What is trained: see `train`.")]
Training = Annotated[str | None, typer.Option(help="Preset of the trainings: cpu, or paper.")]
Steps = Annotated[int | None, typer.Option(help="Updates of each. Default: the preset's.")]
Warm = Annotated[int | None, typer.Option(help="Candidates of a warm start: see `train`.")]
WithQuestion = Annotated[
    bool | None, typer.Option(help="Search with the question and the rewrite behind it.")
]
Config = Annotated[
    Path | None, typer.Option(help="More settings of `train` in a JSON file; not its recipe.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Drop trainings that are there already.")]


def alpha(
    name: Name,
    recipe: Recipe,
    out: Output,
    mode: ModeOption = "landscape",
    alphas: Alphas = None,
    split: Split = None,
    candidates: Candidates = None,
    questions: Questions = None,
    answerer: Answerer = None,
    retrieval: Retrieval = None,
    answer: Answer = None,
    llm: Llm = None,
    model: Model = None,
    training: Training = None,
    steps: Steps = None,
    warm: Warm = None,
    with_question: WithQuestion = None,
    config: Config = None,
    fresh: Fresh = False,
) -> None:
    """What each weight α of the answer's reward would choose, or what training with it learns.

    --mode landscape chooses by gold among samples of a rewriting model (--llm; without it, rewrites
    by rule): a ceiling, no training, and its best α is not a tuned one. --mode train trains --model
    once for every α, as `train` does, and goes on where it was stopped.
    """
    own = {"model": model, "steps": steps, "warm": warm, "with_question": with_question}
    how = {"training": training, "config": config, "fresh": fresh or None}
    chosen = {"split": split, "candidates": candidates, "questions": questions}
    _refuse(mode, {**own, **how} if mode == "landscape" else chosen)
    paid = {"retrieval": retrieval, "answer": answer, "answerer": answerer}
    if mode == "train":
        asked = {**own, **paid, "dataset": name, "recipe": recipe}
        trained_by_alpha(out, asked, grid_of(_or(alphas, GRID), "--alpha"), {**how, "llm": llm})
    else:
        grid = grid_of(_or(alphas, FINE), "--alpha")
        _landscaped(out, name, recipe, {**chosen, **paid, "alphas": tuple(grid), "llm": llm})


def _or(given: Any, usual: Any) -> Any:
    return usual if given is None else given


def _refuse(mode: str, given: dict[str, Any]) -> None:
    """An option that belongs to the other mode would be dropped in silence."""
    foreign = [name for name, value in given.items() if value is not None]
    if foreign:
        raise UsageError(f"--{foreign[0].replace('_', '-')} has no part in --mode {mode}")


def _landscaped(out: Output, name: str, recipe: Recipe, asked: dict[str, Any]) -> None:
    told = {
        "alphas": asked["alphas"],
        "candidates": _or(asked["candidates"], 8),
        "questions": _or(asked["questions"], 0),
        "terms": {
            "retrieval": _or(asked["retrieval"], "recall"),
            "answer": _or(asked["answer"], "bleu1"),
        },
    }
    how = (_or(asked["answerer"], "extractive"), _or(asked["split"], "all"), asked["llm"])
    report = _landscape(out, name, recipe, how, told)
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
            *(estimate(report[m][row], report["interval"][m][row]) for m in ("recall", "f1")),
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
        cells = (estimate(told[m], told["interval"][m]) for m in ("recall", "f1"))
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
