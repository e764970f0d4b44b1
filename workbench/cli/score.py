"""The command that scores a file of answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.command import PARTIAL, command
from workbench.cli.output import Output, bracket, shown, table
from workbench.errors import UsageError

__all__ = ["register"]

SHOWN_IDS = 10


def register(app: typer.Typer) -> None:
    command(app, "score")(score)


def score(
    answers: Annotated[Path, typer.Argument(help="JSONL of {question_id, hypothesis} rows.")],
    out: Output,
    dataset: Annotated[str, typer.Option(help="Name of the dataset that the questions are of.")],
    gold: Annotated[
        str, typer.Option(help="original, or audited: the audit's answer where it disputes one.")
    ] = "original",
) -> None:
    """Every F1, exact match and BLEU-1 of any system's answers, with intervals.

    Exit code 3 where questions have no answer or rows cannot be used: the report lists them.
    """
    if gold not in ("original", "audited"):
        raise UsageError(f"--gold is original or audited, not {gold!r}")
    from workbench.score import score_file

    chosen: Any = gold
    report = score_file(out.workspace, dataset, answers, chosen)
    out.data(report, _scores)
    if report["missing"] or report["failed"]:
        out.exit_code = PARTIAL


def _scores(report: dict[str, Any]) -> Iterator[Any]:
    left = ", ".join(f"{n} {why}" for why, n in report["excluded"].items()) or "none"
    yield f"run {report['run']}: {shown(report['source'])}, {report['gold']} gold"
    yield f"{report['dataset']}: n = {report['n']} questions; excluded: {left}"
    yield from _left_out(report)
    measures = report["measures"]
    categories = next(iter(measures.values()))["by_category"]
    level = f"{report['level']:.0%} interval"
    rows = [
        [
            name,
            one["micro"],
            bracket(one["interval"]),
            one["macro"],
            bracket(one["macro_interval"]),
        ]
        for name, one in measures.items()
    ]
    yield table("", ["", "micro", level, "macro", level], rows)
    columns = [f"{category} (n = {found['n']})" for category, found in categories.items()]
    rows = [
        [
            name,
            *(f"{c['mean']:.4f} {bracket(c['interval'])}" for c in one["by_category"].values()),
        ]
        for name, one in measures.items()
    ]
    yield table("by category", ["", *columns], rows)
    length = report["answer_length"]
    yield (
        f"words an answer: mean {length['words']:.1f}, median {length['median']:g} "
        f"(gold: mean {length['gold_words']:.1f}); {length['empty']} empty"
    )
    yield from _ceiling(report["ceiling"], report["gold"])


def _left_out(report: dict[str, Any]) -> Iterator[str]:
    for what in ("missing", "extra"):
        if ids := report[what]:
            yield f"{what}: {len(ids)} ({_some([shown(one, 40) for one in ids])})"
    if report["repeated"]:
        yield f"rows that another row makes superfluous: {report['repeated']}"
    if failed := report["failed"]:
        told = [f"{shown(one['where'])}: {shown(one['why'], 120)}" for one in failed]
        yield f"failed: {len(failed)} ({_some(told, '; ')})"


def _ceiling(ceiling: dict[str, Any] | None, gold: str) -> Iterator[Any]:
    if ceiling is None:
        yield "ceiling: not known; no audit is laid over this dataset (import --audit FILE)"
        return
    if not ceiling["disputed"]:
        yield f"ceiling: 1; the audit disputes none of these {ceiling['n']} {gold} golds"
        return
    yield (
        f"ceiling: the audit disputes {ceiling['disputed']} of {ceiling['n']} {gold} golds, so "
        f"that at most {ceiling['share']:.2%} of true answers can be right; the audit's own "
        "answers score:"
    )
    rows = [[name, one["micro"], one["macro"]] for name, one in ceiling["measures"].items()]
    yield table("", ["", "micro", "macro"], rows)


def _some(items: list[str], between: str = ", ") -> str:
    more = len(items) - SHOWN_IDS
    return between.join(items[:SHOWN_IDS]) + (f"{between}and {more} more" if more > 0 else "")
