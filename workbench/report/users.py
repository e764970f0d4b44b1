"""What a prior does to each person of a dataset, as findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import plotly.graph_objects as go
import polars as pl

from workbench import __version__
from workbench.cells import Study
from workbench.effects import by_user, effects
from workbench.figures.drawing import again
from workbench.figures.users import gain_by_user
from workbench.library import open_banks
from workbench.memory_kinds import set_named
from workbench.passport import Passport
from workbench.report.findings import Findings, Table
from workbench.schema import Recipe, digest_of
from workbench.workspace import Workspace

__all__ = ["findings_of_users", "users_again"]


def findings_of_users(
    study: Study, frame: pl.DataFrame, recipe: Recipe, chosen: tuple[str, str] = ("", "")
) -> Findings:
    """The findings of `workbench.effects.effects` by person: a figure, a table a person and one a
    question. `chosen` (scope, person) is marked in the figure."""
    about = study.about
    passport = Passport(
        run="none kept",
        kind="effects",
        dataset=str(about["dataset"]),
        data=str(study.banks.manifest["content"]),
        recipe=digest_of(recipe),
        code=__version__,
        seed=recipe.seed,
        n=len(frame),
        clusters=frame["scope"].n_unique(),
        excluded=study.excluded,
        level=study.level,
        basis="questions",
    )
    people = by_user(frame, study.level)
    figure = gain_by_user(people, passport, recipe.k, chosen)
    how = {"dataset": passport.dataset, "recipe": msgspec.to_builtins(recipe)}
    how["memories"] = set_named(recipe.memories, study.banks.id)
    again(figure, "users", **how, split=study.split, level=study.level, chosen=list(chosen))
    figure.update_layout(meta={**figure.layout.meta, "name": "users"})
    harmed = people.filter(pl.col("mean") < 0)
    lead = [
        f"With the prior {recipe.prior} at λ = {recipe.lam:g} and K = {recipe.k}, "
        f"{len(people.filter(pl.col('mean') > 0)):,} of {len(people):,} people find more of their "
        f"evidence on average, {len(harmed):,} find less."
    ]
    tables = [
        Table("people", "Change of evidence recall by person, the most harmed first", people),
        Table("questions", "Every question, without and with the prior", frame),
    ]
    title = f"What the prior does to each person of {about['dataset']}"
    return Findings(title, passport, lead, tables, {"users": figure}, frame)


def users_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    """The figure of every person once more, as its `again` says. Raises UsageError where the
    dataset is no longer there."""
    recipe = msgspec.convert(how["recipe"], Recipe)
    banks = open_banks(workspace, how["dataset"], how["memories"], recipe.embedder)
    study = Study(workspace, banks, split=how["split"], level=how["level"])
    frame = effects(study, recipe, recipe.k)
    scope, person = how["chosen"]
    return findings_of_users(study, frame, recipe, (scope, person)).figures["users"]
