"""Commands `reward …`: the rubric reward model, from judgments to a report."""

from __future__ import annotations

import typer

from workbench.cli.reward import evaluation, judgments, models, pairs, privacy, scoring

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    reward = typer.Typer(
        help="Do people prefer responses that use their memories? Judgments, features, a model.",
        no_args_is_help=True,
    )
    pairs.register(reward)
    judgments.register(reward)
    scoring.register(reward)
    models.register(reward)
    evaluation.register(reward)
    privacy.register(reward)
    app.add_typer(reward, name="reward")
