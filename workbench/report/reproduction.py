"""Figures made again: a file's figures against those that the workspace gives today.

A figure is found among the findings of the run that its passport names; or, where its metadata say
how it was drawn (`again`), by the maker of that kind. Before a figure is said to differ, whatever
lies behind it is looked at: changed data and changed code are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import plotly.graph_objects as go

from workbench.errors import DataError, UsageError, WorkbenchError, WorkspaceError
from workbench.passport import SHOWN as DIGITS
from workbench.passport import Passport
from workbench.provenance import code_digest
from workbench.report.asked import asked_again
from workbench.report.carried_figures import Carried, carried
from workbench.report.findings import Findings, findings
from workbench.report.sheets import spec
from workbench.report.users import users_again
from workbench.schema import Record, digest_of
from workbench.workspace import Workspace

__all__ = ["MAKERS", "Carried", "Finder", "Maker", "Reproduction", "carried", "remade", "reproduce"]

Finder = Callable[[Workspace, str, str | None], Findings]
# Draws a figure once more, as its `again` says; None where there is nothing to see any more.
Maker = Callable[[Workspace, Mapping[str, Any]], go.Figure | None]

# The kinds of figure of this package; `workbench.scenes` has those of notebooks.
MAKERS: dict[str, Maker] = {"question": asked_again, "users": users_again}

SHOWN = 5  # differences that are named


class Reproduction(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One figure made again. `differences` names places of its JSON that differ, the first few."""

    figure: str
    identical: bool
    passport: Passport
    differences: list[str]


def reproduce(
    workspace: Workspace,
    path: Path,
    find: Finder = findings,
    makers: Mapping[str, Maker] = MAKERS,
) -> list[Reproduction]:
    """Make a file's figures again, and compare. `find` makes a run's findings (runs of other
    packages have their own), `makers` are the kinds of figure that are known besides.

    Raises UsageError where the workspace has none of what is behind them, DataError where the file
    has no figure. Of several figures those that can be are made again; the others say what is
    missing.
    """
    return [told for told, _ in remade(workspace, path, find, makers)]


def remade(
    workspace: Workspace,
    path: Path,
    find: Finder = findings,
    makers: Mapping[str, Maker] = MAKERS,
) -> list[tuple[Reproduction, go.Figure | None]]:
    """What `reproduce` tells of each figure, with the figure made again: None where it could not
    be. Raises as `reproduce`."""
    found = carried(path)
    if not found:
        raise DataError(f"{path} carries no figure")

    @cache
    def drawn(run: str, other: str) -> dict[str, go.Figure]:
        return find(workspace, run, other or None).figures

    told: list[tuple[Reproduction, go.Figure | None]] = []
    missing: list[WorkbenchError] = []
    for one in found:
        try:
            if one.again is not None:
                made = _by_maker(workspace, one, makers)
            else:
                made = _of_run(one, drawn(one.passport.run, one.passport.against))
            told.append((_told(one, _compared(one, made)), made))
        except (UsageError, DataError, WorkspaceError) as error:
            missing.append(error)
            told.append((_told(one, [str(error)]), None))
    if len(missing) == len(found):
        raise missing[0]
    return told


def _told(one: Carried, differences: list[str]) -> Reproduction:
    return Reproduction(
        figure=one.name or one.drawing,
        identical=not differences,
        passport=one.passport,
        differences=differences[:SHOWN],
    )


def _by_maker(workspace: Workspace, one: Carried, makers: Mapping[str, Maker]) -> go.Figure | None:
    """The figure that the maker of its kind draws today, under the name that it was given."""
    assert one.again is not None
    kind = one.again.get("kind", "question")  # of files that know no other kind
    if kind not in makers:
        raise UsageError(f"this workbench draws no figure of the kind {kind!r}")
    try:
        made = makers[kind](workspace, one.again)
    except (LookupError, ValueError, TypeError) as error:
        raise UsageError(f"what the file says of its figure cannot be used: {error!r}") from error
    if made is None:
        return None
    meta = dict(made.layout.meta)
    # When it was drawn, and by which code, are no difference of their own.
    meta["again"] = {**meta["again"], "code": one.again.get("code")}
    meta.pop("name", None)
    named = {} if one.name is None else {"name": one.name}
    return made.update_layout(meta={**meta, **named})


def _of_run(one: Carried, made: dict[str, go.Figure]) -> go.Figure | None:
    """The figure of its name among a run's; of those by the same function, where it has no name,
    the one that differs least."""
    if one.name is not None:
        return made.get(one.name)
    alike = [figure for figure in made.values() if figure.layout.meta["figure"] == one.drawing]
    return min(map(_unnamed, alike), key=lambda again: len(_places(one, again)), default=None)


def _compared(one: Carried, made: go.Figure | None) -> list[str]:
    """What differs between a figure and the one made again, and what changed behind it."""
    if made is None:
        return [f"there is no figure {one.name or one.drawing!r} any more"]
    places = _places(one, made)
    behind = list(_behind(one, made)) if places else []
    retouched = ["the picture was changed after it was exported"] if one.retouched else []
    return behind + places + retouched


def _places(one: Carried, made: go.Figure) -> list[str]:
    again = spec(made)
    if one.spec is not None:
        return list(_differences(one.spec, again))
    return [] if one.digest == digest_of(again) else ["the figure's data or look"]


def _behind(one: Carried, made: go.Figure) -> Iterator[str]:
    """Which of the data, the settings and the code are others than when the figure was drawn."""
    then, now = one.passport, msgspec.convert(made.layout.meta["passport"], Passport)
    kept = {"data": "the data", "recipe": "the settings", "code": "the version of the workbench"}
    for field, said in kept.items():
        was, is_now = getattr(then, field), getattr(now, field)
        if was != is_now:
            yield f"{said} changed: {was[:DIGITS]} then, {is_now[:DIGITS]} now"
    code = (one.again or {}).get("code")
    if code not in (None, code_digest()):
        yield f"the code changed: {code[:DIGITS]} then, {code_digest()[:DIGITS]} now"


def _unnamed(made: go.Figure) -> go.Figure:
    """A figure without its name among the run's figures."""
    meta = {key: value for key, value in made.layout.meta.items() if key != "name"}
    return go.Figure(made).update_layout(meta=meta)


def _differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Where two JSON values differ: "layout.title.text"."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _differences(one.get(key), other.get(key), f"{place}.{key}".lstrip("."))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(*pair, f"{place}[{number}]")
    elif one != other:
        yield place
