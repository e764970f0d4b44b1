"""Commands on retrieval: build, ask, recall."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Annotated, Any

import msgspec
import typer

from workbench.cli.command import Jobs, Llm, Scheduler, command, numbers
from workbench.cli.output import Output, shown, table
from workbench.errors import UsageError
from workbench.schema import Recipe

__all__ = ["rankings", "register", "span"]

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
    command(app, "recall")(recall)


def build(
    name: Name,
    out: Output,
    memories: Annotated[str, typer.Option(help="turns, observations or facts.")] = "turns",
    embedder: Annotated[str, typer.Option(help="See `workbench recall --help`.")] = "minilm",
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
) -> None:
    """Make a dataset's banks and profiles; what is embedded already is not embedded again."""
    from workbench.library import open_banks
    from workbench.parallel import Workers

    with out.progress() as progress:
        workers = Workers(jobs=jobs, scheduler=scheduler)
        banks = open_banks(out.workspace, name, memories, embedder, progress, workers)
    kept = ("counts", "left_out", "embedded", "long_texts", "prompts", "seconds", "fingerprint")
    report = {
        "run": banks.id,
        "dataset": name,
        "memories": memories,
        "embedder": embedder,
        **{key: banks.manifest[key] for key in kept},
    }
    out.data(report, _built)


def ask(
    name: Name,
    question: Annotated[str, typer.Argument(help="A question, or the id of one (`c1/0`).")],
    recipe: Recipe,
    out: Output,
    user: User = None,
    answerer: Answerer = "",
    llm: Llm = None,
) -> None:
    """Rank memories for one question, without and with the profile prior, side by side."""
    from workbench.answer_one import answer_both
    from workbench.ask import asking, find_asker, told
    from workbench.chat_models import open_llm
    from workbench.datasets import load_dataset
    from workbench.library import open_banks
    from workbench.prepare import sources_for
    from workbench.run_plan import LLM_ANSWERER, check

    check(recipe, answerer or "extractive")
    model = open_llm(llm, out.workspace) if answerer == LLM_ANSWERER else None
    # Bytes of the shell that are no text arrive as halves of characters, which no model takes.
    text = question.encode("utf-8", "replace").decode("utf-8")
    find_asker(load_dataset(out.workspace, name), text, user)  # before anything is built
    with out.progress() as progress:
        banks = open_banks(out.workspace, name, recipe.memories, recipe.embedder, progress)
        sources = sources_for(out.workspace, banks, recipe, progress)
    one = asking(banks, text, recipe, user, sources)
    report = told(one)
    if answerer:
        answers = answer_both(one, answerer, model)
        report["answers"] = {name: msgspec.to_builtins(said) for name, said in answers.items()}
    out.data(report, rankings)


def recall(
    name: Name,
    recipe: Recipe,
    out: Output,
    k: Annotated[str, typer.Option(help="One or several K, with commas.")] = "1,5,10,25,50,100",
    split: Annotated[str, typer.Option(help="all, train, validation or test.")] = "all",
    level: Annotated[str, typer.Option(help="turn or session.")] = "turn",
    gold: Annotated[str, typer.Option(help="original or audited.")] = "original",
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
    with out.progress() as progress:
        banks = open_banks(out.workspace, name, recipe.memories, recipe.embedder, progress)
        sources = sources_for(out.workspace, banks, recipe, progress)
        outcome = measure(banks, recipe, plan, sources, progress)
    run = save_recall(out.workspace, banks, outcome)
    out.data({"run": run, **outcome.report}, _recall_report)


def _built(report: dict[str, Any]) -> Iterator[Any]:
    yield f"banks {report['run']}: {report['dataset']}, {report['memories']}, {report['embedder']}"
    rows = [[key.replace("_", " "), value] for key, value in report["counts"].items()]
    rows += [[f"left out: {why}", n] for why, n in report["left_out"].items()]
    rows += [["texts embedded when it was built", report["embedded"]]]
    rows += [[f"chunked, over the model's length: {k}", n] for k, n in report["long_texts"].items()]
    rows += [[f"seconds {what}", spent] for what, spent in report["seconds"].items()]
    yield table("", ["", "n"], rows)


def rankings(report: dict[str, Any]) -> Iterator[Any]:
    gold = set(report["evidence"] or ())
    recipe = report["recipe"]
    yield f"{shown(report['question'])}   (as {shown(report['user'])})"
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


def _recall_report(report: dict[str, Any]) -> Iterator[Any]:
    recipe = report["recipe"]
    yield (
        f"{report['dataset']} ({report['split']}): {recipe['memories']}, {recipe['retriever']}, "
        f"prior {recipe['prior']}, λ = {recipe['lam']:g}, {recipe['embedder']}"
    )
    left = ", ".join(f"{n} {why}" for why, n in report["excluded"].items()) or "none"
    yield f"n = {report['n']} questions; excluded: {left}"
    yield f"{report['level']} level, {report['gold']} gold; interval over {report['basis']}"
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


def span(bounds: list[float | None]) -> str:
    lo, hi = bounds
    return "-" if lo is None or hi is None else f"{lo:.3f}-{hi:.3f}"
