"""The figures of the lesson; no run keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import plotly.graph_objects as go
import polars as pl

from workbench import figures, lesson, toy_lesson
from workbench.ask import Asking, asking
from workbench.bank_set import BankSet
from workbench.cells import Study
from workbench.components import parts
from workbench.effects import Ranked, ranked
from workbench.errors import UsageError
from workbench.figures.drawing import again
from workbench.figures.toy import toy_curves
from workbench.grids import control_sweep
from workbench.library import open_banks
from workbench.plane import plane
from workbench.report.reproduction import Maker
from workbench.schema import Recipe
from workbench.toy_policy import Toy
from workbench.workspace import Workspace

__all__ = ["MAKERS", "askers_of", "control_of", "hurt_of", "plane_of", "scatter_of", "toy_of"]


def askers_of(found: Ranked, recipe: Recipe, words: str) -> go.Figure:
    """Everybody who asks these words: the rank of each one's evidence, without and with the prior.

    Raises UsageError where nobody does.
    """
    ids = [question.id for question in lesson.same_words(found).get(words, ())]
    if not ids:
        raise UsageError(f"nobody asks {words!r} here, or one person only")
    rows = found.at(recipe.lam, recipe.k).filter(pl.col("question").is_in(ids))
    passport = lesson.lesson_passport(found, recipe, len(rows))
    return again(
        figures.same_words(rows, passport, recipe.k), "askers", **_of(found, recipe, words)
    )


def plane_of(found: Ranked, one: Asking) -> go.Figure:
    """The plane of a question and the profile of who asks it. Raises UsageError as `plane` does."""
    assert one.question is not None
    passport = lesson.lesson_passport(found, one.recipe, 1)
    drawn = figures.prior_plane(plane(one), passport, one.question.gold.evidence[0])
    return again(drawn, "plane", **_of(found, one.recipe, one.question.id))


def scatter_of(found: Ranked, recipe: Recipe) -> go.Figure:
    """Every question's rank without and with the prior."""
    rows = found.at(recipe.lam, recipe.k)
    drawn = figures.rank_scatter(rows, lesson.lesson_passport(found, recipe))
    return again(drawn, "rank-scatter", **_of(found, recipe))


def hurt_of(found: Ranked, one: Asking, number: int = 6) -> go.Figure:
    """What the scores of a question's first memories are made of."""
    assert one.question is not None
    passport = lesson.lesson_passport(found, one.recipe, 1)
    drawn = figures.score_parts(parts(one, number), passport)
    return again(drawn, "hurt", **_of(found, one.recipe, one.question.id), number=number)


def control_of(found: Ranked, rows: pl.DataFrame, recipe: Recipe) -> go.Figure:
    """One's own profile beside others': `rows` are `lesson.control_rows`."""
    passport = lesson.lesson_passport(found, recipe)
    said = f"evidence recall@{recipe.k}"
    drawn = figures.ablation_bars(rows, passport, said, "Whose profile")
    return again(drawn, "whose-profile", **_of(found, recipe))


def toy_of(taught: toy_lesson.Taught, banks: BankSet) -> go.Figure:
    """What the toy's policy is paid, step by step."""
    passport = toy_lesson.toy_passport(taught, banks)
    drawn = toy_curves(toy_lesson.curve(taught), passport)
    recipe, trained = msgspec.to_builtins(taught.recipe), msgspec.to_builtins(taught.how)
    return again(drawn, "toy", dataset=banks.dataset.name, recipe=recipe, trained=trained)


def _of(found: Ranked, recipe: Recipe, asked: str = "") -> dict[str, Any]:
    name = found.study.banks.dataset.name
    return {"dataset": name, "recipe": msgspec.to_builtins(recipe), "asked": asked}


# ---------------------------------------------------------------- drawn again


def _ranked(workspace: Workspace, how: Mapping[str, Any]) -> tuple[Ranked, Recipe]:
    recipe = msgspec.convert(how["recipe"], Recipe)
    banks = open_banks(workspace, how["dataset"], recipe.memories, recipe.embedder)
    return ranked(Study(workspace, banks), recipe, (recipe.lam,)), recipe


def _asking(found: Ranked, how: Mapping[str, Any], recipe: Recipe) -> Asking:
    return asking(found.study.banks, how["asked"], recipe)


def _askers_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    found, recipe = _ranked(workspace, how)
    return askers_of(found, recipe, how["asked"])


def _plane_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    found, recipe = _ranked(workspace, how)
    return plane_of(found, _asking(found, how, recipe))


def _scatter_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return scatter_of(*_ranked(workspace, how))


def _hurt_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    found, recipe = _ranked(workspace, how)
    return hurt_of(found, _asking(found, how, recipe), how["number"])


def _control_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    found, recipe = _ranked(workspace, how)
    rows = lesson.control_rows(control_sweep(found.study, recipe, (recipe.k,)), recipe.k)
    return control_of(found, rows, recipe)


def _toy_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    recipe = msgspec.convert(how["recipe"], Recipe)
    banks = open_banks(workspace, how["dataset"], recipe.memories, recipe.embedder)
    trained = msgspec.convert(how["trained"], Toy)
    return toy_of(toy_lesson.learnt(workspace, banks, recipe, trained), banks)


MAKERS: dict[str, Maker] = {
    "askers": _askers_again,
    "plane": _plane_again,
    "rank-scatter": _scatter_again,
    "hurt": _hurt_again,
    "whose-profile": _control_again,
    "toy": _toy_again,
}
