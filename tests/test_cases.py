"""Cases: chosen by rule, taken apart, shown and exported; the plane and the lesson's checks."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

import halls
from rooms import Vectors, memory, unit
from workbench import lesson
from workbench.ask import Asking, asking, told
from workbench.bank import Bank
from workbench.case_card import card, card_name, facts_of
from workbench.cases import RULES, choose, compare
from workbench.cells import Study
from workbench.components import ladder, parts, split, stages
from workbench.datasets.report import Dataset
from workbench.effects import Ranked, ranked
from workbench.errors import UsageError
from workbench.figures import (
    component_ladder,
    prior_plane,
    rank_scatter,
    rank_split,
    same_words,
    score_parts,
)
from workbench.library import BankSet
from workbench.passport import passport_of_question
from workbench.plane import plane
from workbench.presets import LOCOMO_TURNS
from workbench.schema import Dialogue, Gold, Profile, Question, Recipe, Turn
from workbench.shelf import ProfileVectors
from workbench.traces import Found
from workbench.workspace import Workspace

EVIL = '<img src=x onerror=alert(1)> <a href="javascript:alert(1)">x</a>'
PPRO = Recipe(retriever="ppro", k=5, k_semantic=2)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Ranked:
    return ranked(halls.study(tmp_path_factory.mktemp("cases")), Recipe(k=5))


def opened(banks: BankSet, question: str, recipe: Recipe) -> Asking:
    return asking(banks, question, recipe)


# ---------------------------------------------------------------- choosing


def test_gains_and_losses_are_what_ranking_each_question_says(found: Ranked) -> None:
    banks = found.study.banks
    moved = {}
    for question in found.study.questions:
        places = told(opened(banks, question.id, Recipe(k=5)))["places"]
        best = [min(p[name] for p in places) for name in ("without", "with")]
        moved[question.id] = best[0] - best[1]
    gains = sorted((-n, one) for one, n in moved.items() if n > 0)
    losses = sorted((n, one) for one, n in moved.items() if n < 0)
    assert gains and losses
    for rule, expected in (("gain", gains), ("loss", losses)):
        cases = choose(found, rule, 0.8, 5, 3)
        assert cases["question"].to_list() == [one for _, one in expected[:3]]
        assert [abs(n) for n in cases["places"]] == [abs(n) for n, _ in expected[:3]]
        first = cases.row(0, named=True)
        assert f"from {first['rank_without']} to {first['rank_having']}" in first["why"]


def test_a_rank_beyond_the_depth_counts_as_one_more(found: Ranked) -> None:
    first = found.first.copy()
    first[:, found.lams.index(1.0)] = 0  # nothing is found by the question alone
    lost = found._replace(first=first)
    gains = choose(lost, "gain", 0.8, 5, 100)
    assert len(gains) == len(found.study.questions)
    assert gains["places"].to_list() == [201 - rank for rank in gains["rank_having"]]
    assert "from beyond 200 to" in gains["why"][0]


def test_only_questions_that_the_audit_disputes_are_disputed(tmp_path: Path) -> None:
    study = halls.study(tmp_path)
    assert choose(ranked(study, Recipe(k=5)), "disputed", 0.8, 5).is_empty()
    asked = [
        msgspec.structs.replace(q, audit="TEMPORAL_ERROR", audited=Gold(answer="other"))
        if q.id in ("s1/1", "s3/4")
        else q
        for q in study.banks.dataset.questions
    ]
    dataset = msgspec.structs.replace(study.banks.dataset, questions=tuple(asked))
    again = Study(Workspace(tmp_path), dataclasses.replace(study.banks, dataset=dataset))
    cases = choose(ranked(again, Recipe(k=5)), "disputed", 0.8, 5)
    assert set(cases["question"]) == {"s1/1", "s3/4"}
    assert "has the time wrong" in cases["why"][0]
    assert facts_of(asked[1])["expected answer"] == "x"


class Spoken:
    """An embedder whose vectors are given."""

    name, fingerprint, dim, threshold = "spoken", "fp", 3, None

    def __init__(self, vectors: dict[str, Sequence[float]]) -> None:
        self.vectors = vectors

    def prompt(self, side: str) -> str:
        return ""

    def excess(self, texts: Sequence[str], side: str) -> list[int]:
        return [0] * len(texts)

    def encode(self, texts: Sequence[str], side: str) -> Vectors:
        return unit([self.vectors[text] for text in texts])


def little(asked: dict[str, Sequence[float]], rows: dict[str, tuple[str, Any]]) -> BankSet:
    """One scope whose memories are given by id: session and vector; "gold" is the evidence."""
    turns = tuple(Turn(id=id, session=rows[id][0], speaker="Ana", text=id) for id in rows)
    questions = tuple(
        Question(id=text, scope="s", text=text, people=("Ana",), gold=Gold(evidence=("gold",)))
        for text in asked
    )
    dataset = Dataset(
        name="little",
        format="jsonl",
        dialogues=(Dialogue(id="s", scope="s", turns=turns),),
        questions=questions,
    )
    kept = [memory(id, session=rows[id][0]) for id in rows]
    bank = Bank.build("s", kept, unit([vector for _, vector in rows.values()]), "fp")
    person = ProfileVectors(
        Profile(scope="s", person="Ana"),
        np.empty((0, 3), np.float32),
        unit([0.0, 0.0, 1.0]),
    )
    manifest = {"id": "little", "memories": "turns", "embedder": "spoken", "content": "c"}
    return BankSet(
        "little",
        manifest,
        dataset,
        Spoken(asked),
        None,
        {"s": bank},
        {},
        {"s": {"Ana": person}},  # type: ignore[arg-type]
    )


def test_confused_in_time_needs_a_like_memory_of_another_session_in_front(
    tmp_path: Path,
) -> None:
    rows = {
        "gold": ("1", [0.8, 0.6, 0.0]),
        "rival": ("2", [0.9, 0.43, 0.0]),  # another session, nearer to the question, and alike
        "fellow": ("1", [0.95, 0.3, 0.0]),  # as alike, but of the evidence's own session
        "other": ("2", [0.85, -0.52, 0.0]),  # nearer to the question, but unlike the evidence
    }
    asked = {"When was it?": [1.0, 0.0, 0.0], "Who was it?": [1.0, 0.0, 0.0]}
    study = Study(Workspace(tmp_path), little(asked, rows))
    cases = choose(ranked(study, Recipe(k=5)), "temporal", 0.8, 5)
    assert cases["question"].to_list() == ["When was it?"]  # the other asks for no time
    assert cases["rival"].to_list() == ["rival"]
    assert "cosine 0.98" in cases["why"][0]
    alone = {id: row for id, row in rows.items() if id != "rival"}
    study = Study(Workspace(tmp_path), little(asked, alone))
    assert choose(ranked(study, Recipe(k=5)), "temporal", 0.8, 5).is_empty()


def test_every_rule_says_what_it_looks_for_and_what_to_do_without_a_case() -> None:
    for rule in RULES.values():
        assert rule.title and rule.said and rule.missing.endswith((".", ".json"))


def test_two_rankings_are_compared_memory_by_memory() -> None:
    before = [Found(memory=m, rank=r, score=0.0) for r, m in enumerate("abcd", 1)]
    after = [Found(memory=m, rank=r, score=0.0) for r, m in enumerate("acbe", 1)]
    assert compare(before, after).rows() == [
        ("a", 1, 1, "stayed"),
        ("c", 3, 2, "rose"),
        ("b", 2, 3, "fell"),
        ("e", None, 4, "entered"),
        ("d", 4, None, "left"),
    ]
    assert compare([], []).is_empty()


# ---------------------------------------------------------------- taking apart

WHOLE = msgspec.structs.replace(
    LOCOMO_TURNS, prior="profile", lam=0.7, k=5, lend=0.5, lend_from="turns"
)
RECIPES = {
    "plain": (Recipe(prior="none", lam=1.0, boost=0.0), ["question alone"]),
    "dense": (Recipe(k=5), ["question alone", "profile prior"]),
    "ppro": (
        msgspec.structs.replace(PPRO, threshold=0.1),
        ["question alone", "profile prior", "dimensions", "threshold", "semantic memories"],
    ),
    "whole": (
        WHOLE,
        [
            *("question alone", "centring", "profile prior", "shared words", "speaker"),
            *("lent scores", "neighbours"),
        ],
    ),
    "lexical": (Recipe(retriever="lexical"), ["shared words"]),
}


@pytest.mark.parametrize("name", RECIPES)
def test_components_build_up_to_the_recipe(found: Ranked, name: str) -> None:
    recipe, names = RECIPES[name]
    built = stages(recipe)
    assert [stage.name for stage in built] == names
    one = opened(found.study.banks, "s2/4", recipe)
    assert one.ranks(built[-1].recipe) == one.ranks(recipe)
    if name != "lexical":
        plain = msgspec.structs.replace(recipe, **_plain())
        assert one.ranks(built[0].recipe) == one.ranks(plain)


def _plain() -> dict[str, Any]:
    zero = dict.fromkeys(("boost", "neighbours", "neighbours_far", "speaker", "lend"), 0.0)
    off = {"retriever": "dense", "prior": "none", "lam": 1.0, "centred": False}
    return {**zero, **off, "threshold": None}


def test_the_ladder_ends_where_the_evidence_stands(found: Ranked) -> None:
    one = opened(found.study.banks, "s2/8", Recipe(k=5))
    rungs = ladder(one)
    places = {place["turn"]: place for place in told(one)["places"]}
    assert len(places) == 3
    for stage, name in ((0, "without"), (1, "with")):
        rows = rungs.filter(pl.col("stage") == stage)
        assert dict(rows.select("turn", "rank").rows()) == {t: p[name] for t, p in places.items()}
    assert ladder(asking(found.study.banks, "word1?", Recipe(), "s1/Ana")).is_empty()


def test_a_semantic_memory_that_holds_the_evidence_shows_on_the_ladder(found: Ranked) -> None:
    many = msgspec.structs.replace(PPRO, k_semantic=6)
    held = []
    for question in found.study.questions:
        rungs = ladder(opened(found.study.banks, question.id, many))
        last = rungs.filter(pl.col("stage") == rungs["stage"].max())
        held += last.filter(pl.col("layer") == "semantic").select("turn", "rank").rows()
    assert held and all(1 <= rank <= 6 for _, rank in held)
    sources = {
        s for b in found.study.banks.semantic.values() for m in b.memories for s in m.sources
    }
    assert {turn for turn, _ in held} <= sources


@pytest.mark.parametrize("name", ["dense", "ppro", "whole"])
def test_the_split_is_exact(found: Ranked, name: str) -> None:
    recipe = RECIPES[name][0]
    one = opened(found.study.banks, "s2/8", recipe)
    moves = split(one)
    places = {place["turn"]: place["with"] for place in told(one)["places"]}
    scores = {row["memory"]: row["score"] for row in parts(one, 40).iter_rows(named=True)}
    assert moves["turn"].n_unique() == 3
    for group in moves.partition_by("turn", maintain_order=True):
        rows = group.rows(named=True)
        assert rows[0]["before"] is None
        pairs = itertools.pairwise(rows)
        assert all(first["after"] == second["before"] for first, second in pairs)
        assert rows[-1]["after"] == places[rows[0]["turn"]]
        assert sum(row["value"] or 0 for row in rows) == pytest.approx(scores[rows[0]["memory"]])
        assert (rows[-1]["part"] == "threshold") == (name == "ppro")


def test_the_query_part_alone_ranks_as_the_question_does(found: Ranked) -> None:
    for question in found.study.questions:
        one = opened(found.study.banks, question.id, PPRO)
        alone = ladder(one).filter(pl.col("stage") == 0)
        ranks = dict(alone.select("turn", "rank").rows())
        first = split(one).filter(pl.col("part") == "query")
        for row in first.iter_rows(named=True):
            # Several memories may hold a turn: the one followed is no better than the best.
            assert row["after"] >= ranks[row["turn"]]


def test_parts_add_up_and_reach_down_to_the_evidence(found: Ranked) -> None:
    one = opened(found.study.banks, "s3/8", PPRO)
    rows = parts(one, 4)
    hits = rows.group_by("memory", maintain_order=True).agg(
        pl.sum("value"), pl.first("score"), pl.first("rank"), pl.first("evidence")
    )
    assert hits["rank"].to_list()[:4] == [1, 2, 3, 4]
    np.testing.assert_allclose(hits["value"], hits["score"])
    assert hits.filter("evidence").height >= 3
    assert hits.filter(pl.col("rank") > 4)["evidence"].all()
    assert hits["rank"].is_sorted()


# ---------------------------------------------------------------- the plane


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.8, 1.0])
def test_the_order_along_z_is_the_ranking(found: Ranked, lam: float) -> None:
    one = opened(found.study.banks, "s1/4", Recipe(lam=lam, k=5))
    seen = plane(one)
    assert dict(seen.points.select("memory", "rank").rows()) == one.ranks(one.recipe)
    shadows = seen.points.select("x", "y").to_numpy() @ np.array(seen.mixed)
    np.testing.assert_allclose(shadows, seen.points["along"], atol=1e-6)
    assert np.hypot(*seen.mixed) == pytest.approx(1, abs=1e-6)
    turn = one.question.gold.evidence[0] if one.question else ""
    ahead = seen.ahead(turn)
    place = next(p for p in told(one)["places"] if p["turn"] == turn)
    assert ahead == place["with"] - 1
    assert seen.ahead("nobody said this") is None


@pytest.mark.parametrize("recipe", [Recipe(prior="none", lam=1.0), PPRO, WHOLE])
def test_what_does_not_lie_in_the_plane_is_refused(found: Ranked, recipe: Recipe) -> None:
    with pytest.raises(UsageError):
        plane(opened(found.study.banks, "s1/4", recipe))


# ---------------------------------------------------------------- figures


def shown(one: Asking) -> dict[str, Any]:
    passport = passport_of_question(told(one), "hall")
    turn = one.question.gold.evidence[0] if one.question else ""
    dense = msgspec.structs.replace(one.recipe, retriever="dense")
    flat = asking(one.banks, one.question.id if one.question else "", dense)
    row = {"question": "q", "scope": EVIL, "user": EVIL, "text": EVIL}
    ranks = pl.DataFrame([{**row, "rank_without": 3, "rank_having": 1}] * 2)
    return {
        "component_ladder": component_ladder(ladder(one), passport, 5),
        "rank_split": rank_split(split(one), passport),
        "score_parts": score_parts(parts(one, 5), passport),
        "prior_plane": prior_plane(plane(flat), passport, turn),
        "rank_scatter": rank_scatter(ranks, passport),
        "same_words": same_words(ranks, passport, 5),
    }


def test_figures_show_the_numbers_that_they_are_given(found: Ranked) -> None:
    one = opened(found.study.banks, "s2/8", PPRO)
    drawn = shown(one)
    rungs = ladder(one).partition_by("turn", maintain_order=True)
    lines = drawn["component_ladder"].data
    for line, rung in zip(lines, rungs, strict=True):
        np.testing.assert_allclose(10 ** -np.array(line.y), rung["rank"].to_list())
    bars = [bar.x[0] for bar in drawn["rank_split"].data]
    moves = split(one).filter(pl.col("before").is_not_null())
    assert bars == (moves["before"] - moves["after"]).to_list()
    widths = sum(sum(bar.x) for bar in drawn["score_parts"].data)
    assert widths == pytest.approx(parts(one, 5)["value"].sum())
    for name, figure in drawn.items():
        assert figure.layout.meta["figure"] == name
        assert figure.layout.meta["passport"]["dataset"] == "hall"
        assert "n = 1 question" in figure.layout.meta["caption"]


def test_beyond_the_line_is_what_ranks_before_the_evidence(found: Ranked) -> None:
    one = opened(found.study.banks, "s1/4", Recipe(k=5))
    turn = one.question.gold.evidence[0] if one.question else ""
    seen = plane(one)
    figure = prior_plane(seen, passport_of_question(told(one), "hall"), turn)
    ahead = seen.ahead(turn)
    assert ahead and f"{ahead} memories lie beyond the line" in figure.layout.title.subtitle.text
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    assert sorted(len(trace.x) for trace in dots) == sorted(
        [ahead, 1, len(seen.points) - ahead - 1]
    )
    star = next(trace for trace in dots if trace.marker.symbol == "star")
    reach = star.x[0] * seen.mixed[0] + star.y[0] * seen.mixed[1]
    before = next(trace for trace in dots if len(trace.x) == ahead and trace is not star)
    assert all(
        x * seen.mixed[0] + y * seen.mixed[1] >= reach - 1e-6
        for x, y in zip(before.x, before.y, strict=True)
    )


def hostile(banks: BankSet) -> BankSet:
    """The hall with markup in every text, name, id and answer of scope s2."""

    def mad(turn: Turn) -> Turn:
        return msgspec.structs.replace(turn, text=EVIL, speaker=EVIL, caption=EVIL)

    dialogues = tuple(
        msgspec.structs.replace(d, title=EVIL, turns=tuple(map(mad, d.turns)))
        for d in banks.dataset.dialogues
    )
    questions = tuple(
        msgspec.structs.replace(
            q,
            text=EVIL,
            category=EVIL,
            gold=msgspec.structs.replace(q.gold, answer=EVIL),
            audited=Gold(answer=EVIL + "!", evidence=(EVIL,)),
            audit=EVIL,
        )
        for q in banks.dataset.questions
    )
    episodic = {
        scope: dataclasses.replace(
            bank,
            memories=tuple(
                msgspec.structs.replace(m, text=EVIL + m.id, owner=EVIL) for m in bank.memories
            ),
        )
        for scope, bank in banks.episodic.items()
    }
    dataset = msgspec.structs.replace(
        banks.dataset, name=EVIL, licence=EVIL, dialogues=dialogues, questions=questions
    )
    return dataclasses.replace(banks, dataset=dataset, episodic=episodic)


def test_markup_in_data_is_shown_and_does_nothing() -> None:
    one = opened(hostile(halls.hall()), "s2/8", PPRO)
    for figure in shown(one).values():
        assert "<img" not in figure.to_json() and "\\u003cimg" not in figure.to_json()
    page = card(one, EVIL, "m03")
    assert "<img" not in page and "<a " not in page and "<script" not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") > 10
    assert not re.search(r"<[^>]*\son\w+=", page)


# ---------------------------------------------------------------- the card


def test_the_card_holds_the_case_and_fetches_nothing(found: Ranked) -> None:
    one = opened(found.study.banks, "s2/8", PPRO)
    page = card(one, "chosen because")
    assert "chosen because" in page and one.text in page
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert not re.search(r"""(?:src|href)=|url\(|@import|https?://""", page)
    for place in told(one)["places"]:
        assert place["turn"] in page and f"<td>{place['with']}</td>" in page
    for hit in told(one)["rankings"]["with"][:5]:
        assert f"{hit['score']:.3f} = " in page
    with pytest.raises(UsageError):
        card(asking(found.study.banks, "word1?", Recipe(), "s1/Ana"), "no case")


@pytest.mark.parametrize("id", ["../../etc/passwd", "c1/3", "", "a\0b", "x" * 500, EVIL])
def test_a_card_is_named_by_its_question_and_never_a_path(id: str) -> None:
    assert re.fullmatch(r"case-[A-Za-z0-9_-]{1,80}\.html", card_name(id))


# ---------------------------------------------------------------- the lesson


def test_nothing_is_right_or_wrong_before_it_is_answered(found: Ranked) -> None:
    banks, pair = found.study.banks, tuple(found.study.questions[:2])
    checks = [
        lesson.check_twins(None, banks, pair),
        lesson.check_rank(None, {}),
        lesson.check_best_lam(None, found, "s1/1"),
        lesson.check_profile_alone(None, banks, Recipe(), pair),
        lesson.check_effects("s1/1", None, found.at(0.8, 5)),
        lesson.check_control(None, {}),
    ]
    assert {check.right for check in checks} == {None}


def test_the_same_words_of_two_friends_give_one_list(found: Ranked) -> None:
    banks = found.study.banks
    asked = [
        msgspec.structs.replace(q, text="same", people=(person,), until=None)
        for q, person in zip(banks.dataset.questions, ("Ana", "Bo"), strict=False)
    ]
    dataset = msgspec.structs.replace(banks.dataset, questions=tuple(asked))
    both = dataclasses.replace(banks, dataset=dataset)
    same = lesson.same_words(ranked(Study(found.study.workspace, both), Recipe(k=5)))
    assert list(same) == ["same"]
    pair = lesson.twins(same["same"])
    assert pair is not None
    assert lesson.check_twins(lesson.SAME, both, pair).right is True
    assert lesson.check_twins(lesson.DIFFERENT, both, pair).right is False
    other = tuple(q for q in banks.dataset.questions if q.scope == "s1")[:2]
    assert lesson.check_twins(lesson.DIFFERENT, banks, other).right is True  # other words


def test_ranks_and_weights_are_checked_against_the_ranking(found: Ranked) -> None:
    row = {"rank_without": 7, "rank_having": 3}
    assert lesson.check_rank(7, row).right is True
    assert lesson.check_rank(3, row) == (False, lesson.check_rank(3, row).said)
    assert "with the profile" in lesson.check_rank(3, row).said
    place = 4
    question = found.study.questions[place].id
    best = int(found.first[place].min())
    for lam, rank in zip(found.lams, found.first[place], strict=True):
        check = lesson.check_best_lam(lam, found, question)
        assert check.right is bool(rank == best)
        assert f"rank {best}" in check.said


def test_at_lambda_zero_only_a_prior_that_listens_hears_the_question(found: Ranked) -> None:
    banks = found.study.banks
    asked = [
        msgspec.structs.replace(q, people=("Ana",), until=None) for q in banks.dataset.questions
    ]
    dataset = msgspec.structs.replace(banks.dataset, questions=tuple(asked))
    hers = dataclasses.replace(banks, dataset=dataset)
    pair = (asked[0], asked[1])
    assert pair[0].text != pair[1].text and pair[0].scope == pair[1].scope
    for prior, truth in (("profile", lesson.SAME), ("facts", lesson.DIFFERENT)):
        recipe = Recipe(prior=prior, k=5)
        for answer in (lesson.SAME, lesson.DIFFERENT):
            check = lesson.check_profile_alone(answer, hers, recipe, pair)
            assert check.right is (answer == truth), (prior, check.said)


def test_a_helped_and_a_hurt_question_are_told_apart(found: Ranked) -> None:
    frame = found.at(0.8, 5)
    up = choose(found, "gain", 0.8, 5)["question"][0]
    down = choose(found, "loss", 0.8, 5)["question"][0]
    assert lesson.check_effects(up, down, frame).right is True
    assert lesson.check_effects(down, up, frame).right is False
    assert lesson.lifted_most(frame) == up


@pytest.mark.parametrize(
    ("ends", "truth"), [((-0.2, -0.1), 0), ((-0.1, 0.1), 1), ((0.1, 0.2), 2), ((None, None), 1)]
)
def test_a_control_is_judged_by_its_interval(ends: tuple[Any, Any], truth: int) -> None:
    row = {"difference": 0.0, "difference_lo": ends[0], "difference_hi": ends[1]}
    for place, answer in enumerate(lesson.VERDICTS):
        assert lesson.check_control(answer, row).right is (place == truth)
