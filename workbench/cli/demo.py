"""The command `demo`: everything once, on the bundled sample and simulated judgments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from workbench.cli.command import command
from workbench.cli.output import Output, shown, table
from workbench.errors import UsageError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    command(app, "demo")(demo)


def demo(out: Output) -> None:
    """The bundled sample from import to evidence recall, the reward model, and what to try next."""
    from reward_model.demo import reward_demo
    from workbench.demo import demo as run_demo

    with out.progress() as progress:
        report = run_demo(out.workspace, out.seed, progress)
        try:
            report["reward"] = reward_demo(out.workspace, out.seed)
        except UsageError as error:  # people's judgments have the name: they stay
            report["reward"] = {"skipped": str(error)}
    out.data(report, _demo)


def _demo(report: dict[str, Any]) -> Iterator[Any]:
    from workbench.cli.retrieval import rankings, span
    from workbench.cli.reward.models import fit_report
    from workbench.cli.sweep import lambda_report

    yield from rankings(report["ask"])
    yield "\nEvidence recall over the sample's questions, with 95 % intervals"
    rows = [
        [told["label"], told["n"]]
        + [f"{value:.3f} [{span(told['interval'][k])}]" for k, value in told["recall"].items()]
        for told in report["recall"]
    ]
    yield table("", ["", "n", *(f"@{k}" for k in report["recall"][0]["recall"])], rows)
    yield "\nEvery weight λ of the question against the profile"
    yield from lambda_report(report["sweep"])
    yield f"\nThe report of this sweep, one file for any browser: {report['report']}"
    yield "\nThe reward model: do people prefer responses that use their memories?"
    if "skipped" in report["reward"]:
        yield f"left out: {shown(report['reward']['skipped'])}"
    else:
        yield from fit_report(report["reward"])
    yield "\nNext (after `source .venv/bin/activate`, if you came by `make demo`):"
    yield from (f"  {line}" for line in report["next"])
