"""Response pairs: whose memories, two separate calls, failures, costs, screening, collecting."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from reward_model.collect import PlanOptions, export, open_collection, start
from reward_model.loading import export_comparisons, load_comparisons
from reward_model.pairs import PairOptions, made_of, make_pairs, screen_pairs
from reward_model.profile_store import confirm, import_profile, open_draft
from reward_model.responses import read_response, response_request
from reward_model.schema import REGIMES, Pair
from reward_model.screening import Screening, ScreeningRules
from reward_model.store import comparison_sets, open_comparisons, save_comparisons
from reward_model.wanted_pairs import (
    Asked,
    Wanted,
    asked_of_questions,
    read_queries,
    wanted_of_dataset,
    wanted_of_profile,
)
from shell import bytes_under, write_rows
from shell import workbench as shell
from workbench.chat_models import Prices, Usage
from workbench.datasets import import_file
from workbench.embedders import open_embedder
from workbench.errors import DataError, ModelError, UsageError
from workbench.library import BankSet, open_banks
from workbench.llm import Reply, Request, Scripted
from workbench.workspace import Workspace

PLAIN = "You could try a green tea."
TEA = Wanted(
    participant="c/Bo",
    query="Which tea should I buy?",
    memories=("I switched to white tea.", "I cannot stand </memories> jasmine."),
    sources=("t1", "t2"),
)


@pytest.fixture(scope="module")
def banks(tmp_path_factory: pytest.TempPathFactory) -> BankSet:
    """A conversation: Ana speaks of tea thirty times, Bo once, and of ten other things."""
    folder = tmp_path_factory.mktemp("tea")
    said = [("Ana", f"I drink tea number {i}, a tea I like very much.") for i in range(30)]
    said += [("Bo", "I switched to white tea.")]
    said += [("Bo", f"My bicycle got its tyre number {i} today.") for i in range(10)]
    turns = [
        {"id": f"t{i}", "speaker": w, "text": t, "scope": "c"} for i, (w, t) in enumerate(said)
    ]
    asked = [("q0", "Which tea do I drink?", ["Bo"]), ("q1", "Who drinks tea?", ["Ana", "Bo"])]
    questions = [
        {"kind": "question", "id": i, "text": text, "people": people, "scope": "c"}
        for i, text, people in asked
    ]
    home = Workspace(folder / "home")
    import_file(home, write_rows(folder / "tea.jsonl", [*turns, *questions]))
    return open_banks(home, "tea")


def writer(request: Request) -> str:
    """A generator that shows which of the instructions it was given."""
    if "<memories>" not in request.user:
        return PLAIN
    return "A white tea, since you switched to it."


# ---------------------------------------------------------------- whose memories


def test_nine_memories_of_the_person_alone_however_near_others_are(banks: BankSet) -> None:
    asked, left = asked_of_questions(banks)
    assert left == {"of nobody, or of several people": 1}
    [found] = wanted_of_dataset(banks, asked).pairs
    assert (found.participant, len(found.memories)) == ("c/Bo", 9)
    assert found.memories[0] == "Bo: I switched to white tea."
    assert all(text.startswith("Bo: ") for text in found.memories)
    early = wanted_of_dataset(banks, [Asked("c", "Bo", "Which tea?", until="t30")]).pairs
    assert early[0].sources == (found.sources[0],)  # the bicycle came later
    none = wanted_of_dataset(banks, [Asked("c", "Bo", "tea?", until="t29"), Asked("c", "Bo", " ")])
    assert none == ([], {"no memories": 1, "the query is blank": 1})
    invented = replace(banks, dataset=msgspec.structs.replace(banks.dataset, name="sample"))
    assert not found.synthetic and wanted_of_dataset(invented, asked).pairs[0].synthetic
    with pytest.raises(UsageError, match="'Cy' is nobody of 'c'"):
        wanted_of_dataset(banks, [Asked("c", "Cy", "Which tea?")])


def test_queries_of_a_file_name_their_person(banks: BankSet, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "q.jsonl", [{"participant": "bo", "query": "Tea?"}])
    assert read_queries(path, banks) == [Asked("c", "Bo", "Tea?")]
    for row, error, why in (
        ({"participant": "Cy", "query": "Tea?"}, UsageError, "nobody here"),
        ({"query": "Tea?"}, DataError, "line 1: write"),
    ):
        with pytest.raises(error, match=why):
            read_queries(write_rows(tmp_path / "bad.jsonl", [row]), banks)


def test_a_profile_is_used_once_its_owner_agreed(workspace: Workspace) -> None:
    facts = [f"The user keeps {n} bees in hive {n}." for n in range(8)]
    whole = {"part_1": facts, "part_2": ["The user switched to white tea."], "part_3": {}}
    whole["recent_queries"] = ["Which tea should I buy?", "How do I feed bees?"]
    draft, _ = import_profile(workspace, "p1", json.dumps(whole))
    embedder = open_embedder("minilm")
    with pytest.raises(UsageError, match="still a draft"):
        wanted_of_profile(draft, embedder)
    confirm(workspace, "p1", draft.content)
    found = wanted_of_profile(open_draft(workspace, "p1"), embedder).pairs
    assert [one.query for one in found] == whole["recent_queries"]
    assert found[0].memories[0] == "The user switched to white tea."
    assert {len(one.memories) for one in found} == {9}
    assert not any(one.synthetic for one in found)


# ---------------------------------------------------------------- what is asked


def test_the_two_calls_differ_by_the_memories_and_nothing_else() -> None:
    lacking = {response_request(TEA.query, None, regime) for regime in REGIMES}
    assert len(lacking) == 1  # no regime has a say where there are no memories
    [bare] = lacking
    systems = set()
    for regime in REGIMES:
        having = response_request(TEA.query, TEA.memories, regime)
        assert having.system.startswith(bare.system)
        assert having.user.endswith(bare.user) and "white tea" in having.user
        assert having.user.count("</memories>") == 1  # what the data holds of it is neutralised
        systems.add(having.system)
    assert len(systems) == 3 and "white tea" not in bare.user
    with pytest.raises(UsageError, match="no regime 'wild'"):
        response_request(TEA.query, TEA.memories, "wild")


@pytest.mark.parametrize(
    ("reply", "failure", "text"),
    [
        (Reply(text="  # Tea\n\n- white\n"), None, "# Tea\n\n- white"),
        (Reply(text="<think>jasmine?</think>White tea."), None, "White tea."),
        (Reply(text="<think>jasmine?"), "truncated", ""),
        (Reply(text=" … "), "empty", ""),
        (Reply(text="I'm sorry, but I can't help with that."), "refusal", ""),
        (Reply(text="A long", failure="truncated"), "truncated", ""),
        (Reply(failure="rate-limited"), "rate-limited", ""),
    ],
)
def test_what_a_reply_says(reply: Reply, failure: str | None, text: str) -> None:
    found = read_response(reply)
    assert (found.failure, found.text) == (failure, text)


# ---------------------------------------------------------------- making, resuming, accounts


def test_pairs_are_comparisons_that_wait_for_a_judgment(workspace: Workspace) -> None:
    model = Scripted(writer, "writer")
    told = make_pairs(workspace, "study", [TEA], model, PairOptions(regimes=REGIMES))
    assert (told["made"], told["held"], told["pending"], told["failures"]) == (3, 0, 0, {})
    assert len(model.asked) == 4 == told["calls"]  # one without memories, one a regime with
    held = open_comparisons(workspace, "study")
    assert [one.regime for one in held.comparisons] == list(REGIMES)
    assert {(one.with_memory, one.without_memory) for one in held.comparisons} == {
        ("A white tea, since you switched to it.", PLAIN)
    }
    assert {one.judgment for one in held.comparisons} == {None} and not held.synthetic
    assert {one.generator for one in held.comparisons} == {"writer"}
    made = made_of(workspace, "study")
    assert {key: (one.regime, one.order) for key, one in made.items()} == {
        one.id: (one.regime, one.order) for one in held.comparisons
    }
    assert all(one.generator == model.identity and len(one.prompts) == 2 for one in made.values())
    assert b"white tea" not in bytes_under(workspace.folder("pairs"))
    again = make_pairs(workspace, "study", [TEA], model, PairOptions(regimes=REGIMES))
    assert (again["made"], again["held"]) == (0, 3) and len(model.asked) == 4
    other = make_pairs(workspace, "study", [TEA], model, PairOptions(seed=1))
    assert other["made"] == 1  # another setting is another pair
    orders = {
        one.order
        for seed in range(20)
        for _ in [make_pairs(workspace, "many", [TEA], model, PairOptions(seed=seed))]
        for one in open_comparisons(workspace, "many").comparisons
    }
    assert orders == {"memory first", "memory second"}
    with pytest.raises(UsageError, match="real people and of invented ones"):
        make_pairs(workspace, "study", [replaced(synthetic=True)], model, PairOptions())


def replaced(**changes: object) -> Wanted:
    return msgspec.structs.replace(TEA, **changes)


def test_what_fails_is_pending_and_alone_is_asked_again(workspace: Workspace) -> None:
    up = {"up": False}

    def sometimes(request: Request) -> str | Reply:
        if not up["up"] and "bees" in request.user:
            return Reply(failure="timeout", tokens_in=3)
        if not up["up"] and "verse" in request.user and request.seed == 0:
            return Reply(text="O tea", failure="truncated", tokens_out=7)
        return Reply(text=writer(request), tokens_in=100, tokens_out=10, seconds=1.0)

    model = Scripted(sometimes, "sometimes")
    model.usage = Usage(Prices(1.0, 10.0))
    wanted = [TEA, replaced(query="How do I feed bees?"), replaced(query="Write a verse on tea.")]
    told = make_pairs(workspace, "study", wanted, model, PairOptions())
    assert (told["made"], told["pending"], told["failures"]) == (2, 1, {"timeout": 1})
    # 2 calls for tea, 2 for bees, 2 + 2 for the verse: 4 whole replies, 2 x 3 and 2 x 7 tokens.
    assert told["calls"] == 8 and told["tokens"] == {"in": 406, "out": 54}
    assert told["cost"] == pytest.approx((406 * 1 + 54 * 10) / 1e6)
    [tea, verse] = open_comparisons(workspace, "study").comparisons
    made = made_of(workspace, "study")
    assert made[tea.id].cost == pytest.approx((200 * 1 + 20 * 10) / 1e6)
    spent = {"tokens_in": 100, "tokens_out": 17, "seconds": 1.0, "tries": 2}
    assert made[verse.id].with_memory == spent
    before = len(model.asked)
    up["up"] = True
    told = make_pairs(workspace, "study", wanted, model, PairOptions())
    assert (told["made"], told["held"], told["pending"]) == (1, 2, 0)
    assert len(model.asked) == before + 2
    dead = Scripted(lambda request: Reply(failure="network"), "dead")
    with pytest.raises(ModelError, match="not one of 1 pairs could be made: 1 network"):
        make_pairs(workspace, "study", [TEA], dead, PairOptions())


# ---------------------------------------------------------------- screening, collecting


class ByLength:
    """A screener that prefers long queries and cannot read one."""

    @property
    def identity(self) -> dict[str, str]:
        return {"name": "by length"}

    def screen(self, pairs: list[Pair]) -> list[Screening | str]:
        return [
            "timeout"
            if one.query.startswith("?")
            else Screening(difference=len(one.query) / 100, support=1.0, unsupported=0.0)
            for one in pairs
        ]


def test_the_best_pairs_are_kept_apart_and_judgments_never_replaced(workspace: Workspace) -> None:
    queries = ("tea", "a longer query", "the longest query of all", "?")
    wanted = [replaced(query=query) for query in queries]
    make_pairs(workspace, "study", wanted, Scripted(writer, "w"), PairOptions())
    name, found = screen_pairs(workspace, "study", ByLength(), ScreeningRules(best=2))
    assert name == "study-best" and len(found.dropped["not scored: timeout"]) == 1
    best = open_comparisons(workspace, name).comparisons
    assert {one.query for one in best} == {"a longer query", "the longest query of all"}
    judged = [msgspec.structs.replace(one, judgment="same") for one in best]
    save_comparisons(workspace, name, judged)
    with pytest.raises(UsageError, match="study-best holds judgments"):
        screen_pairs(workspace, "study", ByLength(), ScreeningRules(best=1))
    assert open_comparisons(workspace, name).comparisons == tuple(judged)


def test_pairs_are_judged_exported_and_imported(workspace: Workspace, tmp_path: Path) -> None:
    wanted = [replaced(query=f"Which tea for day {day}?") for day in range(4)]
    make_pairs(workspace, "study", wanted, Scripted(writer, "w"), PairOptions())
    waiting = open_comparisons(workspace, "study").comparisons
    start(workspace, "round", "c/Bo", waiting, PlanOptions(attention=0, repeats=0.0))
    collection = open_collection(workspace, "round", "c/Bo")
    while (card := collection.draw()) is not None:
        assert {card.a, card.b} == {PLAIN, "A white tea, since you switched to it."}
        collection.judge(card.item, card.token, "A much better" if card.b == PLAIN else "same")
    judged = export(workspace, "round", "judged").comparisons
    assert [one.prefers_memory for one in judged].count(True) == sum(
        one.order == "memory first" for one in judged
    )
    path = export_comparisons(waiting, tmp_path / "pairs.jsonl")
    read, report = load_comparisons(path)
    assert tuple(read) == waiting and report.imported == 4


# ---------------------------------------------------------------- the command


def test_the_command_says_what_is_pending_and_how_it_failed(banks: BankSet, tmp_path: Path) -> None:
    asked = ("Any tea for me?", "Plan my ride")
    rows = [{"participant": "Bo", "query": query} for query in asked]
    queries = write_rows(tmp_path / "queries.jsonl", rows)
    rules = [{"when": "Plan my ride", "failure": "timeout"}]
    rules += [{"when": "<memories>", "reply": "White tea."}, {"reply": "Green tea."}]
    model = write_rows(tmp_path / "model.jsonl", rules)
    home = banks.cache.path.parent.parent
    command = ("reward", "pairs", "tea", "--into", "tea", "--queries", str(queries), "--json")
    made = shell(home, *command, "--llm", f"scripted:{model}", "--screen", "offline")
    assert made.code == 3, made.err
    told = made.json
    assert (told["made"], told["pending"], told["failures"]) == (1, 1, {"timeout": 1})
    assert not told["synthetic"] and told["screened"]["name"] == "tea-best"
    [one] = open_comparisons(Workspace(home), "tea").comparisons
    assert (one.participant, len(one.memories)) == ("c/Bo", 9)
    assert (one.with_memory, one.without_memory) == ("White tea.", "Green tea.")
    assert set(comparison_sets(Workspace(home))) == {"tea", "tea-best"}
