"""One question taken apart, as case studies show it; no run keeps these figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import plotly.graph_objects as go

from workbench import figures
from workbench.ask import Asking, told
from workbench.case_words import searched_with
from workbench.components import ladder, parts, split
from workbench.figures.drawing import again
from workbench.passport import Passport, passport_of_question
from workbench.report.asked import asking_again
from workbench.report.reproduction import Maker
from workbench.workspace import Workspace

__all__ = ["MAKERS", "ladder_of", "movement_of", "parts_of", "split_of"]


def ladder_of(one: Asking, k: int, rewriter: str = "") -> go.Figure:
    """Where the evidence stands as components are added; K is marked. `rewriter`, for people, is
    who worded what was searched with."""
    drawn = figures.component_ladder(ladder(one), _passport(one, rewriter), k)
    return again(drawn, "ladder", **_of(one, rewriter), k=k)


def split_of(one: Asking, rewriter: str = "") -> go.Figure | None:
    """Which part of the score moves the evidence how far; None where nothing can move it: no memory
    holds it, or nothing but the question speaks."""
    moves = split(one)
    if moves.is_empty() or moves["part"].n_unique() < 2:
        return None
    drawn = figures.rank_split(moves, _passport(one, rewriter))
    return again(drawn, "split", **_of(one, rewriter))


def parts_of(one: Asking, number: int, rewriter: str = "") -> go.Figure:
    """What the scores of the first memories, and of the evidence, are made of."""
    drawn = figures.score_parts(parts(one, number), _passport(one, rewriter))
    return again(drawn, "score-parts", **_of(one, rewriter), number=number)


def movement_of(one: Asking, number: int, rewriter: str = "") -> go.Figure:
    """The first memories of both rankings, each one's places joined."""
    asked = told(one) | searched_with(one)
    first = {name: hits[:number] for name, hits in asked["rankings"].items()}
    drawn = figures.rank_movement({**asked, "rankings": first}, _passport(one, rewriter))
    return again(drawn, "movement", **_of(one, rewriter), number=number)


def _passport(one: Asking, rewriter: str) -> Passport:
    about = {"banks": one.banks.id, "recipe": msgspec.to_builtins(one.recipe), "rewriter": rewriter}
    return passport_of_question(about | searched_with(one), one.banks.dataset.name)


def _of(one: Asking, rewriter: str) -> dict[str, Any]:
    words = searched_with(one)
    return {
        **({"rewriter": rewriter} if rewriter else {}),
        **({"searched": words["searched_with"]} if words else {}),
        "dataset": one.banks.dataset.name,
        "asked": one.question.id if one.question else one.text,
        "user": f"{one.scope}/{' & '.join(one.people)}",
        "recipe": msgspec.to_builtins(one.recipe),
        "banks": one.banks.id,
    }


# ---------------------------------------------------------------- drawn again


def _who(how: Mapping[str, Any]) -> str:
    """Who worded what was searched with; the words themselves are in `searched`."""
    return str(how.get("rewriter", ""))


def _ladder_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return ladder_of(asking_again(workspace, how), how["k"], _who(how))


def _split_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure | None:
    return split_of(asking_again(workspace, how), _who(how))


def _parts_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return parts_of(asking_again(workspace, how), how["number"], _who(how))


def _movement_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    return movement_of(asking_again(workspace, how), how["number"], _who(how))


MAKERS: dict[str, Maker] = {
    "ladder": _ladder_again,
    "split": _split_again,
    "score-parts": _parts_again,
    "movement": _movement_again,
}
