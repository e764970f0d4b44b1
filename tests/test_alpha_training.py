"""A training for every α on the tiny policy: kept one by one, told beside the questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from typer.testing import CliRunner

from tiny_policy import planted, tiny
from workbench.cli import app
from workbench.datasets import import_file
from workbench.errors import UsageError
from workbench.training import alphas, learn
from workbench.workspace import Workspace

RUNNER = CliRunner()
TRAINING = {
    "trl": {
        **{"learning_rate": 0.02, "lr_scheduler_type": "constant", "max_completion_length": 3},
        "per_device_train_batch_size": 16,
    },
    **{"lora": 0, "prompts": 2, "dtype": "float32", "validate_every": 3, "save_every": 3},
}


class Home(NamedTuple):
    root: Path
    model: Path
    config: Path

    def sweep(self, *options: str, mode: str = "train") -> Any:
        """The command over the planted data, at K = 1 and without a prior."""
        given = ["sweep", "alpha", "planted", "--mode", mode, "--prior", "none", "--lam", "1"]
        return RUNNER.invoke(
            app, [*given, "--k", "1", *options, "--workspace", str(self.root), "--json"]
        )

    def trained(self, *options: str) -> Any:
        own = ("--model", str(self.model), "--config", str(self.config), "--steps", "6")
        return self.sweep(*own, *options)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    folder = tmp_path_factory.mktemp("alphas")
    import_file(Workspace(folder / "ws"), planted(folder / "planted.jsonl"))
    config = folder / "training.json"
    config.write_text(json.dumps(TRAINING), encoding="utf-8")
    return Home(folder / "ws", tiny(folder / "tiny"), config)


def test_every_alpha_is_trained_once_and_a_stopped_sweep_goes_on(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, begun = learn.train, []

    def dies_at_the_second(workspace: Any, of: Any, options: Any, llm: Any = None) -> Any:
        begun.append(of.alpha)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return real(workspace, of, options, llm)

    monkeypatch.setattr(alphas, "train", dies_at_the_second)
    assert home.trained("--alpha", "0,1").exit_code == 130
    monkeypatch.setattr(alphas, "train", real)
    runs = Workspace(home.root).manifests("runs")
    [first] = [name for name, manifest in runs.items() if manifest["kind"] == "train"]

    done = home.trained("--alpha", "0,1")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["alphas"] == [0.0, 1.0] and told["split"] == "validation" and told["n"] == 6
    assert told["trainings"][0]["run"] == first  # the finished one was found, not made again
    assert told["trainings"][1]["run"] != first
    # No word of a question is in the turn that answers it but "in": chance finds 0 of 6 here.
    kept = pl.read_parquet(home.root / "runs" / told["run"] / "frame.parquet")
    asked = kept.filter(pl.col("metric") == "recall@1")["value"]
    assert told["identity"]["recall"] == pytest.approx(asked.mean()) and len(asked) == 6
    for place, cell in enumerate(told["trainings"]):
        report = runs_report(home, cell["run"])
        assert told["recall"][place] == report["best"]["recall"]["recall"]
        assert told["f1"][place] == max(one["f1"] for one in report["validations"])
        assert told["untrained"][place]["recall"] == report["validations"][0]["recall"]
        weights = Workspace(home.root).manifests("runs")[cell["run"]]["identity"]["trl"]
        assert weights["reward_weights"] == [1 - cell["alpha"], cell["alpha"]]
    assert "flatters" in told["is"] and told["best"]["is"] == told["is"]

    again = json.loads(home.trained("--alpha", "1,0").stdout)
    assert {**again, "seconds": 0} == {**told, "seconds": 0}


def runs_report(home: Home, run: str) -> dict[str, Any]:
    report: dict[str, Any] = Workspace(home.root).manifests("runs")[run]["report"]
    return report


@pytest.mark.parametrize(
    ("mode", "options", "said"),
    [
        ("train", ("--alpha", "0"), "needs --model"),
        ("train", ("--model", "x", "--candidates", "4"), "--candidates has no part"),
        ("train", ("--model", "x", "--alpha", "2"), "0..1"),
        ("train", ("--model", "x", "--alpha", ""), "no α"),
        ("landscape", ("--steps", "3"), "--steps has no part"),
        ("landscape", ("--fresh",), "--fresh has no part"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    home: Home, mode: str, options: tuple[str, ...], said: str
) -> None:
    done = home.sweep(*options, mode=mode)
    assert isinstance(done.exception, UsageError) and said in str(done.exception)


def test_the_curve_shows_every_alpha_and_the_questions_as_asked(home: Home) -> None:
    from workbench.figures import alpha_trainings
    from workbench.passport import passport_of
    from workbench.runs import load_run

    told = json.loads(home.trained("--alpha", "0,1").stdout)
    run = load_run(Workspace(home.root), told["run"])
    frame = pl.read_parquet(home.root / "runs" / run.id / "landscape.parquet")
    assert frame["series"].unique().sort().to_list() == [
        *("F1, as asked", "F1, trained", "recall@1, as asked", "recall@1, trained")
    ]
    drawn = alpha_trainings(frame, passport_of(run))
    assert "flatter" in drawn.layout.meta["caption"] and "gold" not in drawn.layout.meta["caption"]
