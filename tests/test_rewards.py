"""Rewards of rewrites: guards, normalisation by hand, recall's own ranks, TRL's signature."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from halls import hall
from workbench import reward_search, rewards
from workbench.answer import ANSWERERS, Answer, Answerer
from workbench.datasets.report import Dataset
from workbench.errors import UsageError
from workbench.library import BankSet
from workbench.llm import Reply, Request, Scripted
from workbench.metrics import exclusion, recall_at
from workbench.recall import measure_recall
from workbench.reward_guards import GUARDS, Written, found_in, said_in
from workbench.reward_normaliser import Ema
from workbench.reward_search import RETRIEVAL_REWARDS, rank_aware
from workbench.reward_step import Scored, Step, combined, summary
from workbench.reward_terms import completion_text
from workbench.rewards import RewriteRewards, Terms
from workbench.run_plan import Plan
from workbench.schema import Dialogue, Gold, Question, Recipe, Turn
from workbench.workspace import Workspace

PLAIN = Recipe(prior="none", lam=1.0, k=5)
SAID = "We all went to the lake with my old red canoe yesterday"
RETRIEVAL_ALONE = Terms(alpha=0, answered=False)


@pytest.fixture(scope="module")
def banks() -> BankSet:
    return hall()


@pytest.fixture
def paying(banks: BankSet, tmp_path: Path) -> Callable[..., RewriteRewards]:
    def make(terms: Terms = RETRIEVAL_ALONE, recipe: Recipe = PLAIN, **plan: Any) -> RewriteRewards:
        return RewriteRewards(Plan(Workspace(tmp_path), banks, recipe, **plan), terms)

    return make


# ---------------------------------------------------------------- guards


def guards_of(text: str, answer: str | None = "bigos") -> tuple[str, ...]:
    turns = (
        Turn(id="D3:6", session="1", speaker="Bo", text=SAID),
        Turn(id="7", session="1", speaker="Ana", text="Yes"),
        Turn(id="msg-9", session="1", speaker="Ana", text="No"),
    )
    dataset = Dataset(
        name="d", format="jsonl", dialogues=(Dialogue(id="s", scope="s", turns=turns),)
    )
    question = Question(
        id="q", scope="s", text="Which dish did Tomasz cook?", gold=Gold(answer=answer)
    )
    return found_in(Written(text, question, said_in(dataset, "s")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("empty",)),
        (" \n…", ("blank",)),
        ("which dish did tomasz cook", ("copied question",)),
        ("Tomasz cooked a dish for his guests", ()),
        # Eight words in a row that somebody said; seven are still a coincidence.
        ("he went to the lake with my old boat", ()),
        ("all went to the Lake, with my OLD red", ("pasted dialogue",)),
        ("see D3:6", ("turn ids",)),
        ("see (msg-9).", ("turn ids",)),
        ("see D99:4, which is nobody's", ("turn ids",)),
        ("7 dishes", ()),
        ("Tomasz made BIGOS!", ("gold answer",)),
        ("bigosy", ()),
        ("word " * 81, ("over-long",)),
        ("D3:6 " + "bigos " * 80, ("turn ids", "gold answer", "over-long")),
    ],
)
def test_each_leak_and_shortcut_is_told_by_name(text: str, expected: tuple[str, ...]) -> None:
    assert guards_of(text) == expected


def test_answers_that_tell_nothing_or_stand_in_the_question_are_no_leak() -> None:
    for answer in ("Yes", "no", "not", None, "", "the"):
        assert guards_of(f"{answer} it was", answer) == (), answer
    assert guards_of("a dish did Tomasz cook then", "dish did Tomasz") == ()
    assert guards_of("on 3 May 2024 Tomasz cooked", "3 May, 2024") == ("gold answer",)


def test_a_leak_costs_both_rewards_and_a_copy_costs_none(
    paying: Callable[..., RewriteRewards],
) -> None:
    model = Scripted(lambda request: "x")
    one = paying(Terms(), answerer="llm", llm=model)
    question = "s1/1"
    asked = one.plan.banks.dataset.questions[0]
    assert asked.gold.answer == "x"
    held = one.score([question] * 4, ["word1 in s1", "word1 in s1 s1:08", "", "word1 word3 of s1?"])
    assert [(s.answer, bool(s.guards)) for s in held] == [
        (1.0, False),
        (0.0, True),
        (0.0, True),
        (1.0, True),
    ]
    assert held[1].retrieval == held[2].retrieval == 0.0
    # What it really found stays to be seen.
    assert held[1].f1 == 1.0
    lenient = paying(replace(Terms(), unpaid=()), answerer="llm", llm=model)
    assert lenient.score([question], ["word1 in s1 s1:08"])[0].answer == 1.0
    one.step([question] * 4, ["", "", "see D1:1", "word1 word3 of s1?"])
    assert one.counts == {"empty": 2, "turn ids": 1, "copied question": 1}
    shown = one.monitor()
    assert {name for name in shown if name.startswith("guard/")} == {f"guard/{g}" for g in GUARDS}
    assert shown["guard/empty"] == 2 and shown["copied"] == 0.25


# ---------------------------------------------------------------- normalisation


def test_the_moving_mean_and_variance_by_hand() -> None:
    first = Ema(rho=0.9).updated([0.0, None, 1.0])
    assert (first.mean, first.variance, first.batches) == (0.5, 0.25, 1)
    assert first.normalised([1.0, None]) == [pytest.approx(0.5 / (0.5 + 1e-6)), None]
    second = first.updated([1.0, 1.0])
    assert second.mean == pytest.approx(0.9 * 0.5 + 0.1 * 1.0)
    assert second.variance == pytest.approx(0.9 * 0.25)
    assert second.updated([None]) == second
    assert Ema().updated([0.3, 0.3]).normalised([0.3]) == [0.0]
    for wrong in (math.inf, math.nan):
        with pytest.raises(UsageError, match="infinite or no number"):
            first.updated([0.5, wrong])


def test_parts_are_weighted_as_trl_adds_them() -> None:
    made = combined(0.2, [1.0, None, 2.0, None], [3.0, 1.0, None, None])
    assert made == [pytest.approx(0.8 + 0.6), pytest.approx(0.2), pytest.approx(1.6), None]
    with pytest.raises(UsageError, match="infinite"):
        combined(0.5, [math.nan], [1.0])


def test_what_the_monitor_shows_by_hand() -> None:
    def one(question: str, text: str, found: float | None, *guards: str) -> Scored:
        return Scored(question=question, text=text, retrieval=found, answer=None, guards=guards)

    scored = [
        one("a", "two words", 0.5, "copied question"),
        one("a", "four words are here", 0.5),
        one("b", "one", 0.0, "turn ids"),
        one("b", "one", 1.0),
        one("c", "", None, "empty"),
    ]
    values = [1.0, 1.0, -1.0, 3.0, None]
    told = summary(Step(scored, values, [None] * 5, values, seconds=2.0))
    assert told["reward/retrieval"] == 0.5 and told["normalised/retrieval"] == 1.0
    assert "reward/answer" not in told
    # c has nothing to compare; a is flat, b is not.
    assert told["flat_groups"] == 0.5
    assert told["length/words"] == pytest.approx((2 + 4 + 1 + 1 + 0) / 5)
    assert told["copied"] == 0.2 and told["unscored/retrieval"] == 1
    assert told["guard/turn ids"] == told["guard/empty"] == 1 and told["guard/blank"] == 0


# ---------------------------------------------------------------- retrieval


@pytest.mark.parametrize(
    "recipe",
    [
        PLAIN,
        replace(PLAIN, retriever="hybrid", centred=True, neighbours=0.3),
        Recipe(retriever="ppro", prior="facts", lam=0.6, k=5, threshold=0.1),
    ],
    ids=lambda recipe: recipe.retriever,
)
def test_the_reward_is_recalls_own_measure_of_the_rewritten_question(
    paying: Callable[..., RewriteRewards], recipe: Recipe
) -> None:
    one = paying(recipe=recipe)
    asked = [q for q in one.plan.banks.dataset.questions if exclusion(q) is None]
    texts = [f"word{place % 6} word{place % 4}" for place in range(len(asked))]
    texts[3] = "   "
    rewritten = [replace(q, text=text) for q, text in zip(asked, texts, strict=True)]
    measured, _, _ = measure_recall(one.plan.banks, rewritten, recipe)
    expected = [recall_at(5, question.ranks) for question in measured]
    assert [s.recall for s in one.score([q.id for q in asked], texts)] == expected
    assert 0 < sum(expected) < len(expected) and expected[3] == 0
    # Whatever else is scored with it, in whatever order.
    back = one.__class__(one.plan, one.terms).score([q.id for q in asked][::-1], texts[::-1])
    assert [s.recall for s in back] == expected[::-1]


def test_a_step_is_one_product_a_scope_and_one_embedding_call(
    paying: Callable[..., RewriteRewards], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reward_search, "score", None)  # the plain recipe never asks it
    one, calls = paying(), []
    whole = one.plan.banks.embedder.encode
    monkeypatch.setattr(
        type(one.plan.banks.embedder),
        "encode",
        lambda self, texts, side: calls.append(len(texts)) or whole(texts, side),
    )
    ids = ["s1/1"] * 4 + ["s2/2"] * 4
    one.step(ids, [f"word{place}" for place in range(8)])
    assert calls == [8]
    one.step(ids, [f"word{place}" for place in range(8)])
    assert calls == [8]  # what is known is not searched for again


def test_the_rank_aware_reward_by_hand() -> None:
    assert rank_aware(25, (1, None, 3)) == pytest.approx((1 + 0 + 0.5) / 3)
    assert rank_aware(1, (31,)) == pytest.approx(0.2)
    assert RETRIEVAL_REWARDS["recall"](2, (1, None, 3)) == pytest.approx(1 / 3)


def test_the_question_may_stand_before_its_rewrite(
    paying: Callable[..., RewriteRewards],
) -> None:
    both = paying(replace(RETRIEVAL_ALONE, with_question=True))
    alone = paying()
    [mixed] = both.score(["s1/1"], ["word5"])
    [by_hand] = alone.score(["s1/1"], ["word1 word3 of s1? word5"])
    assert mixed.recall == by_hand.recall and mixed.text == "word5"


# ---------------------------------------------------------------- TRL


def test_trl_gets_a_number_or_none_for_each_from_one_step(
    paying: Callable[..., RewriteRewards],
) -> None:
    model = Scripted(lambda request: "x y" if "word1 word3 of" in request.user else "x")
    one = paying(Terms(alpha=0.25, rho=0.9), answerer="llm", llm=model)
    assert one.weights == [0.75, 0.25]
    assert [function.__name__ for function in one.functions] == [
        "retrieval_reward",
        "answer_reward",
    ]
    ids = ["s1/1", "s1/2", "none", "declined"]
    texts = [[{"role": "assistant", "content": f"a{place} word"}] for place in range(4)]
    told = {"prompts": ["p"] * 4, "completions": texts, "question": ids, "trainer_state": None}
    found, said = (function(**told) for function in one.functions)
    raw = one.score(ids, texts)
    # BLEU-1 of "x y" and "x" against "x"; nothing to find, and no answer, for the last two.
    assert [s.answer for s in raw] == [0.5, 1.0, None, None]
    assert raw[0].f1 == pytest.approx(2 / 3)
    assert found[2:] == said[2:] == [None, None]
    assert said[:2] == [pytest.approx(v, rel=1e-4) for v in (-1.0, 1.0)]
    assert one.last is not None and one.state()["scales"]["answer"]["batches"] == 1
    assert one.last.total[0] == pytest.approx(0.75 * found[0] + 0.25 * said[0])
    # The same batch once more is another step.
    one.functions[0](**told)
    assert one.state()["scales"]["answer"]["batches"] == 2
    other = paying(Terms(alpha=0.25, rho=0.9), answerer="llm", llm=model)
    assert other.combined_reward(**told) == [
        *(pytest.approx(0.75 * f + 0.25 * s) for f, s in zip(found[:2], said[:2], strict=True)),
        *(None, None),
    ]


def test_stopped_and_restored_it_goes_on_as_if_it_never_had(
    paying: Callable[..., RewriteRewards],
) -> None:
    def batches() -> Iterator[tuple[list[str], list[str]]]:
        for number in range(6):
            ids = [f"s{1 + number % 4}/{place}" for place in range(4)]
            yield ids, [f"word{place + number}" for place in range(4)]

    whole, first = paying(), paying()
    expected = [whole.step(*batch).total for batch in batches()]
    begun = [first.step(*batch).total for batch in list(batches())[:3]]
    second = paying()
    second.restore(json.loads(json.dumps(first.state())))
    rest = [second.step(*batch).total for batch in list(batches())[3:]]
    assert begun + rest == expected and whole.state() == second.state()
    with second.held():
        second.step(*next(batches()))
    assert whole.state() == second.state()
    for wrong in ({}, {"scales": {"retrieval": Ema()}, "guards": {}}, {"scales": 3, "guards": {}}):
        with pytest.raises(UsageError, match="state"):
            second.restore(wrong)


def test_what_other_processes_saw_enters_the_scale(
    paying: Callable[..., RewriteRewards],
) -> None:
    one = paying()
    one.gather = lambda values: [*values, 0.0, 1.0]
    one.step(["s1/1"], [""])
    assert one.state()["scales"]["retrieval"]["mean"] == pytest.approx(1 / 3)


# ---------------------------------------------------------------- what is refused


def test_what_no_reward_can_mean_is_refused(
    paying: Callable[..., RewriteRewards], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = paying()
    with pytest.raises(UsageError, match="no column 'question'"):
        one.retrieval_reward(["p"], ["word1"])
    with pytest.raises(UsageError, match="2 completions but 1 questions"):
        one.score(["s1/1"], ["a", "b"])
    with pytest.raises(UsageError, match="no question 's9/9'"):
        one.score(["s9/9"], ["a"])
    with pytest.raises(UsageError, match="neither a text nor a list"):
        completion_text(7)
    for broken in (math.nan, math.inf, [0.5, 0.5], None):
        monkeypatch.setitem(RETRIEVAL_REWARDS, "broken", lambda k, ranks, value=broken: value)
        terms = replace(RETRIEVAL_ALONE, retrieval="broken")
        if broken is None:  # nothing can be paid: no fault
            assert paying(terms).score(["s1/1"], ["a"])[0].retrieval is None
            continue
        with pytest.raises(UsageError, match="reward 'broken' gave"):
            paying(terms).score(["s1/1"], ["a"])
    for wrong, why in (
        (Terms(alpha=1.5), "α must"),
        (Terms(rho=1.0), "ρ must"),
        (Terms(retrieval="magic"), "unknown retrieval reward 'magic'"),
        (Terms(answer="magic"), "unknown answer reward"),
        (Terms(unpaid=("magic",)), "unknown guard"),
        (Terms(answered=False), "nothing is answered"),
    ):
        with pytest.raises(UsageError, match=why):
            paying(wrong)


def test_one_answer_for_a_whole_group_is_an_error_that_names_the_answerer(
    paying: Callable[..., RewriteRewards], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewards, "answers", lambda plan, found: found[:1])
    with pytest.raises(UsageError, match="extractive: 1 answers for 4 rewrites"):
        paying(Terms()).score(["s1/1"] * 4, list("abcd"))


# ---------------------------------------------------------------- answers


def test_a_failed_answer_is_no_reward_and_is_asked_for_again(
    paying: Callable[..., RewriteRewards],
) -> None:
    fails, asked = [True], []

    def answer(request: Request) -> Reply | str:
        asked.append(request)
        return Reply(failure="timeout") if fails[0] and len(asked) == 1 else "x"

    one = paying(Terms(), answerer="llm", llm=Scripted(answer))
    ids, texts = ["s1/1", "s1/2"], ["word4", "word5"]
    step = one.step(ids, texts)
    assert [s.answer for s in step.scored] == [None, 1.0]
    assert step.scored[0].failure == "timeout" and step.total[0] is not None
    assert one.monitor()["failed/timeout"] == 1 and one.monitor()["unscored/answer"] == 1
    fails[0] = False
    assert [s.answer for s in one.score(ids, texts)] == [1.0, 1.0]
    assert len(asked) == 3
    # Nothing of the gold was told: neither the evidence's ids nor the answer.
    said = "".join(f"{request.system}{request.user}" for request in asked)
    assert "s1:" not in said and "\nx\n" not in said and "rewrite" not in said
    too_long = paying(Terms(), answerer="llm", llm=Scripted(answer), window=10)
    [over] = too_long.score(["s1/1"], ["word4"])
    assert (over.answer, over.failure) == (None, "over the window")


def test_the_answerer_reads_the_question_as_asked_and_what_the_rewrite_found(
    paying: Callable[..., RewriteRewards], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def answer(asked: Any) -> Answer:
        seen.append(asked)
        return Answer(text="x")

    monkeypatch.setitem(ANSWERERS, "watching", Answerer(answer, lambda hits: []))
    one = paying(Terms(answer="f1_squad"), answerer="watching")
    [scored] = one.score(["s1/1"], ["word4 in s1"])
    assert scored.answer == 1.0
    assert seen[0].query.text == "word1 word3 of s1?" and len(seen[0].hits) == 5
    [vector] = one.plan.banks.queries(["word4 in s1"])
    assert (seen[0].query.vector == vector).all()
