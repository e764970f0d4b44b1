"""SVG and its passport; figures of notebooks and of single questions made again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from notebooks import PLOTLY, warm
from shell import PROJECT, workbench
from small_runs import HOSTILE, PASSPORT, recall_run
from workbench import Recipe, figures, open_banks, report
from workbench.ask import ask
from workbench.errors import DataError, UsageError
from workbench.passport import passport_of
from workbench.report import pictures
from workbench.report.asked import findings_of_question
from workbench.report.estimates import at_cutoffs, estimates
from workbench.report.sheets import spec
from workbench.runs import load_run
from workbench.workspace import Workspace

# The first test to need it builds the sample, on a busy machine.
pytestmark = pytest.mark.timeout(150)

DRAWING = b'<svg class="main-svg" width="1000"><g id="a1"><text>Title &lt;b&gt;</text></g></svg>'


@pytest.fixture
def fake_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_drawn", lambda figure, kind: DRAWING)


@pytest.mark.usefixtures("fake_browser")
def test_an_svg_carries_title_caption_and_passport(workspace: Workspace) -> None:
    figure = report.findings(workspace, recall_run(workspace, HOSTILE)).figures["categories"]
    made = report.svg(figure, "dark")
    opening, rest = DRAWING.split(b">", 1)
    assert made.startswith(opening + b"><title>Evidence recall@5 by category</title><desc>")
    assert made.endswith(rest)
    said = pictures.read_metadata(made)
    assert (said["name"], said["mode"], said["passport"]["n"]) == ("categories", "dark", 6)
    assert said["caption"] == figure.layout.meta["caption"]
    assert pictures.svg_sha256(made) == said["drawing"]


@pytest.mark.usefixtures("fake_browser")
def test_what_an_svg_says_is_text(workspace: Workspace) -> None:
    """Names in a passport and a title may be anybody's: no element and no attribute of theirs."""
    figure = report.findings(workspace, recall_run(workspace)).figures["recall"]
    meta = {**figure.layout.meta, "caption": HOSTILE, "figure": f"]]>{HOSTILE}"}
    figure.update_layout(meta=meta, title_text="K<sub>E</sub> of &lt;img src=x&gt;")
    made = report.svg(figure).decode()
    assert re.findall(r"<(\w+)", made) == ["svg", "title", "desc", "metadata", "g", "text"]
    assert "<title>KE of &lt;img src=x&gt;</title>" in made
    assert pictures.read_metadata(made.encode())["figure"] == f"]]>{HOSTILE}"


@pytest.mark.usefixtures("fake_browser")
def test_an_svg_is_made_again_or_found_out(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "recall.svg"
    path.write_bytes(
        report.svg(report.findings(workspace, recall_run(workspace)).figures["recall"])
    )
    [found] = report.reproduce(workspace, path)
    assert found.identical
    path.write_bytes(path.read_bytes().replace(b"Title", b"Tithe"))
    [found] = report.reproduce(workspace, path)
    assert found.differences == ["the picture was changed after it was exported"]


@pytest.mark.parametrize(
    "text",
    [
        "<svg></svg>",
        '<svg><title></title><desc></desc><metadata id="workbench">{</metadata></svg>',
        '<svg><title></title><desc></desc><metadata id="workbench">[]</metadata></svg>',
        '<svg><title></title><desc></desc><metadata id="workbench">{}</metadata></svg>',
        '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]><svg>&a;</svg>',
    ],
)
def test_foreign_svgs_are_refused(workspace: Workspace, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.svg"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"passport|holds no figures"):
        report.reproduce(workspace, path)


# ---------------------------------------------------------------- of notebooks


def notebook(path: Path, *drawn: dict[str, Any]) -> Path:
    """An executed ipynb with these figures among its outputs."""
    outputs = [{"output_type": "display_data", "data": {PLOTLY: one}} for one in drawn]
    cells = [{"cell_type": "markdown"}, {"cell_type": "code", "outputs": outputs}]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}), encoding="utf-8")
    return path


def test_a_notebooks_figures_are_made_again(workspace: Workspace, tmp_path: Path) -> None:
    """They have no name among a run's figures: the function that drew them tells which it is."""
    run = load_run(workspace, recall_run(workspace))
    passport = passport_of(run)
    parts = estimates(at_cutoffs(run.frame), ["measure", "category", "k"], passport)
    dots = parts.filter(measure="recall", k=5).sort("category")
    same = spec(figures.category_dots(dots, passport, "Evidence recall@5"))
    other = spec(figures.category_dots(dots.with_columns(mean=0.25), passport, "Evidence recall@5"))
    lost = spec(figures.category_dots(dots, PASSPORT, "F1"))
    foreign: dict[str, Any] = {"data": [], "layout": {}}
    path = notebook(tmp_path / "x.ipynb", {"config": {}, **same}, other, lost, foreign)
    found = report.reproduce(workspace, path)
    assert [one.figure for one in found] == ["category_dots"] * 3
    assert [one.identical for one in found] == [True, False, False]
    assert all(place.startswith("data[0].") for place in found[1].differences)
    assert "no run" in found[2].differences[0]
    alone = tmp_path / "one.json"
    alone.write_text(json.dumps(same), encoding="utf-8")
    assert [one.identical for one in report.reproduce(workspace, alone)] == [True]
    with pytest.raises(UsageError, match="no run"):
        report.reproduce(workspace, notebook(tmp_path / "y.ipynb", lost))
    with pytest.raises(DataError, match="carries no figure"):
        report.reproduce(workspace, notebook(tmp_path / "z.ipynb", foreign))


# ---------------------------------------------------------------- of single questions


@pytest.mark.parametrize(
    ("asked", "user"),
    [("c1/10", None), ("c1/10", "c1/Nadia"), ("What am I training for?", "c2/Efua")],
)
def test_a_question_is_asked_again(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, asked: str, user: str | None
) -> None:
    workspace = Workspace(warm(tmp_path_factory.getbasetemp()))
    told = ask(open_banks(workspace, "sample"), asked, Recipe(lam=0.7, k=5), user)
    path = tmp_path / "asked.json"
    path.write_text(report.json_text(findings_of_question(told, "sample")), encoding="utf-8")
    [found] = report.reproduce(workspace, path)
    assert found.identical, found.differences
    path.write_text(path.read_text().replace('"lam": 0.7', '"lam": 0.2'), encoding="utf-8")
    [found] = report.reproduce(workspace, path)
    assert not found.identical


def test_an_svg_without_a_browser_says_what_to_do(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    run = recall_run(workspace)
    done = workbench(
        workspace.root, "export", run, "--to", "x.svg", PATH=str(tmp_path), BROWSER_PATH=""
    )
    assert done.code == 2
    assert "SVG need Chromium" in done.err


def test_the_readmes_pictures_are_ours() -> None:
    named = re.findall(
        r"!\[[^]]+\]\((\.pictures/[^)]+)\)", (PROJECT / "README.md").read_text("utf-8")
    )
    assert len(named) == 3
    held = {Path(name).stem: (PROJECT / name).read_bytes() for name in named}
    for name, kind in (("lambda", "sweep-lambda"), ("reward", "reward-evaluate")):
        said = pictures.read_text(held[name])
        assert said["passport"]["kind"] == kind
        assert said["pixels"] == pictures.pixels_sha256(held[name])
