"""Commands on retrieval: build, ask."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Annotated, Any

import msgspec
import typer

from workbench.cli.command import PARTIAL, Jobs, Llm, Scheduler, command
from workbench.cli.output import Output, shown, table
from workbench.cli.rewriting import Rewriter, rewriter_of
from workbench.errors import UsageError
from workbench.schema import Recipe

__all__ = ["pending", "rankings", "register", "span"]

SHOWN = 20  # pending units that people are told one by one

Name = Annotated[str, typer.Argument(help="Name of the dataset.")]
User = Annotated[
    str | None, typer.Option(help="PERSON or SCOPE/PERSON: whose memories and profile.")
]
Answerer = Annotated[
    str, typer.Option(help="Answer from each ranking: extractive, or llm: a language model.")
]


def register(app: typer.Typer) -> None:
    command(app, "build")(build)
    command(app, "ask")(ask)


def build(
    name: Name,
    out: Output,
    memories: Annotated[
        str, typer.Option(help="turns, observations or facts; or llm: read out by a model.")
    ] = "turns",
    llm: Llm = None,
    embedder: Annotated[str, typer.Option(help="See `workbench recall --help`.")] = "minilm",
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
) -> None:
    """Make a dataset's banks and profiles; what is embedded already is not embedded again.

    With `--memories llm` a language model reads the dialogue: what it failed at is listed, the exit
    code is 3, and the same command asks for that alone.
    """
    from workbench.library import MADE, open_banks
    from workbench.parallel import Workers

    if memories == MADE:
        _construct(name, llm, embedder, out)
        return
    if llm is not None:
        raise UsageError(f"--llm goes with --memories {MADE}; {memories} ask no model")
    with out.progress() as progress:
        workers = Workers(jobs=jobs, scheduler=scheduler)
        banks = open_banks(out.workspace, name, memories, embedder, progress, workers)
    out.data(_told(banks), _built)


def _construct(name: str, spec: str | None, embedder: str, out: Output) -> None:
    from workbench.chat_models import open_llm
    from workbench.construct import construct_banks

    model = open_llm(spec, out.workspace)
    with out.progress() as progress:
        banks = construct_banks(out.workspace, name, model, embedder, progress)
    told = ("model", "units", "failed", "pending", "replies")
    report = {**_told(banks), **{key: banks.manifest[key] for key in told}}
    if report["pending"]:
        out.exit_code = PARTIAL
    out.data({**report, "usage": model.usage.record}, _built)


def _told(banks: Any) -> dict[str, Any]:
    """What a build reports, from its manifest."""
    kept = ("dataset", "memories", "embedder", "counts", "left_out", "embedded", "long_texts")
    more = ("prompts", "seconds", "fingerprint")
    return {"run": banks.id, **{key: banks.manifest[key] for key in (*kept, *more)}}


def ask(
    name: Name,
    question: Annotated[str, typer.Argument(help="A question, or the id of one (`c1/0`).")],
    recipe: Recipe,
    out: Output,
    user: User = None,
    answerer: Answerer = "",
    llm: Llm = None,
    rewriter: Rewriter = "identity",
) -> None:
    """Rank memories for one question, without and with the profile prior, side by side."""
    from workbench.answer_one import answer_both
    from workbench.ask import asking, find_asker, told
    from workbench.chat_models import open_llm
    from workbench.datasets import load_dataset
    from workbench.library import open_banks
    from workbench.prepare import sources_for
    from workbench.rewritten import searched_with
    from workbench.run_plan import LLM_ANSWERER, check

    check(recipe, answerer or "extractive")
    words = rewriter_of(out, rewriter, llm)
    model = open_llm(llm, out.workspace) if answerer == LLM_ANSWERER else None
    # Bytes of the shell that are no text arrive as halves of characters, which no model takes.
    text = question.encode("utf-8", "replace").decode("utf-8")
    find_asker(load_dataset(out.workspace, name), text, user)  # before anything is built
    with out.progress() as progress:
        banks = open_banks(out.workspace, name, recipe.memories, recipe.embedder, progress)
        sources = sources_for(out.workspace, banks, recipe, progress)
    searched = searched_with(out.workspace, banks, words, text, user)
    one = asking(banks, text, recipe, user, sources, searched)
    report = told(one) | ({} if searched is None else {"searched_with": searched})
    if answerer:
        answers = answer_both(one, answerer, model)
        report["answers"] = {name: msgspec.to_builtins(said) for name, said in answers.items()}
    out.data(report, rankings)


def _built(report: dict[str, Any]) -> Iterator[Any]:
    yield f"banks {report['run']}: {report['dataset']}, {report['memories']}, {report['embedder']}"
    rows = [[key.replace("_", " "), value] for key, value in report["counts"].items()]
    rows += [[f"left out: {why}", n] for why, n in report["left_out"].items()]
    rows += [["texts embedded when it was built", report["embedded"]]]
    rows += [[f"chunked, over the model's length: {k}", n] for k, n in report["long_texts"].items()]
    rows += [[f"seconds {what}", spent] for what, spent in report["seconds"].items()]
    rows += [[f"asked for: {stage}", n] for stage, n in report.get("units", {}).items()]
    rows += [[f"failed: {kind}", n] for kind, n in report.get("failed", {}).items()]
    rows += [[f"of all replies: {what}", n] for what, n in report.get("replies", {}).items()]
    yield table("", ["", "n"], rows)
    yield from pending(report.get("pending", {}))


def pending(units: dict[str, str]) -> Iterator[str]:
    """Lines on what a model failed at, at most twenty of them."""
    if units:
        yield f"{len(units)} pending: the same command asks for them again"
    for unit, kind in list(units.items())[:SHOWN]:
        yield f"  {shown(unit, 80)}: {kind}"
    if len(units) > SHOWN:
        yield f"  and {len(units) - SHOWN} more (--json lists all)"


def rankings(report: dict[str, Any]) -> Iterator[Any]:
    gold = set(report["evidence"] or ())
    recipe = report["recipe"]
    yield f"{shown(report['question'])}   (as {shown(report['user'])})"
    if "searched_with" in report:
        yield f"searched with: {shown(report['searched_with'])}"
    yield from report["notes"]
    sides = report["rankings"]
    rows = [
        [rank, _hit_cell(without, gold), _hit_cell(having, gold)]
        for rank, (without, having) in enumerate(
            zip_longest(sides["without"], sides["with"]), start=1
        )
    ]
    titles = ["", "without the prior (λ = 1)", f"prior {recipe['prior']}, λ = {recipe['lam']:g}"]
    yield table("", titles, rows)
    for name, said in report.get("answers", {}).items():
        yield f"answer {name} the prior: {shown(said['text'], 200)}"
    if report["evidence"] is not None:
        yield f"* holds evidence ({', '.join(report['evidence']) or 'the question has none'})"


def _hit_cell(hit: dict[str, Any] | None, gold: set[str]) -> str:
    """Score with its parts, rank change and sources on one line, the memory below."""
    if hit is None:
        return ""
    before = hit["rank_without"]
    moved = "" if before in (None, hit["rank"]) else f"  {before} → {hit['rank']}"
    parts = " ".join(f"{name} {value:+.3f}" for name, value in hit["parts"].items())
    mark = "* " if gold.intersection(hit["sources"]) else ""
    sources = shown(", ".join(hit["sources"]), 30)
    return f"{hit['score']:.3f} = {parts}{moved}  [{sources}]\n{mark}{shown(hit['text'], 120)}"


def span(bounds: list[float | None]) -> str:
    lo, hi = bounds
    return "-" if lo is None or hi is None else f"{lo:.3f}-{hi:.3f}"
