"""Every notebook that is shipped: content, whole as a script from anywhere, and under Jupyter.

What each one shows is its own test's affair; here none may be broken in the ways that notebooks
are: names defined twice, circles, cells that raise, files beside the author, gated cells that
never ran, figures without data, the network.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from nbclient.exceptions import CellExecutionError

from notebooks import (
    NOTEBOOKS,
    complaints,
    drawn,
    executed,
    exported,
    made_again,
    plots,
    ran,
    script,
    warm,
)
from reward_model.scores import save_scores
from reward_model.simulate import SimulationOptions, simulate
from reward_model.store import save_comparisons
from shell import PROJECT
from workbench.view import View, encode_view
from workbench.workspace import Workspace

SHIPPED = sorted(NOTEBOOKS.glob("[a-z]*.py"))
SMALL = PROJECT / "tests" / "data" / "notebooks" / "small.py"
FIRST_PICTURE = 10.0  # seconds of the processor, with the sample built

# How many figures each shows of the sample. What GRPO makes is not made yet.
FIGURES = {
    "case_studies": 4,
    "evidence_recall": 10,
    "lambda_alpha": 6,
    "memory_inspection": 5,
    "personalised_retrieval": 6,
    "reward_coefficients": 6,
}
# Options good and bad: what can't be used falls back with a word, and everything is shown.
OPTIONS = {
    "case_studies": ("--view", "view.json", "--lam", "0.9", "--k", "oops"),
    "evidence_recall": ("--lam", "0.55", "--k", "17", "--prior", "magic", "--embedder", "+x"),
    "lambda_alpha": ("--lam", "0.55", "--k", "17", "--prior", "magic", "--run", "none such"),
    "memory_inspection": ("--scope", "c9", "--user", "Nobody", "--dataset", "elsewhere"),
    "personalised_retrieval": ("--question", "nobody's"),
    "reward_coefficients": ("--judgments", "nothing"),
}

# A kernel, a script and the sample, on a busy machine.
pytestmark = pytest.mark.timeout(150)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, built, and a small set of judgments in the place of the simulated ones."""
    copy = tmp_path_factory.mktemp("shipped") / "home"
    # By another process: one that reads an SQLite file itself gives up its own locks on it.
    subprocess.run(["cp", "-r", warm(tmp_path_factory.getbasetemp()), copy], check=True)
    made = simulate(SimulationOptions(participants=30, comparisons=240, retest=10))
    kept = save_comparisons(Workspace(copy), "simulated", made.comparisons, "a test")
    save_scores(Workspace(copy), made.scores(kept.content))
    return copy


def test_each_of_the_notebooks_is_known() -> None:
    assert {path.stem for path in SHIPPED} == FIGURES.keys() == OPTIONS.keys()


def test_marimo_has_no_complaint() -> None:
    assert complaints(*SHIPPED) == ""


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_it_runs_as_a_script_from_another_folder(path: Path, home: Path, tmp_path: Path) -> None:
    """And what it draws first is there soon; with any options."""
    note = tmp_path / "first"
    (tmp_path / "view.json").write_bytes(encode_view(View(question="c2/1", retriever="ppro")))
    options = OPTIONS[path.stem]
    done = script(path, home, *options, folder=tmp_path, FIRST_PICTURE=str(note))
    assert done.code == 0, done.err
    assert done.err == ""
    assert float(note.read_text()) < FIRST_PICTURE
    assert not (home.parent / "refused").exists()  # it asked no other machine


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_its_figures_are_there_under_jupyter_and_made_again(
    path: Path, home: Path, tmp_path: Path
) -> None:
    """The file itself says how: nothing is known of it but its name."""
    ipynb = exported(path, tmp_path)
    made = executed(ipynb, home, save=True)
    outputs = [one for cell in made.cells for one in cell.get("outputs", [])]
    assert [one["text"] for one in outputs if one.get("name") == "stderr"] == []
    shown = plots(made)
    assert len(shown) == FIGURES[path.stem]
    assert all(one["layout"]["meta"]["caption"] for one in shown)
    assert made_again(ipynb, home) == [[]] * len(shown)


# ---------------------------------------------------------------- the checks find what is broken


def planted(folder: Path, *cells: str) -> Path:
    """A notebook of these cells; `figure_of(...)` draws a line, `mo` is marimo."""
    head = (
        "import marimo\n\n"
        '__generated_with = "0.25.2"\n'
        "app = marimo.App()\n\n"
        "with app.setup:\n"
        "    import marimo as mo\n"
        "    import plotly.graph_objects as go\n\n\n"
        "@app.function\n"
        "def figure_of(*values):\n"
        '    return go.Figure(go.Scatter(y=values), {"title": "Planted"})\n'
    )
    bodies = ["".join(f"    {line}\n" for line in cell.splitlines()) for cell in cells]
    path = folder / "planted.py"
    parts = [head, *(f"@app.cell\ndef _():\n{body}" for body in bodies)]
    foot = 'if __name__ == "__main__":\n    app.run()\n'
    path.write_text("\n\n".join([*parts, foot]), encoding="utf-8")
    return path


SOUND = "line_figure = figure_of(1, 2)\nline_figure"


def test_a_sound_notebook_passes_every_check(tmp_path: Path) -> None:
    """So that what the others find is the fault that was planted."""
    path = planted(tmp_path, SOUND)
    home = tmp_path / "home"
    assert "error" not in complaints(path)
    assert script(path, home).code == 0
    assert list(drawn(ran(path, home))) == ["line_figure"]
    assert len(plots(executed(exported(path, tmp_path), home))) == 1


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        (["for i in (1, 2):\n    print(i)", "for i in (3,):\n    print(i)"], "multiple"),
        (["a = b + 1", "b = a + 1"], "cycle"),
    ],
)
def test_names_defined_twice_and_circles_are_found(
    tmp_path: Path, cells: list[str], fault: str
) -> None:
    path = planted(tmp_path, *cells)
    assert fault in complaints(path).lower()
    assert script(path, tmp_path / "home").code != 0


@pytest.mark.parametrize(
    "cell",
    [
        "1 / 0",
        "open('planted.py').read()",  # it lies beside the notebook, not where that is run
        "import urllib.request\nurllib.request.urlopen('http://192.0.2.1/')",
        "import socket\nsocket.create_connection(('example.org', 80))",
    ],
)
def test_a_script_that_half_runs_is_found(tmp_path: Path, cell: str) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    assert script(planted(tmp_path, SOUND, cell), folder / "home").code == 1


def test_the_machine_that_was_asked_for_is_noted(tmp_path: Path) -> None:
    quiet = (
        "import contextlib, socket\n"
        "with contextlib.suppress(OSError):\n"
        "    socket.create_connection(('example.org', 80))"
    )
    assert script(planted(tmp_path, quiet), tmp_path / "home").code == 0
    assert (tmp_path / "refused").read_text().split() == ["example.org"]


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        (
            ["button = mo.ui.run_button()", "mo.stop(not button.value)\na_figure = figure_of(1)"],
            "no variable",
        ),
        (["a_figure = figure_of()"], "shows no data"),
        (["a_figure = go.Figure(go.Scatter(y=[1]))"], "no title"),
        (["a_figure = 'a picture'"], "is str"),
    ],
)
def test_a_figure_that_is_not_there_is_found(tmp_path: Path, cells: list[str], fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        drawn(ran(planted(tmp_path, *cells), tmp_path / "home"))


def test_a_cell_that_fails_under_jupyter_is_found(tmp_path: Path) -> None:
    path = exported(planted(tmp_path, SOUND, "1 / 0"), tmp_path)
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        executed(path, tmp_path / "home")


def test_given_values_replace_controls(home: Path) -> None:
    """And options do, where nothing is given."""
    few, many = (ran(SMALL, home, lam=lam) for lam in (0.0, 1.0))
    assert (few["lam"], many["lam"]) == (0.0, 1.0)
    lines: list[Any] = [list(drawn(one)["recall_figure"].data[1].y) for one in (few, many)]
    assert lines[0] != lines[1]
    assert script(SMALL, home, "--lam", "wrong").code == 0  # a word, and the default
