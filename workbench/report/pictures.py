"""PNG and SVG of a figure, drawn by a local Chromium through kaleido, the passport in the file."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import plotly.graph_objects as go

from workbench.doctor import find_browser
from workbench.errors import DataError, UsageError
from workbench.report.sheets import spec
from workbench.schema import digest_of
from workbench.theme import in_mode

__all__ = [
    "KEYWORD",
    "chunks",
    "is_svg",
    "pixels_sha256",
    "png",
    "read_metadata",
    "read_text",
    "svg",
    "svg_sha256",
]

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEYWORD = b"workbench"  # of the tEXt chunk
WIDTH, SCALE, SECONDS = 1000, 2, 60
METADATA = re.compile(
    rb'<title>[^<]*</title><desc>[^<]*</desc><metadata id="workbench">([^<]*)</metadata>'
)


def png(figure: go.Figure, mode: str = "light") -> bytes:
    """The figure as PNG, 1000 pixels wide at double density.

    A tEXt chunk holds its `name` and `passport`, the digest of the figure's JSON (`spec`) and that
    of the picture's own `pixels`, as ASCII JSON.

    Nothing is fetched: plotly.js is the packaged one, formulas are off. Raises UsageError where
    there is no browser to draw with, DataError where the browser fails.
    """
    drawn = _drawn(in_mode(figure, mode))
    said = _said(figure, mode) | {"pixels": pixels_sha256(drawn)}
    text = KEYWORD + b"\0" + json.dumps(said, ensure_ascii=True, sort_keys=True).encode("ascii")
    header_ends = len(SIGNATURE) + 25  # the first chunk, IHDR, always has 13 bytes of data
    return drawn[:header_ends] + _chunk(b"tEXt", text) + drawn[header_ends:]


def svg(figure: go.Figure, mode: str = "light") -> bytes:
    """The figure as SVG, 1000 pixels wide: lines and text stay lines and text.

    `<title>` and `<desc>` hold its title and caption for readers who cannot see it, `<metadata>`
    what `png` writes, with the digest of the drawing in the place of the pixels'. No script and no
    link is in it. Raises as `png` does.
    """
    drawn = _drawn(in_mode(figure, mode), "svg")
    opening = drawn.index(b">") + 1
    said = _said(figure, mode) | {"drawing": hashlib.sha256(drawn).hexdigest()}
    title = re.sub("<[^>]*>", "", figure.layout.title.text or "")  # of ours: K<sub>E</sub>
    told = [
        f"<title>{html.escape(html.unescape(title))}</title>",
        f"<desc>{html.escape(said['caption'])}</desc>",
        '<metadata id="workbench">',
        html.escape(json.dumps(said, ensure_ascii=True, sort_keys=True)),
        "</metadata>",
    ]
    return drawn[:opening] + "".join(told).encode() + drawn[opening:]


def is_svg(data: bytes) -> bool:
    """Whether a file's content is an SVG as `svg` writes it."""
    return data.startswith(b"<svg")


def read_metadata(data: bytes) -> dict[str, Any]:
    """What `svg` wrote into the file. Raises DataError where there is no such thing.

    No XML is parsed: a file from elsewhere can make nothing happen.
    """
    found = METADATA.search(data)
    try:
        said = json.loads(html.unescape(found[1].decode())) if found else None
    except ValueError as error:
        raise DataError(f"the SVG file's passport cannot be read: {error}") from error
    if not isinstance(said, dict):
        raise DataError("the SVG file carries no passport: it was not exported by the workbench")
    return said


def svg_sha256(data: bytes) -> str:
    """Digest of an SVG's drawing, whatever its metadata say."""
    return hashlib.sha256(METADATA.sub(b"", data, count=1)).hexdigest()


def chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Types and contents of a PNG's chunks. Raises DataError where it is none, or damaged."""
    if not data.startswith(SIGNATURE):
        raise DataError("not a PNG file")
    at = len(SIGNATURE)
    while at < len(data):
        if at + 12 > len(data):
            raise DataError("the PNG file ends in the middle")
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        check = data[at + 8 + length : at + 12 + length]
        if check != struct.pack(">I", zlib.crc32(kind + body)):
            raise DataError(f"the PNG file is damaged in a chunk {kind.decode('latin-1')}")
        yield kind, body
        at += 12 + length


def read_text(data: bytes) -> dict[str, Any]:
    """What `png` wrote into the file. Raises DataError where there is no such thing."""
    for kind, body in chunks(data):
        keyword, _, text = body.partition(b"\0")
        if kind == b"tEXt" and keyword == KEYWORD:
            try:
                said = json.loads(text)
            except ValueError as error:
                raise DataError(f"the PNG file's passport cannot be read: {error}") from error
            if isinstance(said, dict):
                return said
    raise DataError("the PNG file carries no passport: it was not exported by the workbench")


def pixels_sha256(data: bytes) -> str:
    """Digest of a PNG's size and pixels, whatever else the file says."""
    found = hashlib.sha256()
    for kind, body in chunks(data):
        if kind in (b"IHDR", b"IDAT", b"PLTE"):
            found.update(kind + body)
    return found.hexdigest()


def _said(figure: go.Figure, mode: str) -> dict[str, Any]:
    """What a picture says of itself: its figure's metadata, and the digest of its JSON."""
    held = spec(figure)
    return {**held["layout"]["meta"], "mode": mode, "spec": digest_of(held)}


def _drawn(figure: go.Figure, format: str = "png") -> bytes:
    import kaleido

    browser = os.environ.get("BROWSER_PATH") or find_browser()
    if browser is None:
        raise UsageError(
            "PNG and SVG need Chromium or Chrome, and none was found: install chromium with your "
            "system's package manager, or set BROWSER_PATH to it. HTML, CSV, LaTeX and JSON need "
            "none"
        )
    scale = SCALE if format == "png" else 1
    size = {"format": format, "width": WIDTH, "height": figure.layout.height, "scale": scale}
    try:
        drawn: bytes = kaleido.calc_fig_sync(
            figure.to_dict(),
            opts=size,
            kopts={"mathjax": False, "path": browser, "timeout": SECONDS},
        )
    except Exception as error:  # the browser's own errors share no family
        raise DataError(f"{browser} could not draw the figure: {error}") from error
    return drawn


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
