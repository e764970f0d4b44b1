"""Curves by K from kept runs, ceilings, and what a prior does at every λ: by recall and by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import polars as pl
import pytest
from msgspec import structs

from halls import hall, study
from small_runs import HOSTILE, PASSPORT, RECALLS, recall_run
from test_figures import strings
from workbench import figures
from workbench.bank_set import BankSet
from workbench.ceilings import ceilings
from workbench.curves import (
    Gap,
    by_category,
    curves,
    difference,
    gap_words,
    latest,
    measured,
    missing,
    only,
    passport_of_runs,
    plan_for,
)
from workbench.effects import effects, ranked
from workbench.errors import UsageError
from workbench.grids import layer_sweep
from workbench.lambda_lines import control_lines, lambda_words, shares
from workbench.metrics import Plan
from workbench.passport import passport_of
from workbench.recall import recall
from workbench.report.tables import kept_table
from workbench.runs import Run, load_run
from workbench.schema import Gold, Recipe
from workbench.sweep import lambda_sweep
from workbench.workspace import Workspace

PLAN = Plan(ks=(1, 5, 20))
GUIDED, ALONE = Recipe(prior="facts", lam=0.5), Recipe(prior="none", lam=1.0)


# ---------------------------------------------------------------- curves from kept runs


def test_a_recipe_is_measured_once_and_read_from_then_on(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    banks = hall()
    assert missing(workspace, banks, [GUIDED, ALONE, GUIDED], PLAN) == 2
    first = measured(workspace, banks, GUIDED, PLAN)
    assert missing(workspace, banks, [GUIDED, ALONE], PLAN) == 1
    monkeypatch.setattr("workbench.curves.measure", None)
    again = measured(workspace, banks, structs.replace(GUIDED, k=3), PLAN)
    assert again.id == first.id and again.frame.equals(first.frame)
    with pytest.raises(TypeError):
        measured(workspace, banks, structs.replace(GUIDED, lam=0.6), PLAN)


@pytest.mark.parametrize(
    "alike",
    [Recipe(prior="facts", lam=1.0), Recipe(prior="none", lam=0.3), Recipe(prior="speaker", lam=1)],
)
def test_recipes_that_rank_alike_are_one_run(workspace: Workspace, alike: Recipe) -> None:
    banks = hall()
    run = measured(workspace, banks, ALONE, PLAN)
    assert measured(workspace, banks, alike, PLAN).id == run.id
    assert recall(banks, alike, PLAN.ks)["recall"] == recall(banks, ALONE, PLAN.ks)["recall"]


def test_a_damaged_run_is_measured_again(workspace: Workspace) -> None:
    run = measured(workspace, hall(), GUIDED, PLAN)
    (workspace.folder("runs", run.id) / "frame.parquet").write_bytes(b"gone")
    assert measured(workspace, hall(), GUIDED, PLAN).frame.equals(run.frame)


def test_curves_are_what_recall_reports(workspace: Workspace) -> None:
    banks = hall()
    run = measured(workspace, banks, GUIDED, PLAN)
    told = recall(banks, GUIDED, PLAN.ks)
    found = curves({"guided": run})
    assert found["series"].to_list() == ["guided"] * 3
    assert found["k"].to_list() == [1, 5, 20]
    assert set(found["n"]) == {told["n"]}
    for row in found.iter_rows(named=True):
        k = str(row["k"])
        assert row["mean"] == pytest.approx(told["recall"][k])
        assert [row["lo"], row["hi"]] == pytest.approx(told["interval"][k])
    kinds = curves({"": run}, ["recall", "any", "all"])
    by_kind = {name: part["mean"].to_list() for (name,), part in kinds.group_by("series")}
    for name, key in (("share found", "recall"), ("any found", "any"), ("all found", "all")):
        assert by_kind[name] == pytest.approx(list(told[key].values()))
    assert by_kind["any found"] != by_kind["all found"]


def test_curves_by_category_name_their_n(workspace: Workspace) -> None:
    banks = hall()
    run = measured(workspace, banks, GUIDED, PLAN)
    told = recall(banks, GUIDED, PLAN.ks)["by_category"]
    found = by_category(run)
    assert set(found["series"]) == {f"{name} (n = {one['n']})" for name, one in told.items()}
    for row in found.iter_rows(named=True):
        assert row["mean"] == pytest.approx(told[row["category"]]["recall"][str(row["k"])])
    odd = curves({"x": only(run, "odd")})
    assert odd["mean"].to_list() == pytest.approx(list(told["odd"]["recall"].values()))
    assert passport_of(only(run, "odd")).n == told["odd"]["n"]
    assert only(run, "") == run
    assert not len(curves({"x": only(run, "nothing")}))


def test_a_plan_goes_as_far_as_there_is_something_to_retrieve() -> None:
    assert plan_for(hall()).ks == (1, 2, 3, 5, 7, 10, 15, 25, 35)  # of 40 turns
    sessions = plan_for(hall(), "session", "audited", "test")
    assert (sessions.ks, sessions.gold, sessions.split) == ((1, 2, 3), "audited", "test")  # of 4


# ---------------------------------------------------------------- differences


def toy(workspace: Workspace, **changes: Any) -> Run:
    return load_run(workspace, recall_run(workspace, **changes))


def test_a_difference_by_hand(workspace: Workspace) -> None:
    """b finds .25 less of every question at every K: p is 2 of the 64 ways to sign six gaps."""
    gap = difference(toy(workspace), toy(workspace, shift=0.25, lam=0.9))
    assert gap.curve["k"].to_list() == [1, 5]
    assert gap.curve["difference"].to_list() == pytest.approx([0.25, 0.25])
    assert gap.tests["p"].to_list() == pytest.approx([2 / 64] * 2)
    assert gap.tests["p_holm"].to_list() == pytest.approx([4 / 64] * 2)
    assert gap.tests["a"].to_list() == pytest.approx([1 / 3, 3 / 4])
    assert gap.tests["n"].to_list() == [6, 6]


def test_band_and_test_agree_where_both_are(workspace: Workspace) -> None:
    banks = hall()
    plan = Plan(ks=(1, 2, 5, 10))
    gap = difference(*(measured(workspace, banks, one, plan) for one in (GUIDED, ALONE)))
    assert gap.curve["k"].to_list() == [1, 2, 5, 10]
    assert gap.tests["k"].to_list() == [1, 5, 10]
    both = gap.curve.join(gap.tests, on="k")
    for name in ("difference", "lo", "hi"):
        assert both[name].to_list() == pytest.approx(both[f"{name}_right"].to_list())
    ends = [recall(banks, one, plan.ks)["recall"]["2"] for one in (GUIDED, ALONE)]
    at_two = gap.curve.filter(pl.col("k") == 2)["difference"].item()
    assert at_two == pytest.approx(ends[0] - ends[1])
    assert at_two != 0


def test_runs_of_other_gold_are_not_compared(workspace: Workspace) -> None:
    banks = audited_hall()
    one, other = (
        measured(workspace, banks, ALONE, Plan(ks=(1,), gold=gold))
        for gold in ("original", "audited")
    )
    with pytest.raises(UsageError, match="gold"):
        difference(one, other)


def gap_of(difference: float, lo: float | None, hi: float | None, p: float) -> Gap:
    row = {"k": 10, "a": 0.5 + difference, "b": 0.5, "difference": difference, "lo": lo, "hi": hi}
    return Gap(pl.DataFrame(), pl.DataFrame([row | {"p": p, "p_holm": p, "n": 9}]))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (gap_of(0.1, 0.05, 0.15, 0.01), "+0.100 [+0.050, +0.150], p = 0.010 (Holm). So “a” finds"),
        (gap_of(-0.1, -0.15, -0.05, 0.0001), "p = below 0.001 (Holm). So “b” finds more."),
        (gap_of(0.1, -0.05, 0.25, 0.01), "So no difference is shown."),
        (gap_of(0.1, 0.05, 0.15, 0.2), "So no difference is shown."),
        (gap_of(0.1, None, None, 0.01), "of +0.100, p = 0.010 (Holm). So no difference is shown."),
    ],
)
def test_a_difference_in_words(found: Gap, said: str) -> None:
    words = gap_words(found, ("a", "b"), 25)
    assert words.startswith("At K = 10 the mean is ")
    assert said in words


def test_several_runs_share_a_passport(workspace: Workspace) -> None:
    one, other = toy(workspace), toy(workspace, lam=0.9)
    assert passport_of_runs([one]) == passport_of(one)
    both = passport_of_runs([one, other])
    assert both.run == f"{one.id}+{other.id}"
    assert both.recipe not in (passport_of(one).recipe, passport_of(other).recipe)
    assert both.n == len(RECALLS)


def test_the_latest_run_of_a_kind(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert latest(workspace, "recall", "toy") is None
    older = toy(workspace)
    clock = iter(range(10**10, 10**10 + 100))
    monkeypatch.setattr("time.time", lambda: next(clock))
    newer = toy(workspace, lam=0.9)
    found = latest(workspace, "recall", "toy")
    assert found is not None and found.id == newer.id != older.id
    assert latest(workspace, "recall", "other") is None
    assert latest(workspace, "sweep-alpha", "toy") is None


def test_a_table_of_a_run(tmp_path: Path) -> None:
    made = study(tmp_path)
    report = layer_sweep(made, Recipe(retriever="ppro", lam=0.5), (1, 5), (0, 2))
    cells = kept_table(made.workspace, report["run"], "layers")
    assert cells.columns == ["k_episodic", "k_semantic", "mean", "lo", "hi"]
    assert cells["mean"].to_list() == pytest.approx(
        [cell for row in report["recall"] for cell in row]
    )


# ---------------------------------------------------------------- ceilings


def audited_hall() -> BankSet:
    """The hall, where an audit takes the second piece of evidence of s1/1 for another turn."""
    banks = hall()
    asked = {q.id: q for q in banks.dataset.questions}
    first, second = asked["s1/1"].gold.evidence
    gold = Gold(answer="x", evidence=(first, "s1:39"), sessions=("0",))
    assert second != "s1:39"
    asked["s1/1"] = structs.replace(asked["s1/1"], audited=gold, audit="WRONG_CITATION")
    questions = tuple(asked.values())
    return replace(banks, dataset=structs.replace(banks.dataset, questions=questions))


def test_without_an_audit_the_one_ceiling_is_what_memories_hold() -> None:
    whole = ceilings(hall(), PLAN)
    assert whole["ceiling"].to_list() == ["held by a memory"]
    assert whole.row(0, named=True)["mean"] == 1 and whole["n"].item() == 36


def test_evidence_that_no_memory_holds_lowers_the_ceiling() -> None:
    banks = hall()
    kept = banks.episodic["s1"]
    cut = type(kept)(kept.scope, kept.memories[:20], kept.vectors[:20], kept.fingerprint)
    fewer = replace(banks, episodic={**banks.episodic, "s1": cut})
    expected = []
    for question in fewer.dataset.questions:
        if question.abstention or not question.gold.evidence:
            continue
        turns = {t for m in fewer.episodic[question.scope].memories for t in m.sources}
        expected.append(
            sum(t in turns for t in question.gold.evidence) / len(question.gold.evidence)
        )
    [found] = ceilings(fewer, PLAN)["mean"]
    assert found == pytest.approx(sum(expected) / len(expected))
    assert found < 1
    best = recall(fewer, ALONE, [40])["recall"]["40"]
    assert best == pytest.approx(found)  # all memories retrieved: the ceiling itself


def test_the_audits_ceiling_by_hand() -> None:
    found = dict(ceilings(audited_hall(), PLAN).select("ceiling", "mean").iter_rows())
    assert found == {
        "held by a memory": 1,
        "confirmed by the audit": pytest.approx((35 + 1 / 2) / 36),
    }


# ---------------------------------------------------------------- what a prior does at every λ


def test_shares_count_what_effects_tell(tmp_path: Path) -> None:
    made = study(tmp_path)
    recipe = Recipe(prior="facts", lam=0.3)
    found = shares(ranked(made, recipe, (0.0, 0.3, 1.0)), 5)
    assert found["lam"].to_list() == [0.0, 0.3, 1.0] * 2
    told = effects(made, recipe, 5)["effect"].to_list()
    for name in ("helped", "hurt"):
        part = found.filter((pl.col("series") == name) & (pl.col("lam") == 0.3))
        assert part["mean"].item() == pytest.approx(told.count(name) / len(told))
        assert part["mean"].item() > 0
        alone = found.filter((pl.col("series") == name) & (pl.col("lam") == 1))
        assert alone["mean"].item() == 0


def test_control_lines_are_what_recall_measures(tmp_path: Path) -> None:
    made = study(tmp_path)
    recipe = Recipe(prior="profile", lam=0.5)
    found = control_lines(made, recipe, (10, 5), (0.0, 0.5, 1.0))
    names = ["profile", "other-user", "everyone", "shuffled", "random"]
    assert found["series"].unique(maintain_order=True).to_list() == names
    for prior in ("profile", "other-user:profile", "random"):
        single = recall(made.banks, structs.replace(recipe, prior=prior), (5, 10))
        rows = found.filter(
            (pl.col("series") == prior.split(":")[0]) & (pl.col("lam") == 0.5)
        ).sort("k")
        assert rows["mean"].to_list() == pytest.approx(list(single["recall"].values()))
    ends = found.filter((pl.col("lam") == 1) & (pl.col("k") == 5))["mean"]
    assert ends.n_unique() == 1
    with pytest.raises(UsageError, match="controls need a prior"):
        control_lines(made, structs.replace(recipe, prior="none"), (5,))


def test_a_sweep_in_words(tmp_path: Path) -> None:
    report = lambda_sweep(study(tmp_path), Recipe(prior="facts"), (0.0, 0.5), (5,), depth=10)
    best, test, harm = lambda_words(report, 5)
    assert f"λ = {report['best']['5']['lam']:g} ({report['best']['5']['recall']:.3f})" in best
    low, high = report["plateau"]["5"]
    assert ("no plateau" in best) == (low == high)
    assert f"{report['test_vs_query_only']['5']['difference']:+.3f} [" in test
    assert f"hurts {report['harmed']['5']['questions']:.0%} of the questions" in harm


# ---------------------------------------------------------------- figures


def lines_frame(x: str, *names: str) -> pl.DataFrame:
    """Two points a line, x = 0 and 1, its means by hand."""
    return pl.DataFrame(
        [
            {"series": name, x: at, "mean": at / 2 + place / 10, "lo": 0.0, "hi": 0.8}
            for place, name in enumerate(names)
            for at in (0.0, 1.0)
        ]
    )


def flips() -> pl.DataFrame:
    rows = [
        ("q1", "helped", 1.0, 12, 3),
        ("q2", "hurt", -0.5, 2, None),
        ("q3", "helped", 0.5, 5, 5),
    ]
    names = ("question", "effect", "change", "rank_without", "rank_having")
    frame = pl.DataFrame([dict(zip(names, row, strict=True)) for row in rows])
    return frame.with_columns(text=pl.lit(HOSTILE))


DRAWN: dict[str, go.Figure] = {
    "effect_shares": figures.effect_shares(lines_frame("lam", "helped", "hurt"), PASSPORT, 10),
    "rank_flips": figures.rank_flips(flips(), PASSPORT, 0.8, 10),
    "alpha_landscape": figures.alpha_landscape(lines_frame("alpha", HOSTILE), PASSPORT, 0.35),
    "training_curves": figures.training_curves(lines_frame("step", HOSTILE), PASSPORT),
}


@pytest.mark.parametrize("name", DRAWN)
def test_figures_carry_their_passport_and_show_text_literally(name: str) -> None:
    figure = DRAWN[name]
    assert figure.layout.meta["figure"] == name
    assert "n = 1,536 questions in 10 conversations" in figure.layout.meta["caption"]
    assert ("95% intervals" in figure.layout.meta["caption"]) != (name == "rank_flips")
    found = list(strings(figure.to_plotly_json()))
    assert not [text for text in found if re.search(r"<\s*(img|a|script)|</script", text, re.I)]
    assert (name == "effect_shares") != any("&lt;img" in text for text in found)


def test_flips_stand_where_their_ranks_are() -> None:
    _, helped, hurt = DRAWN["rank_flips"].data
    assert (helped.name, list(helped.x), list(helped.y)) == ("helped (2)", [12, 5], [3, 5])
    assert (hurt.name, list(hurt.x)) == ("hurt (1)", [2])
    assert hurt.y[0] == DRAWN["rank_flips"].layout.yaxis.tickvals[-1]
    assert "recall +1.00; first evidence from rank 12 to 3" in helped.hovertext[0]
    assert "to beyond 200" in hurt.hovertext[0]
    assert helped.marker.symbol != hurt.marker.symbol


def test_only_the_largest_of_many_flips_are_drawn_and_the_caption_says_so() -> None:
    many = pl.concat([flips()] * 200)
    figure = figures.rank_flips(many, PASSPORT, 0.8, 10)
    assert sum(len(trace.x) for trace in figure.data[1:]) == 400
    assert figure.data[1].name == "helped (400)"
    assert "Of 600 questions the 400 that change most." in figure.layout.meta["caption"]


def test_the_papers_settings_are_references() -> None:
    def upright(name: str) -> list[float]:
        return [s.x0 for s in DRAWN[name].layout.shapes if s.type == "line" and s.x0 == s.x1]

    assert upright("effect_shares") == [0.8]
    assert upright("alpha_landscape") == [0.2, 0.35]
    assert "a reference" in DRAWN["alpha_landscape"].layout.meta["caption"]


@pytest.mark.parametrize(
    ("measure", "level", "title", "means"),
    [
        ("recall", "turn", "Evidence recall by the number K of memories", "evidence turns that"),
        ("any", "turn", "Any evidence found by", "at least one evidence turn"),
        ("all", "session", "All evidence found by the number K of sessions", "every evidence sess"),
    ],
)
def test_a_curve_says_what_it_counts(measure: Any, level: Any, title: str, means: str) -> None:
    frame = lines_frame("k", "a").with_columns(k=pl.col("k") + 1)
    figure = figures.recall_curves(frame, PASSPORT, measure, level)
    assert figure.layout.title.text.startswith(title)
    assert means in figure.layout.title.subtitle.text


def test_ceilings_are_drawn_and_named() -> None:
    frame = lines_frame("k", "a").with_columns(k=pl.col("k") + 1)
    limits = pl.DataFrame({"ceiling": ["held", "confirmed"], "mean": [1.0, 0.97]})
    figure = figures.recall_curves(frame, PASSPORT, ceilings=limits, by="retriever")
    level = [s.y0 for s in figure.layout.shapes if s.y0 == s.y1]
    assert level == [1.0, 0.97]
    texts = [one.text for one in figure.layout.annotations if one.name is None]
    assert [name for name in ("held", "confirmed") if any(name in text for text in texts)] == [
        "held",
        "confirmed",
    ]
    assert figure.layout.yaxis.range[1] > 1
    assert "by retriever and the number K" in figure.layout.title.text
