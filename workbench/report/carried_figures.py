"""The figures that a file carries, with what they say of themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from workbench.errors import DataError
from workbench.passport import Passport
from workbench.report.page import DATA
from workbench.report.pictures import (
    SIGNATURE,
    is_svg,
    pixels_sha256,
    read_metadata,
    read_text,
    svg_sha256,
)
from workbench.schema import Record, digest_of

__all__ = ["Carried", "carried"]

PLOTLY = "application/vnd.plotly.v1+json"  # of a figure among a notebook's outputs


class Carried(Record, frozen=True, kw_only=True):
    """A figure as a file carries it: its name there, passport, and either its whole JSON or that
    JSON's digest. `retouched` says that a picture isn't drawn as it was when it was exported.

    `name` is its name among a run's figures, `drawing` the function that drew it. `again` says how
    it was drawn where that is not by a run's report: its `kind` and the kind's arguments.
    """

    name: str | None
    drawing: str
    passport: Passport
    again: dict[str, Any] | None = None
    spec: dict[str, Any] | None = None
    digest: str
    retouched: bool = False


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
