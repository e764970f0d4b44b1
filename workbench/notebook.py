"""What every notebook here shares: its options, its run buttons, its progress.

A notebook is run in five ways: edited, as an app, as a script, by `app.run(defs=...)`, and as an
ipynb under Jupyter. In the first two somebody presses buttons; in the others a run button counts as
pressed, so that no cell passes by not running.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from workbench.escaped import literal
from workbench.library import Progress
from workbench.theme import CAPTION, in_mode
from workbench.view import View, read_view, view_of
from workbench.workspace import Workspace

__all__ = [
    "attended",
    "empty",
    "framed",
    "on_screen",
    "opened",
    "options",
    "pressed",
    "progress",
    "shown",
]

ATTENDED = ("edit", "run")
# What an address holds that is no option: marimo's own, and paths, which no link should name.
NO_OPTIONS = {"file", "session_id", "access_token", "kiosk", "view-as", "show-code", "include-code"}
PATHS = {"workspace", "view"}


def attended() -> bool:
    """Whether somebody can press buttons: in the editor and the app, nowhere else."""
    import marimo

    return marimo.app_meta().mode in ATTENDED


def pressed(button: Any) -> bool:
    """Whether a run button has been pressed, or nobody is there to press it."""
    return bool(button.value) or not attended()


def options() -> dict[str, str]:
    """The options that the notebook was started with (`-- --dataset locomo`, or those of an app's
    address, where paths don't count); none under Jupyter."""
    import marimo

    if marimo.app_meta().mode not in (*ATTENDED, "script"):  # Jupyter: no kernel of marimo's
        return {}
    asked = marimo.query_params().to_dict()
    linked = {key: value for key, value in asked.items() if key not in NO_OPTIONS | PATHS}
    given = {**linked, **marimo.cli_args().to_dict()}
    return {key: str(value) for key, value in given.items() if key}


def opened(*own: str) -> tuple[Workspace, View, list[str]]:
    """The workspace and the view that the notebook's options name, with remarks on bad ones.

    `--workspace DIR` names a workspace, `--view FILE` a saved view; any field of a view is an
    option that goes before the file's. `own` names the notebook's own options, which it reads by
    `options`.
    """
    given = {name: value for name, value in options().items() if name not in own}
    workspace = Workspace(given.pop("workspace", None))
    saved: View = View()
    remarks: list[str] = []
    if "view" in given:
        saved, remarks = read_view(Path(given.pop("view")))
    view, further = view_of({**saved.parameters(), **given})
    return workspace, view, remarks + further


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


def empty(said: str, command: str, after: str = "") -> Any:
    """Nothing to show yet: why, and the command that makes it; all of it shown literally."""
    import marimo

    return marimo.Html(
        f'<p>{literal(said)}</p><pre style="white-space:pre-wrap">{literal(command)}</pre>'
        + (f"<p>{literal(after)}</p>" if after else "")
    )
