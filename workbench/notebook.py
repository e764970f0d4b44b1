"""What every notebook here shares: its options, its run buttons, its progress.

A notebook is run in five ways: edited, as an app, as a script, by `app.run(defs=...)`, and as an
ipynb under Jupyter. In the first two somebody presses buttons; in the others a run button counts as
pressed, so that no cell passes by not running.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import plotly.graph_objects as go

from workbench.embedders import SentenceEmbedder, open_embedder
from workbench.errors import WorkbenchError
from workbench.escaped import literal
from workbench.library import Progress
from workbench.rewriters import rewriter_labels
from workbench.theme import CAPTION, in_mode
from workbench.usable import dataset_names, embedders_held, usable
from workbench.view import View, read_view, view_of
from workbench.workspace import Workspace

__all__ = [
    "Start",
    "attended",
    "empty",
    "framed",
    "on_screen",
    "opened",
    "options",
    "pressed",
    "progress",
    "remarked",
    "shown",
    "started",
]

ATTENDED = ("edit", "run")
# What an address holds that is no option: marimo's own.
NO_OPTIONS = {"file", "session_id", "access_token", "kiosk", "view-as", "show-code", "include-code"}
# Options that are no field of a view; like a notebook's own ones, no link may give them.
PLACES = {"workspace", "view"}
FIELDS = frozenset(View.__struct_fields__)


class Start(NamedTuple):
    """What a notebook on a dataset starts from; `remarks` say what of the options was not used."""

    workspace: Workspace
    view: View
    embedder: SentenceEmbedder
    remarks: list[str]


def attended() -> bool:
    """Whether somebody can press buttons: in the editor and the app, nowhere else."""
    import marimo

    return marimo.app_meta().mode in ATTENDED


def pressed(button: Any) -> bool:
    """Whether a run button has been pressed, or nobody is there to press it."""
    return bool(button.value) or not attended()


def options() -> dict[str, str]:
    """The options that the notebook was started with (`-- --dataset locomo`), and those of an app's
    address that are fields of a view; none under Jupyter.

    An address may come from anybody, so nothing in it can name a file or a folder to open.
    """
    linked = {name: value for name, value in _linked().items() if name in FIELDS}
    return {**linked, **_commanded()}


def opened(*own: str, reads: Iterable[str] = FIELDS) -> tuple[Workspace, View, list[str]]:
    """The workspace and the view that the notebook's options name, with remarks on bad ones.

    `--workspace DIR` names a workspace, `--view FILE` a saved view; any field of a view is an
    option that goes before the file's. `own` names the notebook's own options, which it reads by
    `options`; `reads` the fields of a view that it can show: a remark names the others.
    """
    given = {name: value for name, value in options().items() if name not in own}
    workspace = Workspace(given.pop("workspace", None))
    saved: View = View()
    remarks = [_refused(name, {*PLACES, *own}) for name in _linked() if name not in FIELDS]
    if "view" in given:
        saved, said = read_view(Path(given.pop("view")))
        remarks += said
    view, further = view_of({**saved.parameters(), **given})
    # `page` names a page of the explorer, in whose place the notebook stands.
    left = [name for name in view.parameters() if name not in {"page", *reads}]
    if left:
        further.append(f"not carried over from the view: {', '.join(left)}")
    return workspace, view, remarks + further


def started(*own: str, reads: Iterable[str] = FIELDS) -> Start:
    """The same for a notebook on a dataset: the view is one that can be used, its embedder open.

    Only the command line may name an embedder that nothing here has been made with.
    """
    workspace, asked, remarks = opened(*own, reads=reads)
    named = _commanded().get("embedder")
    held = [named] if named else embedders_held(workspace)
    view, said = usable(asked, dataset_names(workspace), held, rewriter_labels(workspace))
    remarks += said
    try:
        return Start(workspace, view, open_embedder(view.embedder), remarks)
    except WorkbenchError as absent:
        view = view.but(embedder=View().embedder)
        remarks.append(f"{absent}; {view.embedder} is used")
    return Start(workspace, view, open_embedder(view.embedder), remarks)


def remarked(
    remarks: Iterable[str], section: str = "", parts: Mapping[str, str] = MappingProxyType({})
) -> Any:
    """Remarks as a notebook shows them, literally; None where there is nothing to say.

    `section` is a view's, `parts` the notebook's headings by section: where it names one there is
    a link to it, else a remark.
    """
    import marimo

    lines = list(remarks)
    if section and section not in parts:
        lines.append(f"not carried over from the view: section {section!r:.60}")
    said = "<br>".join(map(literal, lines))
    shown = [marimo.callout(marimo.Html(said), kind="warn")] if said else []
    # marimo makes a heading's place of its words.
    place = re.search(r'id="([^"]+)"', marimo.md(f"## {parts.get(section, '')}").text)
    if section in parts and place and attended():
        shown.append(marimo.md(f"The view was at [{parts[section]}](#{place[1]})."))
    return marimo.vstack(shown) if shown else None


@contextlib.contextmanager
def progress(title: str) -> Iterator[Progress]:
    """A bar with the time left where somebody watches; silence elsewhere."""
    import marimo

    if not attended():
        yield lambda what, done, total: None
        return
    with marimo.status.progress_bar(
        total=100, title=title, show_rate=False, show_eta=True, remove_on_exit=True
    ) as bar:
        shown = 0

        def tell(what: str, done: int, total: int) -> None:
            nonlocal shown
            now = int(100 * done / max(total, 1))
            if now > shown:
                bar.update(increment=now - shown, subtitle=f"{what}: {done:,} of {total:,}")
                shown = now

        yield tell


def shown(figure: go.Figure, least: int = 640) -> Any:
    """A figure as a notebook shows it, in the notebook's mode.

    Where somebody watches, its caption stands below as text, and on a screen narrower than `least`
    pixels it keeps that width and is moved sideways. Elsewhere, and so in JupyterLab, which draws
    nothing of marimo's, it is the bare figure with its caption inside.
    """
    import marimo

    if not attended():
        return in_mode(figure, marimo.app_meta().theme)
    return framed(marimo.as_html(on_screen(figure)), figure, least)


def on_screen(figure: go.Figure) -> go.Figure:
    """What of a figure is drawn where somebody watches: all but its caption, in the notebook's
    mode, its paper the page's."""
    import marimo

    drawn = in_mode(figure, marimo.app_meta().theme)
    foot = (drawn.layout.meta or {}).get("foot", 0)
    drawn.layout.annotations = [one for one in drawn.layout.annotations if one.name != CAPTION]
    return drawn.update_layout(
        height=drawn.layout.height - foot,
        margin_b=drawn.layout.margin.b - foot,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )


def framed(plot: Any, figure: go.Figure, least: int = 640) -> Any:
    """The element that draws `on_screen(figure)`, one that can be clicked perhaps, as `shown`
    frames it: with the caption below, moved sideways where the screen is narrow."""
    import marimo

    caption = (figure.layout.meta or {}).get("caption", "")
    return marimo.Html(
        '<div style="overflow-x:auto" tabindex="0">'
        f'<div style="min-width:{least}px">{plot.text}</div></div>'
        f'<small style="opacity:.75">{literal(caption)}</small>'
    )


def empty(said: str, command: str = "", after: str = "") -> Any:
    """Nothing to show yet: why, and the command that makes it, if one does; shown literally."""
    import marimo

    return marimo.Html(
        f"<p>{literal(said)}</p>"
        + (f'<pre style="white-space:pre-wrap">{literal(command)}</pre>' if command else "")
        + (f"<p>{literal(after)}</p>" if after else "")
    )


def _linked() -> dict[str, str]:
    """What an app's address gives, marimo's own part left out."""
    import marimo

    if marimo.app_meta().mode not in (*ATTENDED, "script"):  # Jupyter: no kernel of marimo's
        return {}
    asked = marimo.query_params().to_dict()
    return {name: str(value) for name, value in asked.items() if name and name not in NO_OPTIONS}


def _commanded() -> dict[str, str]:
    """What the command line gives."""
    import marimo

    if marimo.app_meta().mode not in (*ATTENDED, "script"):
        return {}
    return {name: str(value) for name, value in marimo.cli_args().to_dict().items() if name}


def _refused(name: str, places: set[str]) -> str:
    """Why an address's parameter that is no field of a view isn't used."""
    if name in places:
        return f"{name} is no matter for a link: only the command line may name it"
    return f"{name[:60]} is nothing that a view has; it is ignored"
