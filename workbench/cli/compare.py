"""The command that compares two runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from workbench.cli.command import command
from workbench.cli.output import Output, shown, table

__all__ = ["compared", "register"]


def register(app: typer.Typer) -> None:
    command(app, "compare")(compare)


def compare(
    run_a: Annotated[str, typer.Argument(help="Id of a run, or its beginning: `workbench runs`.")],
    run_b: Annotated[str, typer.Argument(help="The run that it is compared with.")],
    out: Output,
    measures: Annotated[
        str | None,
        typer.Option(help="Measures with commas, such as recall@25,mrr. Default: all shared."),
    ] = None,
) -> None:
    """A minus B on the questions that both have: interval, paired permutation test, Holm.

    The fewer measures are named, the less Holm's correction costs.
    """
    from workbench.compare import compare_runs

    named = [name.strip() for name in measures.split(",") if name.strip()] if measures else None
    out.data(compare_runs(out.workspace, run_a, run_b, named, out.seed), compared)


def compared(report: dict[str, Any]) -> Iterator[Any]:
    a, b = report["a"], report["b"]
    yield f"{shown(str(a['dataset']))}: {a['run']} ({a['kind']}) minus {b['run']} ({b['kind']})"
    yield (
        f"n = {report['n']} questions of {report['clusters']} conversations; "
        f"left out: {report['only_a']} that only the first has, {report['only_b']} only the second"
    )
    rows = [
        [
            shown(name),
            row["a"],
            row["b"],
            f"{row['difference']:+.4f}",
            _interval(row["interval"]),
            _p(row["p"]),
            _p(row["p_holm"]),
            row["n"],
        ]
        for name, row in report["measures"].items()
    ]
    level = f"{report['level']:.0%} interval"
    yield table("", ["", "a", "b", "difference", level, "p", "p (Holm)", "n"], rows)
    lone = sorted({name for name, basis in report["basis"].items() if basis == "questions"})
    if lone:
        yield f"over questions, as the conversations are too few: {shown(', '.join(lone))}"
    if report["no_pairs"]:
        yield f"no question has both values of: {shown(', '.join(report['no_pairs']))}"
    for side, names in report["not_shared"].items():
        if names:
            yield f"only {side} has: {shown(', '.join(names))}"


def _interval(bounds: list[float | None]) -> str:
    low, high = bounds
    return "not defined" if low is None or high is None else f"{low:+.4f} .. {high:+.4f}"


def _p(p: float) -> str:
    return f"{p:.4f}" if p >= 0.001 else f"{p:.1e}"
