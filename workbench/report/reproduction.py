"""Figures made again: a file's figures against those that the workspace's run gives today."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from workbench.errors import DataError, UsageError
from workbench.passport import Passport
from workbench.report.asked import asked_again
from workbench.report.findings import Findings, findings
from workbench.report.page import DATA
from workbench.report.pictures import (
    SIGNATURE,
    is_svg,
    pixels_sha256,
    read_metadata,
    read_text,
    svg_sha256,
)
from workbench.report.sheets import spec
from workbench.schema import Record, digest_of
from workbench.workspace import Workspace

__all__ = ["Carried", "Reproduction", "carried", "reproduce"]

Finder = Callable[[Workspace, str, str | None], Findings]

SHOWN = 5  # differences that are named
PLOTLY = "application/vnd.plotly.v1+json"  # of a figure among a notebook's outputs


class Carried(Record, frozen=True, kw_only=True):
    """A figure as a file carries it: its name there, passport, and either its whole JSON or that
    JSON's digest. `retouched` says that a picture isn't drawn as it was when it was exported.

    `name` is its name among a run's figures; `drawing`, the function that drew it, is what figures
    of notebooks have instead. `again` says how to ask a question that no run keeps.
    """

    name: str | None
    drawing: str
    passport: Passport
    again: dict[str, Any] | None = None
    spec: dict[str, Any] | None = None
    digest: str
    retouched: bool = False


class Reproduction(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One figure made again. `differences` names places of its JSON that differ, the first few."""

    figure: str
    identical: bool
    passport: Passport
    differences: list[str]


def carried(path: Path) -> list[Carried]:
    """The figures that an exported HTML, JSON, PNG or SVG file carries, or an ipynb's outputs.

    Raises DataError where it is no such file, or its passports cannot be read.
    """
    data = path.read_bytes()
    try:
        if data.startswith(SIGNATURE):
            said = read_text(data)
            return [_carried(said, said["spec"], retouched=said["pixels"] != pixels_sha256(data))]
        if is_svg(data):
            said = read_metadata(data)
            return [_carried(said, said["spec"], retouched=said["drawing"] != svg_sha256(data))]
        return [
            _carried(figure["layout"]["meta"], digest_of(figure), spec=figure)
            for figure in _figures(data.decode("utf-8"), path)
        ]
    except (ValueError, KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise DataError(f"{path} carries no figure with a passport: {error}") from error


def reproduce(workspace: Workspace, path: Path, find: Finder = findings) -> list[Reproduction]:
    """Make a file's figures again from their runs, and compare. `find` makes a run's findings:
    runs of other packages have their own.

    Raises UsageError where the workspace has no such run, DataError where the file has no figure.
    Of several figures those whose run is there are made again; the others say what is missing.
    """
    found = carried(path)
    if not found:
        raise DataError(f"{path} carries no figure")

    @cache
    def made(run: str, other: str) -> dict[str, Any]:
        return find(workspace, run, other or None).figures

    told, missing = [], []
    for one in found:
        try:
            if one.again is not None:
                figures = asked_again(workspace, one.again).figures
            else:
                figures = made(one.passport.run, one.passport.against)
            differences = _compared(one, figures)
        except UsageError as error:
            missing.append(error)
            differences = [str(error)]
        told.append(_told(one, differences))
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


def _compared(one: Carried, figures: dict[str, Any]) -> list[str]:
    """What differs between a figure and the one made again; of several by the same function, the
    one that differs least."""
    if one.name is not None:
        made = [spec(figures[one.name])] if one.name in figures else []
    else:
        made = [_unnamed(spec(figure)) for figure in figures.values()]
        made = [again for again in made if again["layout"]["meta"]["figure"] == one.drawing]
    if not made:
        return [f"the run has no figure {one.name or one.drawing!r}"]
    if one.spec is not None:
        differences = min((list(_differences(one.spec, again)) for again in made), key=len)
    else:
        same = one.digest in map(digest_of, made)
        differences = [] if same else ["the figure's data or look"]
    retouched = ["the picture was changed after it was exported"] if one.retouched else []
    return differences + retouched


def _unnamed(made: dict[str, Any]) -> dict[str, Any]:
    """A figure's JSON without its name among the run's figures."""
    made["layout"]["meta"].pop("name", None)
    return made


def _carried(meta: dict[str, Any], digest: str, **more: Any) -> Carried:
    return Carried(
        name=meta.get("name"),
        drawing=str(meta["figure"]),
        passport=msgspec.convert(meta["passport"], Passport),
        again=meta.get("again"),
        digest=digest,
        **more,
    )


def _figures(text: str, path: Path) -> list[dict[str, Any]]:
    """The JSON of the figures in a page, in exported JSON, in one figure's, or of a notebook."""
    held = json.loads(text if path.suffix in (".json", ".ipynb") else _between(text, path))
    if "cells" in held:
        outputs = [output for cell in held["cells"] for output in cell.get("outputs", [])]
        drawn = [one["data"][PLOTLY] for one in outputs if PLOTLY in one.get("data", {})]
        ours = [one for one in drawn if "passport" in (one["layout"].get("meta") or {})]
        return [{key: one[key] for key in ("data", "layout")} for one in ours]
    if "layout" in held:
        return [held]
    return list(held["figures"].values())


def _between(text: str, path: Path) -> str:
    """The JSON inside an exported page."""
    _, found, rest = text.partition(DATA[0])
    if not found:
        raise DataError(f"{path} is no report of the workbench: it holds no figures")
    return rest.partition(DATA[1])[0]


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
