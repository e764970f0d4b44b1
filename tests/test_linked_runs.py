"""A saved view that names runs, or a part of a page, opens the same in a notebook."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from notebooks import NOTEBOOKS, drawn, made_again, ran, warm
from small_runs import recall_run
from workbench import Recipe, Workspace, open_banks
from workbench.attribution import of_recall
from workbench.case_answers import TELLING
from workbench.cells import Study
from workbench.embedders import open_embedder
from workbench.errors import UsageError
from workbench.linked_runs import Linked, linked_runs
from workbench.metrics import Plan
from workbench.notebook import Start, remarked
from workbench.recall import measure, save_recall
from workbench.report.sheets import spec
from workbench.runs import load_run
from workbench.sweep import lambda_sweep
from workbench.view import View

pytestmark = pytest.mark.timeout(150)


class Kept(NamedTuple):
    """A workspace of the sample, and ids of runs in it."""

    home: Path
    guided: str
    alone: str
    sweep: str
    hybrid: str


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    home = tmp_path_factory.mktemp("linked") / "home"
    subprocess.run(["cp", "-r", warm(tmp_path_factory.getbasetemp()), home], check=True)
    workspace = Workspace(home)
    banks = open_banks(workspace, "sample")
    plan = Plan(ks=(1, 5, 10))
    recipes = (Recipe(lam=0.6, k=10), Recipe(prior="none", lam=1.0, k=10))
    recalls = [save_recall(workspace, banks, measure(banks, one, plan)) for one in recipes]
    sweeps = [
        lambda_sweep(Study(workspace, banks), Recipe(retriever=one), (0.5,), (10,))["run"]
        for one in ("dense", "hybrid")
    ]
    return Kept(home, *recalls, *sweeps)


def linked(kept: Kept, kinds: Collection[str], **fields: Any) -> Linked:
    start = Start(Workspace(kept.home), View(**fields), open_embedder(), [])
    return linked_runs(start, kinds)


def opened(kept: Kept, name: str, found: Linked, view: str = "view", **more: Any) -> dict[str, Any]:
    """The variables of a notebook that starts from these runs."""
    start = found.start
    given = {"linked": found, "workspace": start.workspace, "embedder": start.embedder}
    given |= {"remarks": start.remarks, view: start.view}
    return ran(NOTEBOOKS / f"{name}.py", kept.home, **given, **more)


def written(drawn: dict[str, Any], path: Path) -> Path:
    """Some figures in a file, as an export holds them."""
    path.write_text(json.dumps({"figures": {name: spec(one) for name, one in drawn.items()}}))
    return path


def test_settings_are_those_of_the_run(kept: Kept) -> None:
    found = linked(kept, ("recall",), run=kept.guided[:9], lam=0.3, k=7, prior="random")
    assert (found.start.view.lam, found.start.view.prior) == (0.6, "profile")
    assert found.start.view.k == 7  # the run's own is how deep it measured
    assert found.run is not None and found.run.id == kept.guided and found.against is None
    assert found.start.remarks == []


def test_runs_that_cannot_be_shown_are_remarked(kept: Kept) -> None:
    """And one of other data is nothing to compare with."""
    toy = recall_run(Workspace(kept.home))
    cases = {
        ("none such", kept.alone): ["no run 'none such'", "is compared with no run"],
        (kept.sweep, ""): ["is one of λ sweep; here are shown: evidence recall"],
        (kept.guided, toy): ["is of toy, not of sample"],
        (toy, ""): ["is of toy, which is not here any more"],
        (kept.guided, "none such"): ["no run 'none such'"],
    }
    for (run, against), said in cases.items():
        found = linked(kept, ("recall",), run=run, against=against)
        remarks = found.start.remarks
        assert len(remarks) == len(said), remarks
        assert all(words in one for words, one in zip(said, remarks, strict=True)), remarks
        assert found.against is None


def test_an_id_of_several_runs_lists_them(kept: Kept) -> None:
    ids = (kept.guided, kept.alone, kept.sweep, kept.hybrid)
    first = max({one[0] for one in ids}, key=lambda start: sum(one[0] == start for one in ids))
    manifests = Workspace(kept.home).manifests("runs")
    meant = [one for one in manifests if one.startswith(first)]
    if len(meant) < 2:  # the ids share no beginning: make one that does
        Workspace(kept.home).publish("runs", f"{first}0", {}, {**manifests[meant[0]]})
        meant.append(f"{first}0")
    with pytest.raises(UsageError, match="is one of these meant") as raised:
        load_run(Workspace(kept.home), first)
    assert all(one in str(raised.value) for one in meant[:6])


def test_a_pair_opens_with_its_question(kept: Kept, tmp_path: Path) -> None:
    asked = "c1/12"
    found = linked(kept, ("recall",), run=kept.guided, against=kept.alone, question=asked, k=5)
    held = opened(kept, "evidence_recall", found)
    shown = {name: one for name, one in drawn(held).items() if name.startswith("kept_")}
    assert shown.keys() == {"kept_figure", "kept_difference_figure"}
    assert held["lam"] == pytest.approx(0.6)
    runs = [load_run(Workspace(kept.home), one) for one in (kept.guided, kept.alone)]
    at_5 = [run.frame.filter(metric="recall@5").sort("question") for run in runs]
    rows, gaps = held["pair_rows"], at_5[0]["value"] - at_5[1]["value"]
    assert rows["question"][0] == asked
    assert rows.sort("question")["difference"].to_list() == pytest.approx(gaps.to_list())
    assert rows["difference"][1:].abs().is_sorted(descending=True)
    curve = shown["kept_difference_figure"].data[-1]
    assert curve.y[list(curve.x).index(5)] == pytest.approx(gaps.mean())
    assert made_again(written(shown, tmp_path / "kept.json"), kept.home) == [[], []]


def test_a_sweep_opens_with_its_rival(kept: Kept, tmp_path: Path) -> None:
    found = linked(kept, ("sweep-lambda",), run=kept.hybrid, against=kept.sweep, k=10)
    held = opened(kept, "lambda_alpha", found)
    assert held["retriever"] == "hybrid"
    assert set(held["kept_beside"]) == {kept.hybrid, kept.sweep}
    figure = held["sweeps_figure"]
    surface = pl.read_parquet(kept.home / "runs" / kept.sweep / "surface.parquet")
    wanted = surface.filter(pl.col("k") == 10).sort("lam")["mean"].to_list()
    assert any(list(line.y) == pytest.approx(wanted) for line in figure.data if len(line.y) == 2)
    assert made_again(written({"sweeps": figure}, tmp_path / "one.json"), kept.home) == [[]]


def test_a_case_is_chosen_by_its_class_and_told_by_both_runs(kept: Kept) -> None:
    lost = "in memory, not retrieved"
    found = linked(kept, TELLING, run=kept.guided, against=kept.alone, lost=lost)
    held = opened(kept, "case_studies", found, "sane")
    banks = open_banks(Workspace(kept.home), "sample")
    classes = of_recall(load_run(Workspace(kept.home), kept.guided), banks).frame
    wanted = classes.filter(pl.col("class") == lost)["question"].to_list()
    assert (held["rule"], held["lost"]) == ("lost", lost)
    assert set(held["cases"]["question"]) == set(wanted) and held["case"] in wanted
    told = held["told_rows"]
    assert told["run"].to_list() == ["prior profile, λ = 0.6", "prior none"]
    assert told["class"][0] == lost
    assert "What was answered" in held["card_page"] and lost in held["card_page"]


def test_a_part_of_a_page_is_linked_or_remarked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.notebook.attended", lambda: True)
    parts = {"map": "A map of the memories"}
    assert 'href="#a-map-of-the-memories"' in remarked([], "map", parts).text
    said = remarked([], "<b>", parts).text
    assert "not carried over from the view: section '<b>'" in unescape(unescape(said))
    assert "<b>" not in said
    assert remarked([], "", parts) is None
