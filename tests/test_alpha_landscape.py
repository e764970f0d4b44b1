"""The α landscape: choices by hand, the pool through the reply cache, the run, the command."""

from __future__ import annotations

import dataclasses
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from halls import hall
from shell import write_rows
from workbench import figures
from workbench.alpha_landscape import Landscape, alpha_landscape, table_of
from workbench.alpha_report import choice_words
from workbench.alpha_table import COLUMNS, AlphaTable
from workbench.candidate_pool import pool_of
from workbench.chat_models import ChatModel
from workbench.cli import app
from workbench.errors import DataError, UsageError
from workbench.library import BankSet
from workbench.llm import Reply, Request, Scripted
from workbench.passport import passport_of
from workbench.recall import recall
from workbench.report.findings import findings
from workbench.reward_terms import Terms
from workbench.rule_rewrites import RULES, Rule, by_rule
from workbench.run_plan import Plan
from workbench.runs import load_run
from workbench.schema import Recipe, digest_of
from workbench.statement import Wanted
from workbench.workspace import Workspace

PLAIN = Recipe(prior="none", lam=1.0, k=5)
QUICK = Landscape(alphas=(0.0, 0.2, 1.0), candidates=3)


@pytest.fixture(scope="module")
def banks() -> BankSet:
    return hall()


def rows(*values: tuple[str, int, float | None, float | None], scope: str = "s") -> pl.DataFrame:
    """Rows (question, candidate, retrieval, answer); recall and F1 are the rewards themselves."""
    made = [
        {"question": question, "scope": scope, "category": "c", "candidate": place}
        | {"text": f"{question}{place}", "retrieval": found, "answer": said}
        | {"recall": found, "f1": said, "guards": ""}
        for question, place, found, said in values
    ]
    return pl.DataFrame(made, schema=COLUMNS)


# Both rewards have mean .5 and standard deviation .5 over these, so α compares them as they are.
BY_HAND = rows(
    ("a", 0, 0.0, 0.0),
    ("a", 1, 1.0, 0.0),
    ("a", 2, 0.0, 1.0),
    ("b", 0, 1.0, 1.0),
    ("b", 1, 1.0, 1.0),
    ("b", 2, 0.0, 0.0),
)


# ---------------------------------------------------------------- the table


def test_what_every_alpha_picks_by_hand() -> None:
    table = AlphaTable(BY_HAND)
    for alpha, of_a in ((0.0, 1), (0.3, 1), (0.5, 1), (0.7, 2), (1.0, 2)):
        # b's own wording is as good as any: it stays.
        assert table.picked(alpha).tolist() == [of_a, 0], alpha
    choice = table.choice(0.3)
    assert (choice.recall.mean, choice.f1.mean, choice.kept) == (1.0, 0.5, 0.5)
    assert (choice.recall.n, choice.picked) == (2, (1, 0))
    assert table.best("recall").tolist() == [1.0, 1.0]
    [changed] = table.changed(0.3).to_dicts()
    assert (changed["asked"], changed["chosen"]) == ("a0", "a1")
    assert (changed["recall_asked"], changed["recall"], changed["f1"]) == (0.0, 1.0, 0.0)
    with pytest.raises(UsageError, match="α must lie"):
        table.picked(1.2)


def test_rewards_are_weighed_on_one_scale() -> None:
    """An answer reward ten times as small weighs as much: what is compared are its deviations."""
    small = BY_HAND.with_columns(pl.col("answer") / 10)
    for alpha in (0.0, 0.3, 0.7, 1.0):
        same = AlphaTable(small).picked(alpha).tolist()
        assert same == AlphaTable(BY_HAND).picked(alpha).tolist()


def test_a_missing_candidate_is_never_picked_and_a_question_needs_its_own() -> None:
    holes = BY_HAND.filter(~((pl.col("question") == "a") & (pl.col("candidate") == 1)))
    holes = holes.with_columns(
        pl.when((pl.col("question") == "a") & (pl.col("candidate") == 2))
        .then(None)
        .otherwise(pl.col("answer"))
        .alias("answer")
    )
    assert AlphaTable(holes).picked(1.0).tolist() == [0, 0]
    with pytest.raises(UsageError, match="candidate 0"):
        AlphaTable(BY_HAND.with_columns(pl.lit(None, pl.Float64).alias("recall")))


def test_a_slider_gets_its_choice_within_50_ms() -> None:
    rng = np.random.default_rng(0)
    found = rng.random((1307, 9)).round(1)
    frame = pl.concat(
        rows(
            *(
                (f"q{q}", place, found[q, place], found[q, -place])
                for q in range(size, size + 164)
                for place in range(9)
                if q < 1307
            ),
            scope=f"s{size}",
        )
        for size in range(0, 1307, 164)
    )
    table = AlphaTable(frame)
    table.choice(0.1)
    spent = []
    for alpha in (0.2, 0.35, 0.5, 0.8):
        began = time.process_time()
        choice = table.choice(alpha)
        spent.append(time.process_time() - began)
    assert min(spent) < 0.05
    assert choice.recall.n == 1307 and choice.recall.clusters == 8


# ---------------------------------------------------------------- the pool


def test_rules_rewrite_by_hand() -> None:
    wanted = Wanted("What am I training for?", ("Ana",))
    alone = {
        ("as asked", "by nobody"): "What am I training for",
        ("statement", "by nobody"): "I training for",
        ("key words", "by nobody"): "training",
        ("last words", "by nobody"): "I training for",
        ("statement", "naming the person"): "Ana training for",
        ("key words", "naming the person"): "Ana training",
        ("statement", "said by the person"): "Ana: I training for",
    }
    for (wording, speaker), expected in alone.items():
        assert by_rule(wanted, Rule(wording, speaker, "alone")) == expected
    both = by_rule(wanted, Rule("key words", "by nobody", "behind the question"))
    assert both == "What am I training for? training"
    named = Wanted("When did Ana's sister marry?", ("Ana",))
    said = by_rule(named, Rule("statement", "said by the person", "alone"))
    assert said == "Ana: I sister marry"
    assert len(set(RULES)) == len(RULES) == 24
    # Neither words nor a person to work with: still something to search with.
    assert all(by_rule(Wanted("Where?"), rule).strip() for rule in RULES)


class Source:
    """Answers by a function, and dies after so many calls."""

    def __init__(self, answer: Callable[[Request], Reply], calls: int = 10**9) -> None:
        self.identity = {"kind": "scripted", "model": "toy"}
        self.answer, self.left, self.asked = answer, calls, list[Request]()

    def complete(self, requests: Sequence[Request], done: Any = None) -> list[Reply]:
        made = []
        for place, request in enumerate(requests):
            if len(self.asked) == self.left:
                raise KeyboardInterrupt
            self.asked.append(request)
            made.append(self.answer(request))
            done(place, made[-1])
        return made


def sampled(request: Request) -> Reply:
    kinds = ("word1 in s1", ' "word2 there"\nand more', "…")
    return Reply(text=kinds[request.seed % 3])


def test_samples_come_through_the_cache_and_failures_are_counted(
    banks: BankSet, workspace: Workspace
) -> None:
    questions = [q for q in banks.dataset.questions if q.gold.evidence][:10]
    dying = Source(sampled, calls=13)
    with pytest.raises(KeyboardInterrupt):
        pool_of(banks, questions, 3, ChatModel("x", workspace, dying))
    source = Source(sampled)
    pool = pool_of(banks, questions, 3, ChatModel("x", workspace, source))
    assert len(source.asked) == 10 * 3 - 13  # a reply is never asked for twice
    asked = [*dying.asked, *source.asked]
    assert Counter(request.seed for request in asked) == {0: 10, 1: 10, 2: 10}
    assert {request.temperature for request in asked} == {1.0}
    assert pool.rewrites[0] == [questions[0].text, "word1 in s1", "word2 there", None]
    assert pool.failures == {"empty": 10} and pool.pending == 0
    assert "3 samples of toy at temperature 1" in pool.made_by
    # Nothing of the gold was told.
    told = "".join(request.user for request in asked)
    assert "s1:" not in told and "evidence" not in told
    down = Scripted(lambda request: Reply(failure="network" if request.seed else "refusal"))
    lost = pool_of(banks, questions, 3, down)
    assert lost.failures == {"network": 20, "refusal": 10} and lost.pending == 20
    for number in (0, 24):
        with pytest.raises(UsageError, match=r"candidate|rules"):
            pool_of(banks, questions, number)


# ---------------------------------------------------------------- the landscape


def plan_of(banks: BankSet, workspace: Workspace, **given: Any) -> Plan:
    return Plan(workspace, banks, PLAIN, **given)


def answering(request: Request) -> str:
    return "x" if "word1" in request.user else "y z"


def test_a_landscape_is_a_ceiling_over_the_questions_as_asked(
    banks: BankSet, workspace: Workspace
) -> None:
    plan = plan_of(banks, workspace, answerer="llm", llm=Scripted(answering))
    told = alpha_landscape(plan, QUICK)
    assert set(told) >= {
        *("alphas", "recall", "f1", "interval", "oracle", "identity", "best", "run", "split"),
    }
    assert "ceiling" in told["is"] and "not a tuned α" in told["best"]["is"]
    assert told["n"] == 36 and told["excluded"] == {"abstention": 1, "without evidence": 1}
    asked = recall(banks, PLAIN, [5])["recall"]["5"]
    assert told["identity"]["recall"] == pytest.approx(asked)
    # α = 0 picks by recall itself: the most that this pool has.
    assert told["recall"][0] == pytest.approx(told["oracle"]["recall"])
    assert told["identity"]["recall"] < told["recall"][0]
    assert told["f1"][0] <= told["f1"][2] <= told["oracle"]["f1"] + 1e-12
    for name in ("recall", "f1"):
        ends = told["interval"][name]
        assert all(lo <= mean <= hi for mean, (lo, hi) in zip(told[name], ends, strict=True))
        best = told["best"][name]
        assert best["value"] == max(told[name])
        assert told[name][told["alphas"].index(best["alpha"])] == best["value"]
    assert json.dumps(told)
    again = alpha_landscape(plan, QUICK)
    assert {**again, "seconds": 0} == {**told, "seconds": 0}
    assert alpha_landscape(plan, replace(QUICK, alphas=(0.5,)))["run"] != told["run"]


def test_its_run_holds_what_figures_need_and_nothing_chosen_by_gold_to_compare(
    banks: BankSet, workspace: Workspace
) -> None:
    plan = plan_of(banks, workspace, answerer="llm", llm=Scripted(answering))
    told = alpha_landscape(plan, QUICK)
    kept = load_run(workspace, told["run"])
    assert (kept.manifest["kind"], kept.manifest["identity"]["dataset"]) == ("sweep-alpha", "hall")
    folder = workspace.folder("runs", told["run"])
    lines = pl.read_parquet(folder / "landscape.parquet")
    assert lines.columns == ["series", "alpha", "mean", "lo", "hi"]
    chosen = lines.filter(pl.col("series") == "recall@5, chosen by gold")
    assert chosen["mean"].to_list() == told["recall"]
    assert set(lines["series"]) == {
        *("recall@5, chosen by gold", "recall@5, as asked"),
        *("F1, chosen by gold", "F1, as asked"),
    }
    own = kept.frame.filter(pl.col("metric") == "recall@5")["value"]
    assert own.mean() == pytest.approx(told["identity"]["recall"])
    table = table_of(workspace, told["run"])
    assert table.choice(0.2).recall.mean == pytest.approx(told["recall"][1])
    assert float((table.picked(0.2) == 0).mean()) == told["kept"][1]
    found = findings(workspace, told["run"])
    assert "ceiling" in found.title + " ".join(found.lead) and "landscape" in found.figures
    words = choice_words(told, table, 0.2)
    assert f"recall {told['recall'][1]:.3f} (as asked {told['identity']['recall']:.3f})" in words
    assert f"{1 - told['kept'][1]:.0%} of 36 questions" in words and "not a tuned α" in words
    drawn = figures.alpha_landscape(lines, passport_of(kept), 0.2)
    assert list(drawn.data[1].y) == told["recall"]
    assert "n = 36 questions in 4 conversations" in drawn.layout.meta["caption"]


def test_some_questions_are_drawn_and_failed_answers_leave_them_out(
    banks: BankSet, workspace: Workspace
) -> None:
    def answer(request: Request) -> str | Reply:
        own = request.user.rpartition("<question>")[2]
        return Reply(failure="invalid") if "of s2" in own else answering(request)

    few = replace(QUICK, questions=12)
    plan = plan_of(banks, workspace, answerer="llm", llm=Scripted(answer))
    told = alpha_landscape(plan, few)
    every = [q for q in banks.dataset.questions if q.gold.evidence]
    lost = sum(q.scope == "s2" for q in sorted(every, key=lambda q: digest_of(q.id))[:12])
    assert 0 < lost < 12 and told["n"] == 12 - lost
    assert told["excluded"]["answer failed"] == lost
    assert told["failures"]["answering"] == {"invalid": 4 * lost}
    assert told["run"] is not None
    # Fewer questions are some of the same.
    fewer = alpha_landscape(plan, replace(few, questions=7))
    ids = [set(table_of(workspace, one["run"]).about["question"]) for one in (fewer, told)]
    assert ids[0] < ids[1]
    down = Scripted(lambda request: Reply(failure="network") if request.seed else "word1")
    waiting = alpha_landscape(plan_of(banks, workspace, answerer="top-memory"), few, down)
    assert (waiting["run"], waiting["pending"]) == (None, 24)


def test_what_a_landscape_cannot_mean_is_refused(banks: BankSet, workspace: Workspace) -> None:
    plan = plan_of(banks, workspace)
    for wrong in (replace(QUICK, alphas=()), replace(QUICK, alphas=(2.0,))):
        with pytest.raises(UsageError, match="α must lie"):
            alpha_landscape(plan, wrong)
    with pytest.raises(UsageError, match="weighs two rewards"):
        alpha_landscape(plan, replace(QUICK, terms=Terms(alpha=0, answered=False)))
    bare = replace(
        banks.dataset, questions=tuple(q for q in banks.dataset.questions if q.id == "none")
    )
    nothing = dataclasses.replace(banks, dataset=bare)
    with pytest.raises(DataError, match="no question has evidence"):
        alpha_landscape(plan_of(nothing, workspace), QUICK)


# ---------------------------------------------------------------- the command


def test_the_command_tells_the_documented_json_and_words(
    banks: BankSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.library.open_banks", lambda *given: banks)
    script = write_rows(tmp_path / "model.jsonl", [{"reply": "word1 in s1"}])
    given = f"--workspace {tmp_path} --alpha 0,0.2,1 --preset query-only --k 5 --candidates 2"
    said = ["sweep", "alpha", "hall", *given.split(), "--llm", f"scripted:{script}"]
    words = CliRunner().invoke(app, said)
    assert words.exit_code == 0, words.output
    for text in ("ceiling", "not a tuned", "as asked", "best of each", "excluded: 1 abstention"):
        assert text in words.stdout
    told = json.loads(CliRunner().invoke(app, [*said, "--json"]).stdout)
    assert told["run"] in words.stdout
    assert (told["alphas"], told["n"], told["candidates"]) == ([0.0, 0.2, 1.0], 36, 2)
    for name in ("recall", "f1"):
        assert len(told[name]) == len(told["interval"][name]) == 3
    for name in ("oracle", "identity"):
        assert {"recall", "f1", "interval"} == told[name].keys()
    assert "2 samples of" in told["made_by"]
    for wrong, why in (
        (["--mode", "train"], "--candidates has no part"),
        (["--alpha", "0:2"], "--alpha takes"),
        (["--answer-reward", "magic"], "unknown answer reward"),
    ):
        found = CliRunner().invoke(app, [*said, *wrong])
        assert found.exit_code and why in str(found.exception)
