"""The notebook on the reward model: what it shows, of simulated judgments and of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from notebooks import NOTEBOOKS, drawn, ran, script
from reward_model.loading import export_comparisons
from reward_model.ready import evaluations_of
from reward_model.schema import Comparison
from reward_model.scores import save_scores
from reward_model.simulate import SimulationOptions, simulate
from reward_model.store import open_comparisons, save_comparisons
from workbench.workspace import Workspace

PATH = NOTEBOOKS / "reward_coefficients.py"
FIGURES = {
    f"{name}_figure"
    for name in ("preference", "coefficients", "ablations", "selective", "calibration", "pair")
}

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a small simulated set in the default one's place."""
    folder = tmp_path_factory.mktemp("notebook") / "workspace"
    made = simulate(SimulationOptions(participants=30, comparisons=240, retest=10))
    kept = save_comparisons(Workspace(folder), "simulated", made.comparisons, "a test")
    save_scores(Workspace(folder), made.scores(kept.content))
    return folder


@pytest.fixture(scope="module")
def held(home: Path) -> dict[str, Any]:
    return ran(PATH, home)


def test_all_figures_are_there_and_marked_synthetic(held: dict[str, Any], home: Path) -> None:
    found = drawn(held)
    assert set(found) == FIGURES
    for name, figure in found.items():
        assert "SYNTHETIC DATA" in figure.layout.title.subtitle.text, name
        assert "SYNTHETIC DATA" in figure.layout.meta["caption"], name
    assert len(evaluations_of(Workspace(home), held["chosen"])) == 1


def test_the_pair_can_be_chosen(held: dict[str, Any], home: Path) -> None:
    other = held["chosen"].comparisons[3].id
    again = ran(PATH, home, pair_id=other)
    assert other in again["pair_figure"].layout.title.subtitle.text
    told = again["explained"]
    whole = told["intercept"] + sum(part["contribution"] for part in told["parts"])
    assert whole == pytest.approx(told["logit"])
    assert told["comparison"] == other
    # It was evaluated once: the second run of the notebook found that.
    assert len(evaluations_of(Workspace(home), held["chosen"])) == 1


def test_a_file_of_ones_own_is_fitted(home: Path, tmp_path: Path) -> None:
    made = [
        Comparison(
            id=f"own-{n}",
            participant=f"p{n % 6}",
            query="What shall I cook?",
            memories=("likes leeks",),
            with_memory="# Leeks\n\nSince you like leeks, roast them." if n % 4 else "Roast it.",
            without_memory="Cook rice. " * (n % 3 + 1),
            judgment="A much better" if n % 3 else "B much better",
        )
        for n in range(30)
    ]
    file = export_comparisons(made, tmp_path / "mine (1).csv")
    done = script(PATH, home, "--path", str(file), folder=tmp_path)
    assert done.code == 0, done.err
    own = open_comparisons(Workspace(home), "mine-1")
    assert len(own.comparisons) == len(made)
    [manifest] = evaluations_of(Workspace(home), own).values()
    assert manifest["identity"]["scorer"]["name"] == "offline"
