"""Collecting judgments: blinded, drawn with a seed, never lost and never counted twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from reward_model.collect import (
    Card,
    Collection,
    PlanOptions,
    collected,
    collections,
    discard,
    export,
    open_collection,
    participants,
    start,
)
from reward_model.collection_plan import draw_plan
from reward_model.judgment_log import Row
from reward_model.quality import quality_filter
from reward_model.schema import Comparison
from reward_model.store import open_comparisons
from shell import bytes_under, environment
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.schema import encode_jsonl
from workbench.workspace import Workspace

PLAIN = PlanOptions(attention=0, repeats=0.0)


def candidates(n: int = 40, participant: str = "ana") -> list[Comparison]:
    return [
        Comparison(
            id=f"{participant}-{i}",
            participant=participant,
            query=f"query {i}",
            memories=(f"memory {i}",),
            with_memory=f"WITH {i}",
            without_memory=f"WITHOUT {i}",
            generator="secret-generator",
            regime="ordinary",
        )
        for i in range(n)
    ]


class Clock:
    """A clock that moves ten seconds a look."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 10, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=10)
        return self.now


@pytest.fixture
def collection(workspace: Workspace) -> Collection:
    start(workspace, "study", "ana", candidates(4), PLAIN)
    return open_collection(workspace, "study", "ana", Clock())


def drawn(collection: Collection) -> Card:
    card = collection.draw()
    assert card is not None
    return card


# ---------------------------------------------------------------- the plan


def test_a_plan_shows_every_pair_once_and_adds_checks_and_repeats() -> None:
    plan = draw_plan("ana", candidates(40), PlanOptions(attention=3, repeats=0.1))
    kinds = Counter(item.kind for item in plan.items)
    assert kinds == {"pair": 40, "attention check": 3, "repeat": 4}
    pairs = [item.comparison.id for item in plan.items if item.kind == "pair"]
    assert sorted(pairs) == sorted(one.id for one in candidates(40))
    assert pairs != [one.id for one in candidates(40)]
    assert plan.fewer_repeats == ""
    assert len({item.id for item in plan.items}) == len(plan.items) == 47
    assert len({item.comparison.id for item in plan.items}) == 47


def test_the_same_seed_draws_the_same_plan_and_people_get_different_ones() -> None:
    one, again = (draw_plan("ana", candidates(), PlanOptions(seed=3)) for _ in range(2))
    assert one == again
    assert draw_plan("ana", candidates(), PlanOptions(seed=4)).items != one.items
    bo = draw_plan("bo", candidates(participant="bo"), PlanOptions(seed=3))
    queries = [[item.comparison.query for item in plan.items] for plan in (one, bo)]
    assert queries[0] != queries[1]


@pytest.mark.parametrize("n", [1, 7, 40])
def test_both_orders_are_used_equally_often(n: int) -> None:
    seen = Counter()
    for seed in range(20):
        plan = draw_plan("ana", candidates(n), PlanOptions(seed=seed, attention=0, repeats=0.0))
        first = sum(item.comparison.order == "memory first" for item in plan.items)
        assert first in (n // 2, n - n // 2)
        seen[first] += 1
    assert n % 2 == 0 or len(seen) == 2  # the odd one goes either way


def test_a_repeat_comes_later_with_a_distance_and_in_the_other_order() -> None:
    for seed in range(60):
        options = PlanOptions(seed=seed, attention=4, repeats=0.3, gap=4)
        plan = draw_plan("ana", candidates(14), options)
        place = {item.comparison.id: n for n, item in enumerate(plan.items)}
        repeats = [item.comparison for item in plan.items if item.kind == "repeat"]
        assert len(repeats) == 4
        for again in repeats:
            assert again.repeat_of is not None
            first = plan.items[place[again.repeat_of]].comparison
            assert place[again.id] - place[first.id] >= 4
            assert again.order != first.order
            assert (again.query, again.with_memory) == (first.query, first.with_memory)


def test_repeats_in_a_random_order_use_both() -> None:
    options = PlanOptions(repeats=0.5, reverse=False, attention=0)
    plan = draw_plan("ana", candidates(60), options)
    first = {item.comparison.id: item.comparison for item in plan.items}
    repeats = [item.comparison for item in plan.items if item.kind == "repeat"]
    same = sum(one.order == first[one.repeat_of].order for one in repeats if one.repeat_of)
    assert 0 < same < len(repeats) == 30


def test_too_few_pairs_for_the_repeats_is_said() -> None:
    plan = draw_plan("ana", candidates(5), PlanOptions(repeats=1.0, gap=4, attention=0))
    assert sum(item.kind == "repeat" for item in plan.items) == 2
    assert plan.fewer_repeats.startswith("2 of 5")


def test_checks_are_spread_out_never_first_and_know_their_right_side() -> None:
    firsts = Counter()
    for seed in range(30):
        plan = draw_plan("ana", candidates(30), PlanOptions(seed=seed, attention=3, repeats=0.0))
        at = [n for n, item in enumerate(plan.items) if item.kind == "attention check"]
        assert 0 < at[0] <= 10 < at[1] <= 21 < at[2]
        for item in (plan.items[n].comparison for n in at):
            assert item.attention == ("A" if item.order == "memory first" else "B")
            firsts[item.attention] += 1
    assert min(firsts.values()) > 20


@pytest.mark.parametrize(
    ("change", "error", "why"),
    [
        ({"judgment": "same"}, DataError, "ana-1"),
        ({"participant": "bo"}, DataError, "'bo'"),
        ({"id": "ana-0"}, DataError, "ana-0"),
        ({"repeat_of": "ana-0"}, DataError, "no repeat"),
    ],
)
def test_candidates_that_are_none_are_refused(
    change: dict[str, str], error: type[Exception], why: str
) -> None:
    first, second = candidates(2)
    with pytest.raises(error, match=why):
        draw_plan("ana", [first, msgspec.structs.replace(second, **change)], PLAIN)


@pytest.mark.parametrize(
    "options", [PlanOptions(gap=1), PlanOptions(repeats=1.2), PlanOptions(attention=9)]
)
def test_options_that_cannot_be_meant_are_refused(options: PlanOptions) -> None:
    with pytest.raises(UsageError):
        draw_plan("ana", candidates(8), options)


# ---------------------------------------------------------------- what the page gets


def test_a_card_does_not_tell_which_response_used_memories(workspace: Workspace) -> None:
    options = PlanOptions(attention=3, repeats=0.2)
    collection = start(workspace, "study", "ana", candidates(20), options)
    sides = Counter()
    told: list[dict[str, object]] = []
    while (card := collection.draw()) is not None:
        told.append(msgspec.to_builtins(card))
        comparison = next(i.comparison for i in collection.plan.items if i.id == card.item)
        first = comparison.order == "memory first"
        texts = (comparison.with_memory, comparison.without_memory)
        assert (card.a, card.b) == (texts if first else texts[::-1])
        sides[card.a.startswith("WITHOUT")] += 1
        collection.judge(card.item, card.token, "same")
    assert set(told[0]) == {"item", "token", "number", "of", "query", "a", "b"}
    assert [one["item"] for one in told] == [f"item-{n:04d}" for n in range(1, 28)]
    assert [one["number"] for one in told] == list(range(1, 28))
    page = json.dumps(told).lower()
    for secret in ("secret-generator", "ordinary", "memory 1", "ana-", "-again", "attention"):
        assert secret not in page
    assert min(sides.values()) >= 8


# ---------------------------------------------------------------- judging


def test_a_double_click_counts_once_and_the_first_click_counts(collection: Collection) -> None:
    card = drawn(collection)
    first = collection.judge(card.item, card.token, "A much better", "clear")
    second = collection.judge(card.item, card.token, "B much better")
    assert second == first
    assert collection.progress().judged == 1
    assert len(collection.log.rows()) == 2


def test_a_second_tab_sees_the_same_item_and_cannot_judge_it_again(collection: Collection) -> None:
    one, other = drawn(collection), drawn(collection)
    assert one.item == other.item and one.token != other.token
    collection.judge(one.item, one.token, "same")
    with pytest.raises(UsageError, match="another tab"):
        collection.judge(other.item, other.token, "A much better")
    assert collection.collected().comparisons[0].judgment == "same"
    assert drawn(collection).item != one.item


@pytest.mark.parametrize(
    ("item", "token", "judgment", "why"),
    [
        ("item-0001", "made up", "same", "not shown"),
        ("item-0002", None, "same", "not shown"),
        ("item-9999", None, "same", "no item"),
        ("../../x", None, "same", "no item"),
        ("item-0001", None, "A", "is no judgment"),
    ],
)
def test_what_was_not_shown_cannot_be_judged(
    collection: Collection, item: str, token: str | None, judgment: str, why: str
) -> None:
    card = drawn(collection)
    with pytest.raises(UsageError, match=why):
        collection.judge(item, token or card.token, judgment)  # type: ignore[arg-type]
    assert collection.progress().judged == 0


def test_a_judgment_can_be_taken_back_once_and_the_item_comes_again(collection: Collection) -> None:
    card = drawn(collection)
    collection.judge(card.item, card.token, "A much better")
    second = drawn(collection)
    collection.judge(second.item, second.token, "same")
    last = collection.last()
    assert last is not None and (last.item, last.token) == (second.item, second.token)
    collection.undo(card.item, card.token)
    collection.undo(card.item, card.token)  # a double click on "undo"
    assert collection.progress() == msgspec.convert(
        {"items": 4, "judged": 1, "left": 3, "changed": 1}, type(collection.progress())
    )
    again = drawn(collection)
    assert again.item == card.item and again.token != card.token
    collection.judge(again.item, again.token, "B slightly better")
    held = {one.id: one.judgment for one in collection.collected().comparisons}
    assert held[collection.plan.items[0].comparison.id] == "B slightly better"
    acts = [row.act for row in collection.log.rows()]
    assert acts.count("judged") == 3 and acts.count("undone") == 1
    with pytest.raises(UsageError, match="no judgment of this token"):
        collection.undo(again.item, second.token)


def test_a_stale_click_after_undoing_does_not_bring_a_judgment_back(collection: Collection) -> None:
    card = drawn(collection)
    collection.judge(card.item, card.token, "A much better")
    collection.undo(card.item, card.token)
    collection.judge(card.item, card.token, "A much better")
    assert collection.progress().judged == 0


def test_a_judgment_can_be_replaced_by_a_further_row(collection: Collection) -> None:
    card = drawn(collection)
    with pytest.raises(UsageError, match="not judged"):
        collection.reopen(card.item)
    collection.judge(card.item, card.token, "A much better", "first")
    again = collection.reopen(card.item)
    assert (again.a, again.b) == (card.a, card.b)
    collection.judge(again.item, again.token, "B much better", "second", replace=True)
    [held] = collection.collected().comparisons
    assert (held.judgment, held.note) == ("B much better", "second")
    assert [row.note for row in collection.log.rows() if row.act == "judged"] == ["first", "second"]


def test_times_are_of_the_display_that_was_judged(collection: Collection) -> None:
    drawn(collection)  # shown at 10:00:10 and abandoned
    card = drawn(collection)  # 10:00:20
    collection.judge(card.item, card.token, "same")  # 10:00:30
    [held] = collection.collected().comparisons
    assert held.shown == datetime(2026, 3, 1, 10, 0, 20, tzinfo=UTC)
    assert held.seconds == 10


# ---------------------------------------------------------------- crashes


def test_a_torn_last_line_is_cut_off_and_nothing_acknowledged_is_lost(
    collection: Collection,
) -> None:
    card = drawn(collection)
    collection.judge(card.item, card.token, "same", "kept")
    whole = collection.log.path.read_bytes()
    for torn in (b'{"n":3,"act":"judged","item":"item-0002","tok', b"\0" * 40, b'{"n":3,"ac\0\0\n'):
        collection.log.path.write_bytes(whole + torn)
        assert collection.progress().judged == 1  # a reader is not disturbed
        assert collection.log.path.read_bytes() == whole + torn  # and changes nothing
        second = drawn(collection)
        assert second.number == 2
        assert collection.log.path.read_bytes().startswith(whole + b'{"n":3,"act":"shown"')
        assert collection.log.path.read_bytes().count(b"\n") == 3


def test_damage_before_the_end_is_an_error_that_names_the_line(collection: Collection) -> None:
    card = drawn(collection)
    collection.judge(card.item, card.token, "same")
    lines = collection.log.path.read_bytes().splitlines(keepends=True)
    collection.log.path.write_bytes(b"{}\n" + lines[1])
    with pytest.raises(WorkspaceError, match=r"judgments\.jsonl, line 1"):
        collection.draw()
    collection.log.path.write_bytes(lines[0] * 2 + lines[1])
    with pytest.raises(WorkspaceError, match="changed by hand"):
        collection.progress()


JUDGE = """
import sys
from reward_model.collect import open_collection
from workbench.errors import UsageError
from workbench.schema import encode_jsonl
from workbench.workspace import Workspace

root, tab, wanted = sys.argv[1:]
collection = open_collection(Workspace(root), "study", "ana")
if wanted == "both":
    print("ready", flush=True)
    sys.stdin.readline()
while (card := collection.draw()) is not None:
    if wanted == "both":  # another tab may have it as well: whoever is first wins
        try:
            row = collection.judge(card.item, card.token, "same", tab)
        except UsageError:
            continue
    else:
        row = collection.judge(card.item, card.token, "A much better", tab * 200)
    print(row.item, row.token, flush=True)
"""


def judging(workspace: Workspace, tab: str, wanted: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", JUDGE, str(workspace.root), tab, wanted],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_kill_9_loses_no_judgment_that_was_acknowledged(workspace: Workspace) -> None:
    start(workspace, "study", "ana", candidates(4000), PLAIN)
    acknowledged: list[str] = []
    for judged_before_death in (3, 17, 40):
        process = judging(workspace, "x", "one")
        assert process.stdout is not None
        acknowledged += [process.stdout.readline() for _ in range(judged_before_death)]
        process.send_signal(signal.SIGKILL)
        acknowledged += process.communicate()[0].splitlines(keepends=True)
    collection = open_collection(workspace, "study", "ana")
    held = {f"{r.item} {r.token}\n" for r in collection.log.rows() if r.act == "judged"}
    whole = [line for line in acknowledged if line.endswith("\n")]
    assert len(whole) >= 60 and set(whole) <= held
    assert len(held) - len(whole) <= 3  # kept, and killed before saying so
    card = drawn(collection)  # no lock is left behind, and it goes on where it was
    assert card.number == len(held) + 1


def test_two_processes_judge_every_item_exactly_once(workspace: Workspace) -> None:
    start(workspace, "study", "ana", candidates(200), PLAIN)
    both = [judging(workspace, tab, "both") for tab in ("one", "two")]
    for process in both:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in both:  # both are at the start: now they race
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [line for process in both for line in process.communicate(timeout=50)[0].splitlines()]
    assert [process.returncode for process in both] == [0, 0]
    rows = open_collection(workspace, "study", "ana").log.rows()
    judged = [row for row in rows if row.act == "judged"]
    assert sorted(f"{row.item} {row.token}" for row in judged) == sorted(told)
    assert sorted(row.item for row in judged) == [f"item-{n:04d}" for n in range(1, 201)]
    assert [row.n for row in rows] == list(range(1, len(rows) + 1))


# ---------------------------------------------------------------- the study


def answer_all(collection: Collection, attentive: bool = True) -> None:
    """Prefer the response with memories; on a check, the sensible (or the other) answer."""
    items = {item.id: item.comparison for item in collection.plan.items}
    while (card := collection.draw()) is not None:
        one = items[card.item]
        side = one.attention or ("A" if one.order == "memory first" else "B")
        if one.attention and not attentive:
            side = "B" if side == "A" else "A"
        judgment = "A much better" if side == "A" else "B much better"
        collection.judge(card.item, card.token, judgment)  # type: ignore[arg-type]


def test_a_study_is_exported_to_the_schema_and_passes_the_quality_filter(
    workspace: Workspace,
) -> None:
    options = PlanOptions(attention=2, repeats=0.2, seed=1)
    for person, attentive in (("ana", True), ("bo", False)):
        start(workspace, "study", person, candidates(20, person), options)
        answer_all(open_collection(workspace, "study", person, Clock()), attentive)
    assert collections(workspace) == {"study": {"participants": 2, "items": 52, "judged": 52}}
    export(workspace, "study", "mine")
    held = open_comparisons(workspace, "mine")
    assert len(held.comparisons) == 52 and not held.synthetic
    ordinary = [one for one in held.comparisons if one.attention is None]
    assert all(one.prefers_memory for one in ordinary)
    repeats = [one for one in ordinary if one.repeat_of is not None]
    assert len(repeats) == 8
    kept = quality_filter(held.comparisons).kept
    assert {one.participant for one in kept} == {"ana"}  # bo failed the checks


def test_a_repeat_is_left_out_while_what_it_repeats_is_taken_back(workspace: Workspace) -> None:
    options = PlanOptions(attention=0, repeats=0.2, gap=2)
    collection = start(workspace, "study", "ana", candidates(5), options)
    answer_all(collection)
    [again] = [item.comparison for item in collection.plan.items if item.kind == "repeat"]
    first = next(i for i in collection.plan.items if i.comparison.id == again.repeat_of)
    row = next(r for r in collection.log.rows() if r.act == "judged" and r.item == first.id)
    collection.undo(row.item, row.token)
    assert collected(workspace, "study").left_out == {
        "not judged yet": (first.comparison.id,),
        "repeats what is not judged": (again.id,),
    }
    assert len(collected(workspace, "study").comparisons) == 4


def test_starting_again_goes_on_and_another_plan_is_refused(workspace: Workspace) -> None:
    collection = start(workspace, "study", "ana", candidates(4), PLAIN)
    card = drawn(collection)
    collection.judge(card.item, card.token, "same")
    assert start(workspace, "study", "ana", candidates(4), PLAIN).progress().judged == 1
    with pytest.raises(UsageError, match="4 other items"):
        start(workspace, "study", "ana", candidates(5), PLAIN)


def test_a_participants_id_names_no_file_and_withdrawing_removes_everything(
    workspace: Workspace,
) -> None:
    person = "../../ana <b>"
    start(workspace, "study", person, candidates(2, person), PLAIN)
    answer_all(open_collection(workspace, "study", person))
    assert list(participants(workspace, "study")) == [person]
    assert {path.parent.parent.name for path in workspace.root.rglob("plan.json")} == {"study"}
    discard(workspace, "study", person)
    assert participants(workspace, "study") == {}
    assert b"WITHOUT 1" not in bytes_under(workspace.root)
    with pytest.raises(UsageError, match="nobody yet"):
        open_collection(workspace, "study", person)
    with pytest.raises(UsageError):
        start(workspace, "../x", "ana", candidates(2), PLAIN)


def test_nothing_judged_is_nothing_to_export(workspace: Workspace) -> None:
    start(workspace, "study", "ana", candidates(2), PLAIN)
    with pytest.raises(DataError, match="nothing is judged"):
        export(workspace, "study", "mine")


def test_two_people_with_the_same_ids_are_told_apart(workspace: Workspace) -> None:
    for person in ("ana", "bo"):
        own = [msgspec.structs.replace(one, participant=person) for one in candidates(2)]
        start(workspace, "study", person, own, PLAIN)
        answer_all(open_collection(workspace, "study", person))
    with pytest.raises(DataError, match="an id of its own"):
        collected(workspace, "study")


def test_drawing_and_judging_stay_quick_at_the_end_of_a_long_collection(
    workspace: Workspace,
) -> None:
    start(workspace, "study", "ana", candidates(1000), PLAIN)
    collection = open_collection(workspace, "study", "ana")
    at = datetime(2026, 3, 1, tzinfo=UTC)
    rows = []
    for number, item in enumerate(collection.plan.items[:-1], start=1):
        given = {"item": item.id, "token": "t", "at": at}
        rows.append(Row(n=2 * number - 1, act="shown", **given))
        rows.append(Row(n=2 * number, act="judged", judgment="same", **given))
    collection.log.path.write_bytes(b"".join(encode_jsonl(rows)))
    began = time.process_time()
    card = drawn(collection)
    collection.judge(card.item, card.token, "same")
    assert time.process_time() - began < 0.3
    assert collection.progress().left == 0 and card.number == 1000
