"""The command line: parse, call the library, print. `python -m workbench` is the same."""

from __future__ import annotations

import typer

from workbench import __version__
from workbench.cli import (
    compare,
    datasets,
    demo,
    evaluate,
    house,
    interfaces,
    judge,
    model,
    quality,
    recall,
    report,
    retrieval,
    reward,
    score,
    sweep,
    table,
    train,
)
from workbench.cli.command import main

__all__ = ["app", "run"]

app = typer.Typer(
    name="workbench",
    help="Personalised retrieval in long-term conversational memory.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Personalised retrieval in long-term conversational memory."""


datasets.register(app)
retrieval.register(app)
recall.register(app)
score.register(app)
evaluate.register(app)
judge.register(app)
compare.register(app)
quality.register(app)
sweep.register(app)
train.register(app)
table.register(app)
report.register(app)
reward.register(app)
demo.register(app)
interfaces.register(app)
model.register(app)
house.register(app)


def run() -> None:
    """Entry point of the `workbench` script."""
    main(app)
