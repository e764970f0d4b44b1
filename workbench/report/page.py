"""One HTML file with tables and figures, which opens from disk with the network off.

Everything that comes from data is escaped text. Besides, the page's own policy lets no script run
but the two that are written into it (by their digests), and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator
from importlib.resources import files
from string import Template
from typing import Any

import plotly.offline

from workbench.report.findings import Findings, Table
from workbench.report.sheets import printed, spec
from workbench.theme import MODES, template, visible

__all__ = ["DATA", "page"]

# Around the JSON that the figures are drawn from, and read again from.
DATA = ('<script type="application/json" id="figures">', "</script>")
MANY = 16  # rows beyond which a table is folded


def page(found: Findings) -> str:
    """The whole report of a run as one self-contained HTML page."""
    scripts = [plotly.offline.get_plotlyjs(), _resource("page.js")]
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"script-src {' '.join(map(_digest, scripts))}; base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{_text(found.title)}</title>",
            f"<style>{_style()}</style>",
            "</head>",
            "<body><main>",
            *_head(found),
            *(piece for name in found.figures for piece in _figure(found, name)),
            "<h2>Tables</h2>",
            *(piece for table in found.tables for piece in _table(table)),
            *_origin(found),
            "</main>",
            f"{DATA[0]}{_data(found)}{DATA[1]}",
            *(f"<script>{script}</script>" for script in scripts),
            "</body></html>",
            "",
        ]
    )


def _head(found: Findings) -> Iterator[str]:
    yield "<header><div>"
    yield f"<h1>{_text(found.title)}</h1>"
    yield f'<p class="muted">{_text(found.passport.counts)}</p>'
    yield '</div><button id="mode" type="button" hidden>Dark mode</button></header>'
    if found.lead:
        yield '<ul class="lead">'
        yield from (f"<li>{_text(line)}</li>" for line in found.lead)
        yield "</ul>"
    yield (
        f'<p class="muted">Brackets: {_text(found.passport.intervals)}. A mean is over '
        "what was scored; the others are counted above.</p>"
    )


def _figure(found: Findings, name: str) -> Iterator[str]:
    caption = _text(found.figures[name].layout.meta["caption"])
    height = found.figures[name].layout.height - found.figures[name].layout.meta["foot"]
    yield '<figure><div class="chart" tabindex="0">'
    yield f'<div class="plot" id="figure-{name}" style="height:{height}px" role="img" '
    yield f'aria-label="{caption}"></div></div>'
    yield f"<figcaption>{caption}</figcaption></figure>"


def _table(table: Table) -> Iterator[str]:
    if table.provenance:
        yield '<section class="published">'
        yield f"<p><strong>{_text(table.provenance)}.</strong></p>"
        yield from _sheet(table)
        yield "</section>"
        return
    yield from _sheet(table)


def _sheet(table: Table) -> Iterator[str]:
    columns = list(printed(table.frame))
    kinds = ["number" if numeric else "text" for *_, numeric in columns]
    heads = zip((name for name, *_ in columns), kinds, strict=True)
    rows = list(zip(*(cells for _, cells, _ in columns), strict=True))
    folded = len(rows) > MANY
    if folded:
        yield f"<details><summary>{_text(table.title)} ({len(rows)} rows)</summary>"
    yield '<div class="scroll" tabindex="0"><table>'
    yield f"<caption>{_text(table.title)}</caption>"
    yield "<thead><tr>"
    yield from (f'<th scope="col" class="{kind}">{_text(name)}</th>' for name, kind in heads)
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = zip(row, kinds, strict=True)
        yield "<tr>" + "".join(f'<td class="{k}">{_text(c)}</td>' for c, k in cells) + "</tr>"
    yield "</tbody></table></div>"
    if folded:
        yield "</details>"


def _origin(found: Findings) -> Iterator[str]:
    passport = found.passport
    known = {
        "run": passport.run,
        "compared with": passport.against,
        "kind": passport.kind,
        "dataset": passport.dataset,
        "data digest": passport.data,
        "recipe digest": passport.recipe,
        "code": f"recall-workbench {passport.code}",
        "seed": str(passport.seed),
    }
    yield "<h2>Where this comes from</h2><dl>"
    for name, value in known.items():
        if value:
            yield f"<dt>{name}</dt><dd><code>{_text(value)}</code></dd>"
    yield "</dl>"
    yield (
        '<p class="muted">Every figure carries this passport. <code>workbench reproduce FILE'
        "</code>, given this page, makes its figures again from the run and compares them.</p>"
    )


def _data(found: Findings) -> str:
    """The figures and both modes' templates as JSON that cannot end the element it stands in."""
    held: dict[str, Any] = {
        "figures": {name: spec(figure) for name, figure in found.figures.items()},
        "templates": {mode: template(mode).to_plotly_json() for mode in MODES},
    }
    made = json.dumps(held, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return made.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def _style() -> str:
    colours = {
        f"{name}_{field}": getattr(mode, field)
        for name, mode in MODES.items()
        for field in mode.__struct_fields__
    }
    return Template(_resource("page.css")).substitute(colours)


def _resource(name: str) -> str:
    return files("workbench.report").joinpath(name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """A script as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _text(text: str) -> str:
    return html.escape(visible(text))
