"""The command that makes the main table: each row tested against PPRO, the published beside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from workbench.cli.command import PARTIAL, Jobs, Llm, Scheduler, command
from workbench.cli.output import Output, shown, table
from workbench.errors import UsageError

__all__ = ["register"]

COLUMNS = ("evidence read", "f1_squad", "f1_locomo", "f1_whitespace", "bleu1", "judged right")

Name = Annotated[str, typer.Argument(help="Name of the dataset.")]
Split = Annotated[str, typer.Option(help="all, train, validation or test.")]
Answerer = Annotated[str, typer.Option(help="extractive, or llm: a language model reads.")]
Rewriter = Annotated[
    str | None,
    typer.Option(help="identity or prompted. Default: prompted where a model answers."),
]
Rows = Annotated[str, typer.Option(help="Some rows only: their names with commas.")]
Also = Annotated[
    list[str] | None,
    typer.Option(help="NAME=RUN: another system's scored answers as a further row."),
]
Memories = Annotated[str, typer.Option(help="What PPRO remembers.")]
Embedder = Annotated[str, typer.Option(help="minilm, mpnet, bge, an id or a folder.")]
Prior = Annotated[str, typer.Option(help="PPRO's prior.")]
Lam = Annotated[float, typer.Option(help="PPRO's λ: weight of the query, 0..1.")]
KEpisodic = Annotated[int, typer.Option(help="Memories that every row retrieves (K_E).")]
KSemantic = Annotated[int, typer.Option(help="Semantic memories besides (K_S).")]
Window = Annotated[
    int | None, typer.Option(help="Tokens that the model reads; longer contexts are counted.")
]
Gold = Annotated[Literal["original", "audited"], typer.Option(help="Which gold answers count.")]
To = Annotated[
    Path | None, typer.Option(help="Write it as well: html, csv, tex, json, png or svg.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
Fresh = Annotated[bool, typer.Option(help="Drop what unfinished rows answered.")]


def register(app: typer.Typer) -> None:
    command(app, "table")(main_table)


def main_table(
    name: Name,
    out: Output,
    split: Split = "all",
    answerer: Answerer = "extractive",
    llm: Llm = None,
    rewriter: Rewriter = None,
    rows: Rows = "",
    also: Also = None,
    memories: Memories = "facts",
    embedder: Embedder = "minilm",
    prior: Prior = "profile",
    lam: Lam = 0.8,
    k: KEpisodic = 25,
    k_semantic: KSemantic = 7,
    window: Window = None,
    gold: Gold = "original",
    to: To = None,
    force: Force = False,
    fresh: Fresh = False,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
) -> None:
    """The main table and the ablations: every row answered, scored, and tested against PPRO.

    Rows that need a language model say so where there is none. A row that was stopped goes on where
    it was; exit code 3 where answers failed: the same command asks for them again.
    """
    if to is not None:
        from workbench.cli.report import check_target

        check_target(to, force)
    asks, rewrites = _asking(answerer, rewriter)
    model = _model(llm, out) if asks else None
    numbers = {"lam": lam, "k": k, "k_semantic": k_semantic, "seed": out.seed}
    recipe = {"memories": memories, "embedder": embedder, "prior": prior, **numbers}
    how: dict[str, Any] = {"answerer": answerer, "split": split, "llm": model, "rewriter": rewrites}
    how |= {"window": window, "gold": gold, "rows": rows, "also": _runs(also), "fresh": fresh}
    report = _made(out, name, recipe, how, (jobs, scheduler))
    out.data({**report, "file": _written(out, report["run"], to)}, _table)


def _asking(answerer: str, rewriter: str | None) -> tuple[bool, str]:
    """Whether a model is asked at all, and the rewriter's name."""
    from workbench.run_plan import LLM_ANSWERER

    asks = answerer == LLM_ANSWERER
    rewrites = rewriter or ("prompted" if asks else "identity")
    return asks or rewrites != "identity", rewrites


def _made(
    out: Output,
    name: str,
    recipe: dict[str, Any],
    how: dict[str, Any],
    power: tuple[int, str | None],
) -> dict[str, Any]:
    """Make the table, and say by the exit code whether a row is pending."""
    from workbench.main_table import main_table as make
    from workbench.parallel import Workers
    from workbench.table_plan import TablePlan
    from workbench.table_rows import paper_recipe

    workers = Workers(jobs=power[0], scheduler=power[1])
    plan = TablePlan(out.workspace, name, paper_recipe(**recipe), workers=workers, **how)
    with out.progress() as progress:
        report = make(plan, progress)
    if report["pending"]:
        out.exit_code = PARTIAL
    return report


def _model(spec: str | None, out: Output) -> Any:
    from workbench.chat_models import open_llm

    return open_llm(spec, out.workspace)


def _runs(also: list[str] | None) -> dict[str, str]:
    pairs = [one.partition("=") for one in also or ()]
    wrong = next((one for one in pairs if not one[0].strip() or not one[2].strip()), None)
    if wrong:
        raise UsageError(f"--also takes NAME=RUN, not {''.join(wrong)!r}")
    return {name.strip(): run.strip() for name, _, run in pairs}


def _written(out: Output, run: str | None, to: Path | None) -> str | None:
    """The file that the table was written to; none while a row is pending."""
    if to is None or run is None:
        return None
    from workbench.cli.report import content_of, find
    from workbench.workspace import write_atomically

    write_atomically(to, content_of(find(out.workspace, run), to.suffix.lower()))
    return str(to)


def _table(report: dict[str, Any]) -> Iterator[Any]:
    recipe, model = report["recipe"], (report["llm"] or {}).get("model")
    yield (
        f"{shown(report['dataset'])} ({report['split']}): {report['answerer']}"
        f"{f' ({shown(str(model), 60)})' if model else ''}, rewriter {report['rewriter']}, "
        f"{recipe['memories']}, prior {recipe['prior']}, λ = {recipe['lam']:g}, K = {recipe['k']}"
        f"; run {report['run']}"
    )
    left = ", ".join(f"{n} {why}" for why, n in report["excluded"].items()) or "none"
    yield f"excluded: {left}; means over questions with 95% intervals"
    recall = f"recall@{recipe['k']}"
    names = [
        name for name in (recall, *COLUMNS) if any(name in o["measures"] for o in _all(report))
    ]
    measured = [one for one in _all(report) if one["state"] == "measured"]
    lines = [
        [one["row"], one["n"], one["failed"], *(_cell(one["measures"].get(n)) for n in names)]
        for one in measured
    ]
    yield table("", ["", "n", "failed", *names], lines)
    for one in _all(report):
        if one["state"] != "measured":
            yield f"{one['row']}: {shown(one['state'], 200)}"
    yield from report["notes"]
    yield from _tests(report)
    published = report["published"]
    yield ""
    yield f"=== {published['provenance']}."
    columns = ("system", "benchmark", "value", "said")
    quoted = [[one[key] for key in columns] for one in published["rows"]]
    yield table("", ["published", "benchmark", "value", "what the text says"], quoted)
    if report["file"]:
        yield f"written: {shown(report['file'])}"


def _tests(report: dict[str, Any]) -> Iterator[Any]:
    if not report["tests"]:
        return
    lines = [
        [t["row"], t["measure"], t["n"], f"{t['difference']:+.3f}", _ends(t, "+.3f"), t["p_holm"]]
        for t in report["tests"]
    ]
    yield table("minus PPRO", ["", "", "n", "difference", "95% interval", "p (Holm)"], lines)
    yield f"p: {report['family']}"


def _all(report: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = report["rows"]
    return rows


def _cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return "-"
    lo, hi = found["interval"]
    return f"{found['mean']:.3f} {_ends({'lo': lo, 'hi': hi}, '.3f')}".strip()


def _ends(one: dict[str, Any], form: str) -> str:
    if one["lo"] is None or one["hi"] is None:
        return ""
    return f"[{one['lo']:{form}}, {one['hi']:{form}}]"
