"""Figures made again: a file's figures against those that the workspace's run gives today."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from workbench.errors import DataError
from workbench.passport import Passport
from workbench.report.findings import findings
from workbench.report.page import DATA
from workbench.report.pictures import SIGNATURE, pixels_sha256, read_text
from workbench.report.sheets import spec
from workbench.schema import Record, digest_of
from workbench.workspace import Workspace

__all__ = ["Carried", "Reproduction", "carried", "reproduce"]

SHOWN = 5  # differences that are named


class Carried(Record, frozen=True, kw_only=True):
    """A figure as a file carries it: its name there, passport, and either its whole JSON or that
    JSON's digest. `retouched` says that a picture's pixels aren't those that were exported."""

    name: str
    passport: Passport
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
    """The figures that an exported HTML, JSON or PNG file carries.

    Raises DataError where it is no such file, or its passports cannot be read.
    """
    data = path.read_bytes()
    try:
        if data.startswith(SIGNATURE):
            return [_of_picture(data)]
        text = data.decode("utf-8")
        figures = json.loads(_between(text, path) if path.suffix != ".json" else text)["figures"]
        return [_of_spec(name, figure) for name, figure in figures.items()]
    except (ValueError, KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise DataError(f"{path} carries no figure with a passport: {error}") from error


def reproduce(workspace: Workspace, path: Path) -> list[Reproduction]:
    """Make a file's figures again from their runs, and compare.

    Raises UsageError where the workspace has no such run, DataError where the file has no figure.
    """
    found = carried(path)
    if not found:
        raise DataError(f"{path} carries no figure")
    runs = {(one.passport.run, one.passport.against) for one in found}
    made = {(run, other): findings(workspace, run, other or None).figures for run, other in runs}
    return [_compared(one, made[one.passport.run, one.passport.against]) for one in found]


def _compared(one: Carried, figures: dict[str, Any]) -> Reproduction:
    if one.name not in figures:
        differences = [f"the run has no figure {one.name!r}"]
    else:
        again = spec(figures[one.name])
        if one.spec is not None:
            differences = list(_differences(one.spec, again))
        else:
            differences = ["the figure's data or look"] if one.digest != digest_of(again) else []
    if one.retouched:
        differences.append("the picture was changed after it was exported")
    return Reproduction(
        figure=one.name,
        identical=not differences,
        passport=one.passport,
        differences=differences[:SHOWN],
    )


def _of_picture(data: bytes) -> Carried:
    said = read_text(data)
    return Carried(
        name=said["name"],
        passport=msgspec.convert(said["passport"], Passport),
        digest=said["spec"],
        retouched=said["pixels"] != pixels_sha256(data),
    )


def _of_spec(name: str, figure: dict[str, Any]) -> Carried:
    passport = msgspec.convert(figure["layout"]["meta"]["passport"], Passport)
    return Carried(name=name, passport=passport, spec=figure, digest=digest_of(figure))


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
