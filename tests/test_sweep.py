"""Sweeps: the one-pass kernel against recall at each λ, what a surface means, cells, grids, CLI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from halls import SCOPES, hall, study
from rooms import bank, random_shelf
from shell import report as told
from shell import workbench, write_rows
from workbench.cli import app
from workbench.errors import DataError, UsageError
from workbench.grids import ablation_sweep, control_sweep, layer_sweep
from workbench.lambda_surface import LambdaSurface
from workbench.recall import measure_recall, recall
from workbench.runs import load_run
from workbench.schema import Question, Recipe
from workbench.settings import verdict
from workbench.shelf import Query, Shelf
from workbench.surface import RankTable, Task, evidence_ranks_by_lambda
from workbench.sweep import lambda_sweep
from workbench.workspace import Workspace

PRIORS = ("profile", "facts", "centroid:turns", "speaker")
CONTROLS = ("other-user", "everyone:facts", "shuffled:facts", "random")
LAMS = (0.0, 0.05, 0.3, 0.5, 0.8, 0.95, 1.0)


def ranks_by_recall(recipe: Recipe, lam: float) -> list[int]:
    """Evidence ranks as `recall` measures them, question by question; 0 where not found."""
    banks = hall()
    asked = [q for q in banks.dataset.questions if q.gold.evidence]
    measured, _, _ = measure_recall(banks, asked, replace(recipe, lam=lam))
    return [rank or 0 for question in measured for rank in question.ranks]


# ---------------------------------------------------------------- the kernel


@pytest.mark.parametrize("retriever", ["dense", "hybrid", "ppro"])
@pytest.mark.parametrize("prior", [*PRIORS, *CONTROLS])
def test_one_pass_equals_recall_at_every_lambda_ties_included(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retriever: str, prior: str
) -> None:
    recipe = Recipe(retriever=retriever, prior=prior, threshold=0.1, centred=prior == "profile")
    expected = [ranks_by_recall(recipe, lam) for lam in LAMS]
    monkeypatch.setattr("workbench.blend.score", None)  # the one pass never asks it
    table = study(tmp_path).ranks(recipe, LAMS)
    assert table.ranks.T.tolist() == expected
    assert len({tuple(column) for column in expected}) > 3


@pytest.mark.parametrize(
    "changes",
    [{"neighbours": 0.4}, {"speaker": 0.3, "retriever": "hybrid"}, {"retriever": "lexical"}],
)
def test_an_ingredient_that_the_one_pass_does_not_know_is_as_exact(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    recipe = replace(Recipe(prior="facts"), **changes)
    table = study(tmp_path).ranks(recipe, LAMS)
    assert table.ranks.T.tolist() == [ranks_by_recall(recipe, lam) for lam in LAMS]


def test_the_hall_has_ties() -> None:
    shelf = hall().shelf("s1")
    scores = np.round(shelf.bank.cosines(shelf.bank.vectors[0])[0], 6)
    assert len(np.unique(scores)) < len(scores) / 2


def by_hand(memories: Any, asked: Any, profile: Any, evidence: tuple[str, ...]) -> Task:
    """One question, its prior the centroid of a bank of one vector."""
    built = bank(memories)
    shelf = Shelf(
        scope="s",
        bank=built,
        semantic=bank([[1, 0]]),
        sources={"other": bank([profile])},
        positions={m.id: i for i, m in enumerate(built.memories)},
    )
    query = Query("?", np.asarray(asked, np.float32))
    lams = (0.0, 0.4, 0.5, 0.6, 1.0)
    return Task(shelf, (query,), (evidence,), Recipe(prior="centroid:other"), lams)


def test_ranks_by_hand_cross_where_lambda_is_a_half_and_a_tie_goes_to_the_lower_id() -> None:
    """m0 = query, m1 = prior at a right angle: score of m0 is λ, of m1 1 - λ, but for |z|."""
    task = by_hand([[1, 0], [0, 1]], [1, 0], [0, 1], ("m1", "m0"))
    assert evidence_ranks_by_lambda(task).tolist() == [[1, 1, 2, 2, 2], [2, 2, 1, 1, 1]]


def test_a_turn_is_found_by_the_first_memory_that_holds_it_and_an_unheld_one_never() -> None:
    shelf = random_shelf()
    assert shelf.bank.memories[0].sources == ("m000",)
    shelf.positions["never remembered"] = 99
    query = Query("word1", shelf.bank.vectors[0], ("Ana",))
    found = evidence_ranks_by_lambda(
        Task(shelf, (query,), (("m000", "never remembered"),), Recipe(prior="none"), (1.0,))
    )
    assert found.tolist() == [[1], [0]]


def test_evidence_that_is_no_turn_is_an_error() -> None:
    task = by_hand([[1, 0], [0, 1]], [1, 0], [0, 1], ("session 3",))
    with pytest.raises(DataError, match="session 3"):
        evidence_ranks_by_lambda(task)


def test_recall_from_ranks_by_hand() -> None:
    """One question with one piece of evidence at rank 2, one with pieces at 1, 5 and nowhere."""
    table = RankTable(np.array([[2], [1], [5], [0]], np.int32), np.array([1, 3]))
    found = table.recall([1, 2, 4, 5])[:, 0]
    assert found[0].tolist() == [0, 1, 1, 1]
    assert found[1] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 3])


# ---------------------------------------------------------------- what a surface means


def surface(values: Any, people: tuple[tuple[str, ...], ...] = (), copies: int = 1) -> Any:
    """A surface of (questions, λ) values at K = 1; questions alternate between two scopes."""
    grid = np.repeat(np.asarray(values, np.float64), copies, axis=0)
    names = [f"c{i % 2}" for i in range(len(grid))]
    people = people or (("Ana",),) * len(grid)
    asked = [
        Question(id=str(i), scope=names[i], text="?", people=people[i]) for i in range(len(grid))
    ]
    made = SimpleNamespace(questions=asked, clusters=names, seed=0, level=0.95)
    lams = tuple(np.linspace(0, 1, grid.shape[1]).tolist())
    return LambdaSurface(made, lams, grid[:, :, None])  # type: ignore[arg-type]


def test_best_is_the_highest_mean_and_of_equal_ones_the_nearest_to_the_query() -> None:
    found = surface([[0, 1, 1, 0.5, 0], [0, 0, 0, 0.5, 0]])
    assert found.grid[found.best(1)] == 0.75
    assert surface([[1, 1, 0], [0, 0, 0]]).best(1) == 1
    flat = surface([[1, 1, 1], [0, 0, 0]])
    assert (flat.best(1), flat.rival(1)) == (2, 1)


def test_the_rival_is_tested_against_query_only() -> None:
    """Four questions gain .5, one loses 1 at λ = .5: +.2 in the mean. p is the share of the 32
    ways to sign these five changes whose sum is at least as far from 0 as theirs, 1."""
    rows = [[0, 1, 0.5]] * 4 + [[0, 0, 1]]
    test = surface(rows).test(1)
    assert test["lam"] == 0.5
    assert test["difference"] == pytest.approx(0.2)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1)
    reached = np.abs(np.array([0.5, 0.5, 0.5, 0.5, -1]) @ signs) >= 1
    assert test["p"] == pytest.approx(reached.mean())
    assert test["p_bonferroni"] == pytest.approx(min(1, 2 * reached.mean()))
    assert test["interval"][0] < 0.2 < test["interval"][1]


def test_harm_is_counted_in_questions_and_in_users() -> None:
    """λ = 0 harms question 1, helps 0 and 2. Scope c0 has questions 0 and 2 (Ana), c1 has 1 (Bo)
    and 3 (both): Bo's mean falls, Ana of c1 is untouched, Ana of c0 gains."""
    rows = [[1, 0], [0, 1], [1, 0], [1, 1]]
    found = surface(rows, (("Ana",), ("Bo",), ("Ana",), ("Ana", "Bo"))).harmed(1)
    assert (found["questions"], found["helped_questions"]) == (0.25, 0.5)
    assert found["n_users"] == 3
    assert found["users"] == pytest.approx(1 / 3)
    assert found["helped_users"] == pytest.approx(1 / 3)
    assert found["by_lam"]["questions"] == [0.25, 0]


def test_the_plateau_holds_what_is_shown_to_be_within_a_point() -> None:
    """A setting half a point below the best, noisily: with few questions it may be more than a
    point below, with many it is shown not to be; one two points below is out either way."""
    rng = np.random.default_rng(0)
    noise = rng.choice([-1.0, 0.0, 1.0], (400, 1), p=[0.02, 0.96, 0.02])
    noise -= noise.mean()
    near, far = 0.5 + noise - 0.005, np.full((400, 1), 0.48)
    values = np.clip(np.hstack([far, near, np.full((400, 1), 0.5)]), 0, 1)
    assert surface(values).plateau(1) == (1.0, 1.0)
    assert surface(values, copies=40).plateau(1) == (0.5, 1.0)


def test_the_plateau_is_one_range_around_the_best_and_holds_what_ranks_alike() -> None:
    rows = [[1, 0, 1, 1], [0, 0, 0, 0], [0.5, 0, 0.5, 0.5]]
    assert surface(rows).plateau(1) == pytest.approx((2 / 3, 1))


def test_the_whole_report_agrees_with_recall(tmp_path: Path) -> None:
    made, recipe = study(tmp_path), Recipe(prior="facts", retriever="dense")
    report = lambda_sweep(made, recipe, (0.0, 0.3, 0.8), ks=(5, 1), depth=30)
    assert report["lams"] == [0.0, 0.3, 0.8, 1.0]
    assert report["n"] == 36
    assert report["excluded"] == {"abstention": 1, "without evidence": 1}
    for place, lam in enumerate(report["lams"]):
        single = recall(made.banks, replace(recipe, lam=lam), (1, 5))
        for k in ("1", "5"):
            assert report["recall"][k][place] == pytest.approx(single["recall"][k], abs=1e-12)
            low, high = report["interval"][k][place]
            assert low <= report["recall"][k][place] <= high
    run = load_run(made.workspace, report["run"])
    folder = made.workspace.folder("runs", run.id)
    whole = pl.read_parquet(folder / "surface.parquet")
    assert whole.columns == ["lam", "k", "mean", "lo", "hi"]
    assert len(whole) == 4 * 30
    picked = whole.filter((pl.col("lam") == 0.3) & (pl.col("k") == 5))["mean"].item()
    assert picked == pytest.approx(report["recall"]["5"][1])
    means = run.frame.group_by("metric").agg(pl.col("value").mean())
    place = report["lams"].index(report["frame_lam"])
    assert dict(means.iter_rows()) == pytest.approx(
        {f"recall@{k}": report["recall"][str(k)][place] for k in (1, 5)}
    )
    assert run.manifest["n"] == 36 and run.manifest["report"]["best"] == report["best"]


def test_a_sweep_repeated_is_the_same_run(tmp_path: Path) -> None:
    recipe = Recipe(prior="profile")
    first, second = (
        lambda_sweep(study(tmp_path / name), recipe, ks=(5,), depth=10) for name in "ab"
    )
    del first["seconds"], second["seconds"]
    assert first == second
    other = lambda_sweep(study(tmp_path / "a"), recipe, (0.5,), ks=(5,), depth=10)
    assert other["run"] != first["run"]


@pytest.mark.parametrize(
    ("recipe", "lams", "why"),
    [
        (Recipe(prior="none"), (0.5,), "--prior none"),
        (Recipe(retriever="lexical"), (0.5,), "--retriever lexical"),
        (Recipe(), (1.0,), "below 1"),
        (Recipe(), (0.5, 1.2), "0..1"),
        (Recipe(prior="magic"), (0.5,), "magic"),
    ],
)
def test_sweeps_of_nothing_are_refused(
    tmp_path: Path, recipe: Recipe, lams: tuple[float, ...], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        lambda_sweep(study(tmp_path), recipe, lams)


# ---------------------------------------------------------------- cells


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The scopes that the kernel was asked for."""
    seen: list[str] = []

    def watched(task: Task) -> Any:
        seen.append(task.shelf.scope)
        return evidence_ranks_by_lambda(task)

    monkeypatch.setattr("workbench.cells.evidence_ranks_by_lambda", watched)
    yield seen


def test_cells_are_worked_out_once_and_by_content(tmp_path: Path, worked: list[str]) -> None:
    first = study(tmp_path).ranks(Recipe(prior="facts"), LAMS)
    assert worked == list(SCOPES)
    again = study(tmp_path).ranks(Recipe(prior="facts", lam=0.2, seed=0), LAMS)
    assert worked == list(SCOPES)
    assert np.array_equal(first.ranks, again.ranks)
    study(tmp_path).ranks(Recipe(prior="facts"), (0.5,))
    study(tmp_path).ranks(Recipe(prior="profile"), LAMS)
    assert worked == [*SCOPES] * 3


def test_a_question_that_changes_costs_its_own_scope_only(
    tmp_path: Path, worked: list[str]
) -> None:
    made = study(tmp_path)
    made.ranks(Recipe(), LAMS)
    other = study(tmp_path)
    changed = [replace(q, people=("Bo",)) if q.id == "s3/0" else q for q in other.questions]
    other.__dict__["questions"] = changed
    other.ranks(Recipe(), LAMS)
    assert worked == [*SCOPES, "s3"]


def test_a_sweep_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def dies_at_third(task: Task) -> Any:
        seen.append(task.shelf.scope)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return evidence_ranks_by_lambda(task)

    monkeypatch.setattr("workbench.cells.evidence_ranks_by_lambda", dies_at_third)
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path).ranks(Recipe(), LAMS)
    table = study(tmp_path).ranks(Recipe(), LAMS)
    assert seen == ["s1", "s2", "s3", "s3", "s4"]
    fresh = study(tmp_path / "other").ranks(Recipe(), LAMS)
    assert np.array_equal(table.ranks, fresh.ranks)


@pytest.mark.parametrize("damage", [b"", b"\0" * 99])
def test_a_damaged_cell_is_a_miss(tmp_path: Path, worked: list[str], damage: bytes) -> None:
    first = study(tmp_path).ranks(Recipe(), LAMS)
    cells = sorted(p for p in (tmp_path / "cache" / "cells").rglob("*") if p.is_file())
    assert len(cells) == len(SCOPES)
    cells[0].write_bytes(damage)
    whole = bytearray(cells[1].read_bytes())
    whole[-1] ^= 1
    cells[1].write_bytes(whole)
    again = study(tmp_path).ranks(Recipe(), LAMS)
    assert len(worked) == len(SCOPES) + 2
    assert np.array_equal(first.ranks, again.ranks)


# ---------------------------------------------------------------- layers, ablations, controls


def test_layers_are_the_union_that_recall_reports(tmp_path: Path) -> None:
    made = study(tmp_path)
    recipe = Recipe(retriever="ppro", prior="profile", boost=0.0)
    report = layer_sweep(made, recipe, [3, 10], [2, 0])
    assert (report["k_semantic"], report["k_episodic"]) == ([0, 2], [3, 10])
    single = recall(made.banks, replace(recipe, k_semantic=2), (3, 10))
    alone, both = single["recall"], single["with_semantic"]["recall"]
    assert report["recall"][0] == pytest.approx([alone["3"], alone["10"]])
    assert report["recall"][1] == pytest.approx([both["3"], both["10"]])
    assert both["3"] > alone["3"]
    folder = made.workspace.folder("runs", report["run"])
    frame = pl.read_parquet(folder / "layers.parquet")
    assert frame.columns == ["k_episodic", "k_semantic", "mean", "lo", "hi"]
    corner = frame.row(by_predicate=(pl.col("k_episodic") == 10) & (pl.col("k_semantic") == 2))
    assert corner[2] == pytest.approx(both["10"])
    with pytest.raises(UsageError, match="K_E"):
        layer_sweep(made, recipe, [0], [1])


def test_ablations_take_away_what_a_recipe_has(tmp_path: Path) -> None:
    made = study(tmp_path)
    recipe = Recipe(
        retriever="hybrid", prior="facts", lam=0.6, neighbours=0.3, speaker=0.4, centred=True
    )
    report = ablation_sweep(made, recipe, (3, 10))
    without = {
        "whole": {},
        "without prior": {"prior": "none"},
        "without lexical": {"lexical_weight": 0.0},
        "without dense": {"retriever": "lexical"},
        "without neighbours": {"neighbours": 0.0},
        "without speaker": {"speaker": 0.0},
        "without centring": {"centred": False},
    }
    assert [row["setting"] for row in report["rows"]] == list(without)
    means = {}
    for row, changes in zip(report["rows"], without.values(), strict=True):
        single = recall(made.banks, replace(recipe, **changes), (3, 10))["recall"]
        assert row["recall"] == pytest.approx(single)
        means[row["setting"]] = single
    assert len({tuple(mean.values()) for mean in means.values()}) == len(means)
    tests = [row["test"][k] for row in report["rows"][1:] for k in ("3", "10")]
    for row in report["rows"][1:]:
        gap = means[row["setting"]]["10"] - means["whole"]["10"]
        assert row["test"]["10"]["difference"] == pytest.approx(gap)
    # Holm by hand: the least p times the number of tests.
    least = min(tests, key=lambda test: test["p"])
    assert least["p_holm"] == pytest.approx(min(1, 12 * least["p"]))
    frame = pl.read_parquet(made.workspace.folder("runs", report["run"]) / "settings.parquet")
    assert frame.columns[:6] == ["setting", "k", "mean", "lo", "hi", "n"]
    assert frame["p_holm"].null_count() == 2


def test_the_dual_path_loses_its_layers_and_its_dimensions(tmp_path: Path) -> None:
    made = study(tmp_path)
    recipe = Recipe(retriever="ppro", prior="profile", k_semantic=2, threshold=0.2)
    rows = {
        row["setting"]: row["recall"]["5"] for row in ablation_sweep(made, recipe, (5,))["rows"]
    }
    whole = recall(made.banks, recipe, (5,))
    assert rows["whole"] == pytest.approx(whole["with_semantic"]["recall"]["5"])
    assert rows["without semantic"] == pytest.approx(whole["recall"]["5"])
    nothing = recall(made.banks, replace(recipe, threshold=2.0), (5,))
    assert rows["without episodic"] == pytest.approx(nothing["with_semantic"]["recall"]["5"])
    free = recall(made.banks, replace(recipe, threshold=-1.0), (5,))
    assert rows["without threshold"] == pytest.approx(free["with_semantic"]["recall"]["5"])
    assert set(rows) == {
        "whole",
        *(
            f"without {what}"
            for what in ("prior", "dimensions", "threshold", "semantic", "episodic")
        ),
    }


def test_plain_retrieval_has_nothing_to_take_away(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to take away"):
        ablation_sweep(study(tmp_path), Recipe(prior="none"))


@pytest.mark.parametrize(("prior", "inner"), [("facts", "facts"), ("profile", "profile")])
def test_controls_repeat_the_prior_s_rule_at_its_lambda(
    tmp_path: Path, prior: str, inner: str
) -> None:
    made, recipe = study(tmp_path), Recipe(prior=prior, lam=0.4)
    report = control_sweep(made, recipe, (5,))
    names = ["none", f"other-user:{inner}", f"everyone:{inner}", f"shuffled:{inner}", "random"]
    assert [row["recipe"]["prior"] for row in report["rows"]] == [prior, *names]
    for row in report["rows"]:
        asked = replace(recipe, prior=row["recipe"]["prior"])
        assert row["recall"] == pytest.approx(recall(made.banks, asked, (5,))["recall"])
    assert "recall@5" in report["verdict"]


@pytest.mark.parametrize(
    "recipe",
    [Recipe(prior="none"), Recipe(prior="everyone"), Recipe(lam=1.0), Recipe(prior="speaker")],
)
def test_a_prior_that_is_none_or_a_control_has_no_controls(tmp_path: Path, recipe: Recipe) -> None:
    with pytest.raises(UsageError, match="controls need"):
        control_sweep(study(tmp_path), recipe)


@pytest.mark.parametrize(
    ("none", "controls", "begins"),
    [
        ((-0.05, 0.001), (-0.04, 0.001), "Personalisation: +5.0 points of recall@25"),
        ((-0.05, 0.001), (-0.001, 0.9), "Query expansion, not personalisation: +5.0 points"),
        ((-0.005, 0.4), (-0.04, 0.001), "No gain is shown (+0.5 points"),
        ((0.03, 0.001), (0.01, 0.001), "No gain: the prior costs recall (-3.0 points"),
    ],
)
def test_the_verdict_by_hand(
    none: tuple[float, float], controls: tuple[float, float], begins: str
) -> None:
    def row(name: str, difference: float, p: float) -> dict[str, Any]:
        ends = {"difference_lo": difference - 0.009, "difference_hi": difference + 0.009}
        return {"setting": name, "k": 25, "difference": difference, "p_holm": p, **ends}

    rows = [{"setting": "facts", "k": 25}, row("none", *none)]
    rows += [row(name, *controls) for name in ("other-user", "everyone", "shuffled", "random")]
    assert verdict(rows, 0.05).startswith(begins)
    rows[-1] = row("random", -0.001, 0.9)
    if begins.startswith("Personalisation"):
        found = verdict(rows, 0.05)
        assert found.startswith("Not shown to be personalisation") and "but random as well" in found


# ---------------------------------------------------------------- the commands


NOTES = [
    {"scope": scope, "id": f"{scope}{place}", "speaker": person, "text": text}
    for scope, person, texts in (
        ("a", "Ana", ("I am a nurse", "I love climbing in the Alps", "My dog is ill", "It rained")),
        ("b", "Bo", ("I play the cello", "I hate early mornings", "My sister moved to Lima")),
    )
    for place, text in enumerate(texts)
]
ASKED = [
    {"kind": "question", "id": f"q{place}", "scope": turn[0], "text": text, "evidence": [turn]}
    for place, (turn, text) in enumerate(
        (("a0", "What is Ana's job?"), ("a2", "Who is ill?"), ("b2", "Where does her sister live?"))
    )
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweeps")
    told(folder / "workspace", "import", str(write_rows(folder / "notes.jsonl", [*NOTES, *ASKED])))
    return folder / "workspace"


def test_the_lambda_sweep_as_its_users_run_it(home: Path) -> None:
    swept = told(home, "sweep", "lambda", "notes", "--prior", "speaker", "--lam", "0:1:0.25")
    assert swept["lams"] == [0, 0.25, 0.5, 0.75, 1]
    alone = told(home, "recall", "notes", "--prior", "none", "--k", "1,25")
    for k in ("1", "25"):
        assert swept["recall"][k][-1] == pytest.approx(alone["recall"][k], abs=1e-12)
    assert swept["n"] == alone["n"] == 3
    assert {"run", "best", "plateau", "test_vs_query_only", "harmed", "seconds"} < set(swept)
    low, high = swept["plateau"]["1"]
    assert low <= swept["best"]["1"]["lam"] <= high
    assert load_run(Workspace(home), swept["run"]).manifest["kind"] == "sweep-lambda"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("lambda", "--k", "5", "--lam", "0,0.5"), ("against query only", "plateau", "of 8 users")),
        (("layers", "--retriever", "ppro", "--k-episodic", "5,9"), ("K_E = 9", "K_S")),
        (("ablation", "--retriever", "hybrid", "--k", "3,5"), ("without lexical", "p (Holm)")),
        (("controls", "--prior", "facts", "--split", "test"), ("everyone", "recall@25")),
    ],
)
def test_the_tables_for_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Any, expected: tuple[str, ...]
) -> None:
    """In this process, on the hall; the JSON of the same command holds the same run."""
    monkeypatch.setattr("workbench.library.open_banks", lambda *given: hall())
    monkeypatch.setenv("COLUMNS", "300")
    name, *options = command
    arguments = ["sweep", name, "hall", *options, "--workspace", str(tmp_path / "w")]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    for text in (*expected, "excluded: "):
        assert text in found.stdout
    document = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert document["run"] in found.stdout
    assert document["n"] == (18 if "test" in options else 36)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("lambda", "notes", "--lam", "0:1"), "FIRST:LAST:STEP"),
        (("layers", "notes", "--k-semantic", "-1"), "--k-semantic"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(
    home: Path, arguments: tuple[str, ...], why: str
) -> None:
    outcome = workbench(home, "sweep", *arguments, "--json")
    assert outcome.code == 2
    assert why in outcome.json["error"]["message"]
