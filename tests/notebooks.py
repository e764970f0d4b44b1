"""Notebooks as they are run: checked, as scripts, with values given, as ipynb under Jupyter.

    path = NOTEBOOKS / "lambda_alpha.py"
    home = warm(tmp_path_factory.getbasetemp())       # a workspace with the sample, built
    assert complaints(path) == ""                      # marimo check --strict
    assert script(path, home, "--dataset", "sample").code == 0
    held = ran(path, home, lam=0.5)                    # app.run(defs={"lam": 0.5})
    drawn(held)["surface_figure"]                      # every *_figure, each with data
    plots(executed(exported(path, tmp_path), home))    # plotly outputs under Jupyter

All of it happens in another folder than the notebook's, with the network off. Figures are the
variables whose names end in `_figure`; `drawn` and `plots` fail where there is none.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
import plotly.graph_objects as go
from nbclient import NotebookClient

from shell import PROJECT, Outcome, environment
from workbench import Workspace, open_banks
from workbench.cli.report import find, makers
from workbench.report import reproduce

__all__ = [
    "NOTEBOOKS",
    "complaints",
    "drawn",
    "executed",
    "exported",
    "made_again",
    "offline",
    "plots",
    "ran",
    "script",
    "warm",
]

NOTEBOOKS = PROJECT / "notebooks"
OFFLINE = PROJECT / "tests" / "offline"
SECONDS = 55
PLOTLY = "application/vnd.plotly.v1+json"
# Any of these with a value in it makes a trace one that shows something.
DATA = ("x", "y", "z", "values", "r", "lat", "header", "cells")


def warm(base: Path) -> Path:
    """A workspace under `base` whose sample is built: made once, by the first who asks.

    Tests that write into it should copy it.
    """
    home = base / "warm"
    with (base / "warm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        open_banks(Workspace(home), "sample")
    return home


def offline(home: Path | None = None, **given: str) -> dict[str, str]:
    """The environment of a process with the network off, and with this workspace.

    `$REFUSED`, a file beside the workspace, gets the machines that were asked for all the same.
    Nothing in it speaks of pytest: marimo would take its cells for tests.
    """
    if home is not None:
        given = {"WORKBENCH_HOME": str(home), "REFUSED": str(home.parent / "refused"), **given}
    full = environment(**{"PYTHONPATH": f"{OFFLINE}{os.pathsep}{PROJECT}", **given})
    return {name: value for name, value in full.items() if not name.startswith("PYTEST_")}


def complaints(*paths: Path) -> str:
    """What `marimo check --strict` says of notebooks; "" where it is content."""
    done = _marimo("check", "--strict", *map(str, paths))
    return f"{done.out}{done.err}" if done.code else ""


def script(
    path: Path, home: Path, *options: str, folder: Path | None = None, **given: str
) -> Outcome:
    """`python NOTEBOOK OPTIONS`, from `folder` (default: the workspace's parent), with some
    variables of the environment given."""
    return _done([str(path), *options], offline(home, **given), folder or home.parent)


def ran(path: Path, home: Path, **defs: Any) -> dict[str, Any]:
    """The variables of a notebook after `app.run(defs=...)` in this process.

    A given variable replaces the whole cell that defines it. Raises what a cell raises.
    """
    with _as_a_script(path, home):
        spec = importlib.util.spec_from_file_location(f"_notebook_{path.stem}", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
            _, held = module.app.run(defs=defs or None)
            return dict(held)
        finally:
            del sys.modules[spec.name]


def drawn(held: Mapping[str, Any]) -> dict[str, go.Figure]:
    """The figures among a notebook's variables, each with data and a title; never none."""
    found = {name: one for name, one in held.items() if name.endswith("_figure")}
    assert found, "the notebook has no variable that ends in _figure"
    for name, figure in found.items():
        assert isinstance(figure, go.Figure), f"{name} is {type(figure).__name__}, no figure"
        _assert_shows(figure.to_plotly_json(), name)
    return found


def exported(path: Path, folder: Path) -> Path:
    """A notebook as an ipynb in `folder`, as `marimo export ipynb` makes it."""
    target = folder / f"{path.stem}.ipynb"
    done = _marimo("export", "ipynb", str(path), "-o", str(target), "--force")
    assert done.code == 0, done.err
    return target


def executed(ipynb: Path, home: Path, save: bool = False) -> Any:
    """An ipynb with its outputs, run by a Jupyter kernel in the ipynb's folder.

    Raises nbclient's CellExecutionError where a cell fails. `save` writes the outputs into it.
    """
    notebook = nbformat.read(ipynb, as_version=4)
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(ipynb.parent)}},
    )
    client.execute(env=offline(home))
    if save:
        nbformat.write(notebook, ipynb)
    return notebook


def made_again(path: Path, home: Path) -> list[list[str]]:
    """What differs in each of a file's figures when `workbench reproduce` makes it again."""
    told = reproduce(Workspace(home), path, find, makers())
    assert [one.identical for one in told] == [not one.differences for one in told]
    return [one.differences for one in told]


def plots(notebook: Any) -> list[dict[str, Any]]:
    """The plotly figures that cells of an executed ipynb put out, each with data; never none."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    found = [output["data"][PLOTLY] for output in outputs if PLOTLY in output.get("data", {})]
    assert found, "no cell of the notebook put out a plotly figure"
    for place, figure in enumerate(found):
        _assert_shows(figure, f"figure {place}")
    return found


def _assert_shows(figure: Mapping[str, Any], name: str) -> None:
    """Titles, and at least one trace with a value."""
    title = (figure["layout"].get("title") or {}).get("text")
    assert title, f"{name} has no title"
    assert any(_holds(trace) for trace in figure["data"]), f"{name} ({title}) shows no data"


def _holds(trace: Mapping[str, Any]) -> bool:
    held = [trace[name] for name in DATA if trace.get(name) is not None]
    # Binary arrays are {"dtype", "bdata"} in JSON; as python objects they have a length.
    return any(one.get("bdata", one) if isinstance(one, dict) else len(one) for one in held)


def _marimo(*arguments: str) -> Outcome:
    return _done(["-m", "marimo", *arguments], offline())


def _done(arguments: list[str], variables: dict[str, str], folder: Path | None = None) -> Outcome:
    done = subprocess.run(
        [sys.executable, *arguments],
        env=variables,
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextlib.contextmanager
def _as_a_script(path: Path, home: Path) -> Iterator[None]:
    """This process as a script's own: its arguments, its workspace, another folder, no pytest."""
    variables = {**os.environ}
    tests = {name for name in variables if name.startswith("PYTEST_")}
    arguments, sys.argv = sys.argv, [str(path)]
    try:
        os.environ["WORKBENCH_HOME"] = str(home)
        for name in tests:
            del os.environ[name]
        with contextlib.chdir(home.parent):
            yield
    finally:
        sys.argv = arguments
        os.environ.pop("WORKBENCH_HOME")
        os.environ.update(variables)
