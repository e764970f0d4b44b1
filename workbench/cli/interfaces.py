"""Commands `notebooks` and `explore`: what people look at, served to this machine only."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.command import Llm, command
from workbench.cli.output import Output, table
from workbench.cli.serving import LOOPBACK, Server, free_port, serve
from workbench.errors import UsageError

__all__ = ["register"]

# The usual ports of streamlit and marimo, where people look for them.
EXPLORER_PORT, NOTEBOOKS_PORT = 8501, 2718
HERE = ("127.0.0.1", "localhost", "::1")

Port = Annotated[
    int | None, typer.Option(help="Port to serve on. Default: the first free one.", metavar="PORT")
]
Headless = Annotated[
    bool, typer.Option("--headless", help="Do not open a browser; print the address.")
]
SavedView = Annotated[
    Path | None, typer.Option(help="A saved view to open: the explorer writes them.")
]


def register(app: typer.Typer) -> None:
    command(app, "notebooks")(notebooks)
    command(app, "explore")(explore)


def notebooks(
    out: Output,
    name: Annotated[
        str | None, typer.Argument(help="A notebook's name. Default: the gallery.")
    ] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Open in marimo's editor.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the notebooks, open none.")] = False,
    copy: Annotated[
        Path | None,
        typer.Option(help="Copy them to a folder of yours; with --edit, open the copies."),
    ] = None,
    view: SavedView = None,
    port: Port = None,
    headless: Headless = False,
) -> None:
    """Open the notebooks: the gallery, or one of them, as an app or in the editor.

    It serves until Ctrl-C. With --json, the address is the document; --list --json lists them.
    In JupyterLab: `workbench notebooks --copy DIR`, then `marimo export ipynb DIR/NAME.py`.
    """
    from workbench import shipped

    found = {name: shipped.notebook(name)} if name else shipped.notebooks()
    if list_:
        rows = [{"name": key, "path": str(path)} for key, path in found.items()]
        out.data({"notebooks": rows}, _listed)
        return
    _sensible(found, name, view, edit and copy is None)
    if copy is not None:
        found = _copied(found, copy)
        if not edit:
            out.data({"copied": [str(path) for path in found.values()]}, _copies)
            return
    first = next(iter(found.values()))
    place = free_port(LOOPBACK, port, NOTEBOOKS_PORT)
    options = [str(first if name else first.parent), "--host", LOOPBACK, "--port", str(place)]
    options += ["--headless"] if headless else []
    options += ["--", "--view", str(view.resolve())] if view else []
    serve(out, _editor(options, place) if edit else _gallery(options, place))


def explore(
    out: Output,
    view: SavedView = None,
    llm: Llm = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="For reviewers: nothing can be written.")
    ] = False,
    address: Annotated[
        str, typer.Option(help="Address to serve on. Others than this machine's need a thought.")
    ] = LOOPBACK,
    port: Port = None,
    headless: Headless = False,
) -> None:
    """Open the explorer in the browser. It serves this machine only, and phones nobody.

    A language model is asked only where a button says so. It serves until Ctrl-C. With --json, the
    address is the document on stdout.
    """
    from workbench import shipped

    script = shipped.explorer()
    given = ["--read-only"] if read_only else []
    if llm is not None:
        given += ["--llm", _named(llm)]
    if view is not None:
        _readable(view)
        given += ["--view", str(view.resolve())]
    place = free_port(address, port, EXPLORER_PORT)
    if address not in HERE:
        asks = "" if llm is None else ", and may ask the language model"
        out.say(
            f"workbench: everybody who reaches {address} will see all data{asks}, without a "
            "password"
        )
    serve(out, _explorer(str(script), address, place, headless, given))


def _explorer(script: str, address: str, port: int, headless: bool, given: list[str]) -> Server:
    """Streamlit on the explorer's script; `given` are options of the script's own."""
    flags = {
        "server.address": address,
        "server.port": str(port),
        "server.fileWatcherType": "none",
        "runner.magicEnabled": "false",  # each run would read the script for it
        # A full collection after each run takes five times as long as the run: it walks through
        # all that torch and the banks hold. The interpreter's own comes often enough.
        "runner.postScriptGC": "false",
        "server.showEmailPrompt": "false",
        "browser.gatherUsageStats": "false",
        "client.toolbarMode": "minimal",
        "theme.light.primaryColor": "#005a94",  # red is for errors
        "theme.dark.primaryColor": "#6cb8ee",
        **({"server.headless": "true"} if headless else {}),
    }
    options = [piece for key, value in flags.items() for piece in (f"--{key}", value)]
    return Server(["-m", "streamlit", "run", script, *options, "--", *given], address, port)


def _gallery(options: list[str], port: int) -> Server:
    return Server(["-m", "marimo", "run", *options], LOOPBACK, port)


def _editor(options: list[str], port: int) -> Server:
    """The editor runs any code that it is sent, so it wants a password, made up for this once.

    It goes by standard input: a command line can be read by everybody on the machine.
    """
    word = secrets.token_urlsafe(16)
    flags = ["--skip-update-check", "--token-password-file", "-"]
    arguments = ["-m", "marimo", "edit", *flags, *options]
    return Server(arguments, LOOPBACK, port, f"/?access_token={word}", word)


def _sensible(found: dict[str, Path], name: str | None, view: Path | None, in_place: bool) -> None:
    """Refuse what cannot be meant, before anything is done."""
    from workbench import shipped

    if view is not None:
        if name is None:
            raise UsageError(f"--view opens one notebook; name it: {', '.join(found)}")
        _readable(view)
    if in_place and shipped.installed():
        raise UsageError(
            "these notebooks belong to the installation, where an edit would be lost; edit copies: "
            f"workbench notebooks {f'{name} ' if name else ''}--copy DIR --edit"
        )


def _named(llm: str) -> str:
    """A spec that names nothing is said here, not in the browser."""
    from workbench.chat_models import llm_spec

    return llm_spec(llm)


def _readable(view: Path) -> None:
    """A wrong path is said here, not in the browser."""
    from workbench.view import read_view

    read_view(view)


def _copied(found: dict[str, Path], folder: Path) -> dict[str, Path]:
    """Copy notebooks to a folder; nothing there is ever overwritten."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    taken = [path.name for path in found.values() if (folder / path.name).exists()]
    if taken:
        raise UsageError(f"{folder} already has {', '.join(taken)}; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    return {name: Path(shutil.copy(path, folder / path.name)) for name, path in found.items()}


def _copies(told: dict[str, Any]) -> Iterator[Any]:
    yield from told["copied"]


def _listed(told: dict[str, Any]) -> Iterator[Any]:
    rows = [[row["name"], row["path"]] for row in told["notebooks"]]
    yield table("", ["notebook", "file"], rows)
