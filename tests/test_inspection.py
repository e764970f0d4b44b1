"""What a bank set holds, as tables and figures: held against what is known of small banks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

from halls import Embedder, drawn, hall
from rooms import memory, unit
from workbench.bank import Bank
from workbench.bank_set import BankSet
from workbench.build import Build
from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.store import load_sample
from workbench.embed import Vectors
from workbench.errors import UsageError
from workbench.excerpt import excerpt, listing
from workbench.figures import (
    coverage_bars,
    dimension_bars,
    map_of_memories,
    session_changes,
    session_timeline,
)
from workbench.inspection import by_month, context, history, memory_table, sessions_of, timeline
from workbench.memory_map import memory_map, near_duplicates, neighbours
from workbench.memory_quality import EVERY, coverage, dimension_counts, duplicates, orphans
from workbench.passport import passport_of_banks
from workbench.schema import Dialogue, Gold, Memory, Profile, Question, Turn
from workbench.shelf import ProfileVectors
from workbench.streaming import session_added

NASTY = "<img src=x onerror=alert(1)>"


@cache
def sample(kind: str = "turns") -> BankSet:
    """The bundled sample's banks, with vectors drawn by text: no model, no workspace."""
    return _built(load_sample(ImportLog()), kind)


def banks_of(
    memories: list[Memory],
    turns: list[Turn],
    questions: tuple[Question, ...] = (),
    people: dict[str, ProfileVectors] | None = None,
) -> BankSet:
    """A bank set of one scope "s", made by hand; vectors are drawn by text."""
    vectors = np.stack([drawn(m.text) for m in memories])
    dataset = Dataset(
        name="small",
        format="jsonl",
        dialogues=(Dialogue(id="d", scope="s", title="A talk", turns=tuple(turns)),),
        questions=questions,
    )
    manifest = {"id": "small", "dataset": "small", "memories": "facts", "embedder": "drawn"}
    bank = Bank.build("s", memories, vectors, "fp")
    return BankSet(
        "small", manifest, dataset, Embedder(), None, {"s": bank}, {}, {"s": people or {}}
    )


def turns_of(*sessions: int) -> list[Turn]:
    """Turns D1:0, D1:1 .. of sessions "1", "2" .. of so many turns each."""
    return [
        Turn(id=f"D{s}:{i}", session=str(s), speaker="Ana" if i % 2 else "Bo", text=f"said {s}.{i}")
        for s, n in enumerate(sessions, start=1)
        for i in range(n)
    ]


# ---------------------------------------------------------------- sessions and dialogue


def test_the_timeline_counts_the_turns_of_each_session() -> None:
    banks = sample()
    found = timeline(banks.dataset, "c1")
    turns = [turn for d in banks.dataset.dialogues if d.scope == "c1" for turn in d.turns]
    assert found["turns"].sum() == len(turns)
    assert found["place"].to_list() == list(range(1, len(found) + 1))
    first = [turn for turn in turns if turn.session == found["session"][0]]
    assert found["turns"][0] == len(first)
    assert found["start"][0] == min(turn.time for turn in first if turn.time)
    assert found["speakers"][0] == "Nadia 9 · Tomasz 8"
    assert history(banks, "c1")["memories"].to_list() == found["turns"].to_list()
    months = by_month(history(banks, "c1"))
    assert months["turns"].sum() == len(turns) and months["sessions"].sum() == len(found)


def test_a_timeline_without_times_keeps_its_order_and_no_month() -> None:
    banks = banks_of([memory("m", "x", sources=("D2:0",))], turns_of(2, 3))
    found = history(banks, "s")
    assert found.select("session", "turns", "memories").rows() == [("1", 2, 0), ("2", 3, 1)]
    assert found["start"].null_count() == 2
    assert len(by_month(found)) == 0


def test_context_shows_neighbours_in_the_session_and_marks_gaps() -> None:
    dataset = banks_of([memory("m")], turns_of(9, 3)).dataset
    rows = context(dataset, "s", ["D1:1", "D1:6", "D2:0", "nobody"], around=1)
    assert rows["turn"].to_list() == [
        *("D1:0", "D1:1", "D1:2"),
        *("D1:5", "D1:6", "D1:7"),
        *("D2:0", "D2:1"),
    ]
    assert rows.filter("evidence")["turn"].to_list() == ["D1:1", "D1:6", "D2:0"]
    assert rows.filter("gap")["turn"].to_list() == ["D1:5", "D2:0"]
    assert len(context(dataset, "s", [])) == 0


def test_an_unknown_scope_is_an_error_that_names_scopes() -> None:
    banks = hall()
    for look in (
        lambda: timeline(banks.dataset, "elsewhere"),
        lambda: memory_table(banks, "elsewhere"),
        lambda: context(banks.dataset, "elsewhere", []),
        lambda: orphans(banks, "elsewhere"),
        lambda: coverage(banks, "elsewhere"),
        lambda: memory_map(banks, "elsewhere"),
        lambda: neighbours(banks, "elsewhere", "m00"),
        lambda: session_added(banks, "elsewhere", 1),
    ):
        with pytest.raises(UsageError, match="no scope 'elsewhere'; it has: s1, s2"):
            look()


# ---------------------------------------------------------------- memories


def test_the_memory_table_holds_every_layer_in_reading_order() -> None:
    banks = hall()
    table = memory_table(banks, "s2")
    layers = table.group_by("layer", maintain_order=True).len().rows()
    assert layers == [
        ("episodic", len(banks.episodic["s2"])),
        ("semantic", len(banks.semantic["s2"])),
        ("profile", 6),
    ]
    episodic = table.filter(pl.col("layer") == "episodic")["sources"].list.first().to_list()
    assert episodic == sorted(episodic)
    assert set(table.filter(pl.col("layer") == "profile")["owner"]) == {"Ana"}


def test_dimensions_are_counted_and_shares_add_up() -> None:
    table = memory_table(hall(), "s1").filter(pl.col("layer") == "episodic")
    counts = dimension_counts(table)
    sums = counts.group_by("dimension").agg(pl.sum("n"), pl.sum("share"))
    assert set(sums["n"]) == {len(table)}
    assert sums["share"].to_list() == pytest.approx([1, 1, 1])


def test_duplicates_are_of_one_person_and_in_the_same_words() -> None:
    texts = [
        ("a", "I like tea", "Ana"),
        ("b", "i  LIKE tea", "Ana"),
        ("c", "I like tea", "Bo"),
        ("d", "I like tea!", "Ana"),
    ]
    banks = banks_of(
        [memory(id, text, owner=who, sources=(f"D1:{id}",)) for id, text, who in texts],
        turns_of(1),
    )
    assert duplicates(banks, "s").rows() == [("I like tea", "Ana", 2, ["a", "b"], ["D1:a", "D1:b"])]


def test_orphans_are_of_two_kinds_and_say_why() -> None:
    turns = [
        *turns_of(2),
        Turn(id="T", session="1", speaker="tool", text="{}", role="tool"),
        Turn(id="E", session="1", speaker="Bo", text=" \u200b "),
    ]
    banks = banks_of([memory("m", "x", sources=("D1:0", "gone"))], turns)
    found = orphans(banks, "s")
    assert found.select("what", "id").rows() == [
        ("memory", "m"),
        ("turn", "D1:1"),
        ("turn", "T"),
        ("turn", "E"),
    ]
    assert found["why"].to_list() == [
        "episodic: no such turn: gone",
        "no rule reads a fact in it",
        "tool turns are not remembered",
        "the turn is blank",
    ]


def test_coverage_is_the_share_of_evidence_that_memories_rest_on() -> None:
    questions = (
        Question(id="a", scope="s", text="?", category="x", gold=Gold(evidence=("D1:0", "D1:1"))),
        Question(id="b", scope="s", text="?", category="y", gold=Gold(evidence=("D1:0",))),
        Question(id="c", scope="s", text="?", category="y"),
        Question(id="d", scope="s", text="?", abstention=True),
    )
    fact = memory("p", "likes tea", sources=("D1:1",))
    person = ProfileVectors(
        Profile(scope="s", person="Ana", facts=(fact,)),
        drawn("likes tea")[None],
        drawn("likes tea"),
    )
    banks = banks_of([memory("m", "x", sources=("D1:0",))], turns_of(2), questions, {"Ana": person})
    found = coverage(banks)
    assert (found.n, found.scopes, found.excluded) == (
        2,
        1,
        {"without evidence": 1, "abstention": 1},
    )
    shares = {(r["category"], r["series"]): r for r in found.shares.iter_rows(named=True)}
    assert [shares[c, "episodic"]["mean"] for c in ("x", "y", EVERY)] == [0.5, 1, 0.75]
    assert [shares[c, "profile"]["mean"] for c in ("x", "y", EVERY)] == [0.5, 0, 0.25]
    assert [shares[EVERY, "episodic"][n] for n in ("n", "pieces", "covered")] == [2, 3, 2]
    assert shares[EVERY, "semantic"]["covered"] == 0
    assert shares[EVERY, "episodic"]["lo"] <= 0.75 <= shares[EVERY, "episodic"]["hi"]


def test_coverage_of_the_sample_is_whole_for_turns() -> None:
    """What `recall` measures without a limit on K is what coverage says is possible."""
    found = coverage(sample())
    whole = found.shares.filter((pl.col("series") == "episodic") & (pl.col("category") == EVERY))
    assert whole["mean"].to_list() == [1.0]
    assert (found.n, found.excluded) == (115, {"abstention": 12})
    assert found.basis == "conversations"


def test_no_questions_no_coverage() -> None:
    found = coverage(banks_of([memory("m")], turns_of(1)))
    assert (found.n, len(found.shares)) == (0, 0)


# ---------------------------------------------------------------- vectors


def test_the_map_is_the_two_directions_of_most_variance() -> None:
    banks = hall()
    made = memory_map(banks, "s1")
    places = made.points.filter(pl.col("layer") == "episodic").select("x", "y").to_numpy()
    rows = banks.episodic["s1"].vectors.astype(np.float64)
    centred = rows - rows.mean(axis=0)
    values = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    assert (places**2).sum(axis=0) == pytest.approx(values[:2])
    assert made.shares == pytest.approx(values[:2] / values.sum())
    assert abs(places[:, 0] @ places[:, 1]) < 1e-9
    assert made.points.equals(memory_map(banks, "s1").points)
    assert (made.drawn, made.total, made.dim) == (40, 40, 6)


def test_a_person_s_map_holds_theirs_only_and_a_large_one_is_a_sample() -> None:
    banks = hall()
    assert set(memory_map(banks, "s1", "Bo").points["owner"]) == {"Bo"}
    sampled = memory_map(banks, "s1", most=10)
    assert (sampled.drawn, sampled.total) == (10, 40)
    assert sampled.points.equals(memory_map(banks, "s1", most=10).points)
    assert not sampled.points.equals(memory_map(banks, "s1", most=10, seed=1).points)
    assert len(memory_map(banks, "s1", "nobody").points) == 0


def test_neighbours_are_the_nearest_by_the_cosine_of_whole_vectors() -> None:
    banks = hall()
    bank = banks.episodic["s1"]
    found = neighbours(banks, "s1", "m03", n=6)
    cosines = bank.vectors @ bank.vectors[bank.rows["m03"]]
    best = sorted(np.delete(cosines, bank.rows["m03"]), reverse=True)[:6]
    assert found["cosine"].to_list() == pytest.approx(best, abs=1e-6)
    assert "m03" not in found["memory"].to_list() and len(found) == 6
    profile = memory_table(banks, "s1").filter(pl.col("layer") == "profile")["memory"][0]
    assert len(neighbours(banks, "s1", profile)) == 5
    with pytest.raises(UsageError, match="no memory 'm99'"):
        neighbours(banks, "s1", "m99")


def test_near_duplicates_are_all_pairs_alike_of_one_person() -> None:
    rows: Vectors = unit([[1, 0, 0], [1, 0.1, 0], [1, 0, 0.1], [0, 1, 0], [1, 0.05, 0]])
    owners = ["Ana", "Ana", "Ana", "Ana", "Bo"]
    memories = [memory(f"m{i}", f"text {i}", owner=who) for i, who in enumerate(owners)]
    banks = banks_of(memories, turns_of(1))
    made = with_bank(banks, Bank.build("s", memories, rows, "fp"))
    found = near_duplicates(made, "s", alike=0.98)
    assert found.pairs.select("memory", "other").rows() == [
        ("m0", "m1"),
        ("m0", "m2"),
        ("m1", "m2"),
    ]
    expected = sorted((float(rows[i] @ rows[j]) for i, j in ((0, 1), (0, 2), (1, 2))), reverse=True)
    assert found.pairs["cosine"].to_list() == pytest.approx(expected, abs=1e-5)
    assert (found.found, found.compared, found.total) == (3, 5, 5)
    assert near_duplicates(made, "s", most=2).compared == 2


# ---------------------------------------------------------------- what a session added


@pytest.mark.parametrize("kind", ["turns", "facts"])
def test_both_moments_are_what_a_build_of_so_many_sessions_makes(kind: str) -> None:
    """The difference is held against two builds, of the history before and after."""
    whole, scope, place = sample(kind), "c3", 5
    sessions = sessions_of(whole.dataset, scope)
    before, after = (_state(_cut(whole, scope, kind, sessions[:n]), scope) for n in (4, 5))
    found = session_added(whole, scope, place)
    assert found.rebuilt and found.session == sessions[place - 1][1]
    for layer in ("semantic", "profile"):
        rows = found.changes.filter(pl.col("layer") == layer)
        there = rows.filter(pl.col("change") != "gone").select("owner", "text", "after").rows()
        assert {(o, t, frozenset(a)) for o, t, a in there} == after[layer]
        same = rows.filter(pl.col("change") == "unchanged").select("owner", "text", "after").rows()
        assert {(o, t, frozenset(a)) for o, t, a in same} == after[layer] & before[layer]
    counts = {(layer, change): n for layer, change, n in found.counts.rows()}
    new = after["episodic"] - before["episodic"]
    assert {(o, t, frozenset(s)) for o, t, s in _said(found.memories)} == new
    assert counts["episodic", "new"] == len(new) > 0
    assert after["semantic"] != before["semantic"]
    assert counts["episodic", "unchanged"] == len(before["episodic"])


def test_clusters_can_come_grow_and_break_up() -> None:
    """Two memories alike make a group, a third joins it; a pair with a nearer newcomer parts."""
    third = unit([[1, 0, 0, 0, 0, 0], [1, 0.2, 0, 0, 0, 0], [1, 0.1, 0.1, 0, 0, 0]])
    #  0° and 25° are alike (cosine 0.906), 25° and 45°, too (0.94), 0° and 45° are not: complete
    #  linkage joins the nearer pair, and the old group is no more.
    angles = np.deg2rad([0, 25, 45])
    zeros = np.zeros((3, 3))
    turning = unit(np.column_stack([zeros, np.cos(angles), np.sin(angles), np.zeros(3)]))
    alone = unit([[0, 0, 1, 0, 0, 0], [0, 0.1, 1, 0, 0, 0]])
    rows = np.concatenate([third, turning, alone])
    sources = ["D1:0", "D1:1", "D2:0", "D1:2", "D1:3", "D2:1", "D2:2", "D2:3"]
    memories = [memory(f"m{i}", f"text {i}", sources=(s,)) for i, s in enumerate(sources)]
    banks = banks_of(memories, turns_of(4, 4))
    banks = with_bank(banks, Bank.build("s", memories, rows, "fp"))
    found = session_added(banks, "s", 2).changes.filter(pl.col("layer") == "semantic")
    told = {(c, tuple(b), tuple(a)) for c, b, a in found.select("change", "before", "after").rows()}
    assert told == {
        ("grown", ("D1:0", "D1:1"), ("D1:0", "D1:1", "D2:0")),
        ("gone", ("D1:2", "D1:3"), ()),
        ("new", (), ("D1:3", "D2:1")),
        ("new", (), ("D2:2", "D2:3")),
    }


def test_a_history_too_long_to_be_made_anew_is_cut_instead() -> None:
    banks = sample()
    made, cut = session_added(banks, "c1", 4), session_added(banks, "c1", 4, most_turns=10)
    assert (made.rebuilt, cut.rebuilt) == (True, False)
    assert cut.memories.equals(made.memories)
    finished = {f.id for p in banks.people["c1"].values() for f in p.profile.facts}
    assert cut.changes.filter(pl.col("layer") == "profile").height <= len(finished)
    with pytest.raises(UsageError, match="7 sessions; there is no session 8"):
        session_added(banks, "c1", 8)
    with pytest.raises(UsageError, match="no session 0"):
        session_added(banks, "c1", 0)


# ---------------------------------------------------------------- figures and HTML


def test_the_figures_show_the_numbers_and_carry_their_passport() -> None:
    banks = hall()
    passport = passport_of_banks(banks.manifest, 40)
    sessions = history(banks, "s1")
    line = session_timeline(sessions, passport, chosen=2)
    assert list(line.data[1].y) == sessions["turns"].to_list()
    assert list(line.data[2].y) == sessions["memories"].to_list()
    assert "40 turns in 4 sessions" in line.layout.meta["caption"]
    made = memory_map(banks, "s1", most=20)
    picture = map_of_memories(made, passport, "m03", [made.points["memory"][0]])
    drawn_points = sum(len(t.x) for t in picture.data if t.mode == "markers" and t.name)
    assert drawn_points == len(made.points)
    assert "n = 20 of 40 episodic memories (a seeded sample)" in picture.layout.meta["caption"]
    cover = coverage(banks)
    layers = {"episodic": 0, "semantic": 1, "profile": 2}
    bars = coverage_bars(cover.shares, passport)
    by_layer = cover.shares.sort(pl.col("series").replace_strict(layers), maintain_order=True)
    assert [value for bar in bars.data for value in bar.x] == by_layer["mean"].to_list()
    counts = dimension_counts(memory_table(banks, "s1"))
    parts = dimension_bars(counts, passport)
    assert sum(bar.x[0] for bar in parts.data) == pytest.approx(3)
    change = session_added(banks, "s1", 3, most_turns=1)
    changes = session_changes(change.counts, passport, change.rebuilt)
    assert "Too long" in changes.layout.meta["caption"]
    for figure in (line, picture, bars, parts, changes):
        assert figure.layout.meta["passport"]["data"] == "hall"
        assert "hall · recipe" in figure.layout.meta["caption"]


def test_data_is_inert_in_figures_and_in_html() -> None:
    turns = [Turn(id=NASTY, session=NASTY, speaker=NASTY, text=f"a\n{NASTY}", caption=NASTY)] * 1
    memories = [
        memory(f"{NASTY}{i}", f"{NASTY}{i}", owner=NASTY, sources=(NASTY,)) for i in range(4)
    ]
    banks = banks_of(memories, turns)
    passport = passport_of_banks({**banks.manifest, "dataset": NASTY}, 4)
    figures = [
        session_timeline(history(banks, "s"), passport),
        map_of_memories(memory_map(banks, "s"), passport, f"{NASTY}0"),
    ]
    for figure in figures:
        bare = figure.update_layout(meta=None).to_json()
        assert "\\u003cimg" not in bare and "<img" not in bare
        assert "lt;img" in bare
    shown = excerpt(context(banks.dataset, "s", [NASTY])) + listing(
        memory_table(banks, "s"), {"owner": "whose", "text": "text", "sources": "turns"}
    )
    assert "<img" not in shown and shown.count("&lt;img") > 10


def test_a_listing_says_how_many_it_leaves_out_and_cuts_texts() -> None:
    rows = pl.DataFrame({"n": range(1_200), "text": ["x" * 500] * 1_200, "of": [["a"] * 9] * 1_200})
    shown = listing(rows, {"n": "number", "text": "text", "of": "of"}, most=3, cut=30)
    assert "3 of 1,200 are shown." in shown and "x" * 30 not in shown
    assert "a, a, a, a, a, a and 3 more" in shown
    assert listing(rows.head(0), {"n": "number"}) == ""


def test_marks_and_gaps_of_an_excerpt() -> None:
    dataset = banks_of([memory("m")], turns_of(9)).dataset
    shown = excerpt(context(dataset, "s", ["D1:1", "D1:7"], around=1))
    assert shown.count("<mark") == 2 and ">said 1.1</mark>" in shown
    assert shown.count("<p>…</p>") == 1
    assert "No turn" in excerpt(context(dataset, "s", []))


# ---------------------------------------------------------------- made for these tests


def with_bank(banks: BankSet, bank: Bank) -> BankSet:
    """The same set with another episodic bank."""
    return replace(banks, episodic={"s": bank})


def _built(dataset: Dataset, kind: str) -> BankSet:
    """Everything that a build makes of a dataset, with vectors drawn by text."""
    maker = Build(dataset, kind, Embedder(), None)  # type: ignore[arg-type]
    remembered, profiles = maker._remember()
    episodic = {
        scope: Bank.build(scope, made, _drawn([m.text for m in made]), "fp")
        for scope, made in remembered.items()
    }
    clusters = maker._aggregate(episodic)
    semantic = {
        scope: Bank.build(scope, made, _drawn([m.text for m in made]), "fp")
        for scope, made in clusters.items()
        if made
    }
    people: dict[str, dict[str, ProfileVectors]] = {}
    for profile in profiles:
        facts = _drawn([fact.text for fact in profile.facts])
        person = ProfileVectors(profile, facts, drawn(profile.text) if len(facts) else None)
        people.setdefault(profile.scope, {})[profile.person] = person
    manifest = {"id": "made", "dataset": dataset.name, "memories": kind, "left_out": {}}
    return BankSet("made", manifest, dataset, Embedder(), None, episodic, semantic, people)  # type: ignore[arg-type]


def _drawn(texts: Sequence[str]) -> Vectors:
    return np.stack([drawn(text) for text in texts]) if texts else np.empty((0, 6), np.float32)


def _cut(whole: BankSet, scope: str, kind: str, sessions: Sequence[Any]) -> BankSet:
    """A build of some sessions of a scope."""
    said = {turn.id for _, _, turns in sessions for turn in turns}
    dialogues = tuple(
        msgspec.structs.replace(d, turns=tuple(t for t in d.turns if t.id in said))
        for d in whole.dataset.dialogues
        if d.scope == scope
    )
    return _built(msgspec.structs.replace(whole.dataset, dialogues=dialogues), kind)


def _state(banks: BankSet, scope: str) -> dict[str, set[tuple[str, str, frozenset[str]]]]:
    """(owner, text, sources) of everything in each layer."""
    table = memory_table(banks, scope)
    return {
        layer: {
            (owner, text, frozenset(sources))
            for owner, text, sources in _said(table.filter(pl.col("layer") == layer))
        }
        for layer in ("episodic", "semantic", "profile")
    }


def _said(table: pl.DataFrame) -> list[tuple[str, str, list[str]]]:
    return table.select("owner", "text", "sources").rows()
