"""The simulation: numbers against formulas and scikit-learn, texts against what was planned."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.linear_model import LogisticRegression

from reward_model import simulate as front
from reward_model.agreement import retest_agreement
from reward_model.quality import clear_preferences, quality_filter
from reward_model.rubric import RUBRIC
from reward_model.schema import ComparisonSet
from reward_model.scores import matrix
from reward_model.simulate import (
    Simulation,
    SimulationOptions,
    draw_features,
    draw_judged,
    simulate,
    truth,
)
from reward_model.simulated_features import population_moments, standardised
from reward_model.simulated_judgments import judged, shown_once
from reward_model.simulated_texts import PEOPLE, write_pair
from reward_model.text_features import text_scores
from shell import environment
from workbench.errors import UsageError

PROJECT = Path(__file__).resolve().parent.parent
BANK = json.loads((PROJECT / "reward_model/simulated/texts.json").read_text(encoding="utf-8"))
SAMPLE = [
    json.loads(line)
    for line in (PROJECT / "workbench/datasets/sample/sample.jsonl").read_text("utf-8").splitlines()
]
TURNS = {(r["scope"], r["id"]): r for r in SAMPLE if r["kind"] == "turn"}
# Nothing but logistic noise: everything about such judgments has a formula.
BARE = SimulationOptions(
    weights={}, intercept=0, participant_sd=0, retest_noise=0, tie_share=0.18, much_share=0.355
)


def options(**changes: object) -> SimulationOptions:
    return msgspec.structs.replace(BARE, **changes)


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return simulate()


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# ---------------------------------------------------------------- features


def test_features_have_the_marginals_that_are_promised() -> None:
    drawn = draw_features(50_000, rng())
    columns = dict(zip(RUBRIC, drawn.T, strict=True))
    assert drawn.shape == (50_000, 12)
    assert (columns["HEAD"] == np.round(columns["HEAD"])).all()
    assert np.abs(columns["LEN"]).max() <= 1.1
    assert set(np.round(9 * columns["REL"], 9)) == set(range(10))
    assert np.abs(columns["AXIS"]).max() < 1
    assert columns["OPT"].min() > 0 and columns["OPT"].max() <= 5
    for name in ("PROP", "ASSUMP", "CLOSURE", "COMMIT", "BREADTH", "COST", "REGISTER"):
        assert set(4 * columns[name]) == set(range(-4, 5)), name


def test_standardised_features_have_mean_0_and_deviation_1_in_the_population() -> None:
    z = standardised(draw_features(150_000, rng(1)))
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.012)
    np.testing.assert_allclose(z.std(axis=0), 1, atol=0.012)


def test_features_go_together_as_they_should_and_no_others() -> None:
    ranks = stats.spearmanr(draw_features(50_000, rng(2))).statistic
    at = {name: place for place, name in enumerate(RUBRIC)}
    # The rank correlation of normal variables is 6/pi asin(r / 2): .483 of .5, .336 of .35.
    assert ranks[at["LEN"], at["BREADTH"]] == pytest.approx(0.483, abs=0.02)
    assert ranks[at["PROP"], at["ASSUMP"]] == pytest.approx(-0.336, abs=0.02)
    assert abs(ranks[at["REL"], at["HEAD"]]) < 0.02


# ---------------------------------------------------------------- judgments


def test_thresholds_of_pure_noise_are_the_logistic_quantiles() -> None:
    # P(|u| < t) = tanh(t / 2) for logistic u.
    cuts = truth(BARE)["thresholds"]
    assert cuts["tie"] == pytest.approx(2 * math.atanh(0.18), abs=0.01)
    assert cuts["much"] == pytest.approx(2 * math.atanh(1 - 0.355), abs=0.02)


def test_levels_cut_what_is_felt_at_the_thresholds() -> None:
    tie, much = 2 * math.atanh(0.18), 2 * math.atanh(0.645)
    felt = np.array([much + 0.1, much - 0.1, tie - 0.1, 0, 0.1 - tie, 0.1 - much, -much - 0.1])
    assert judged(BARE, felt).tolist() == [0, 1, 2, 2, 2, 3, 4]


@pytest.mark.parametrize("changes", [{}, {"position_bias": 0.7}, {"tie_share": 0.0}])
def test_shares_of_ties_and_clear_preferences_are_as_wanted(changes: dict[str, float]) -> None:
    wanted = msgspec.structs.replace(SimulationOptions(), **changes)
    drawn = draw_judged(wanted, np.full(20_000, 8), rng(3))
    assert (drawn.level == 2).mean() == pytest.approx(wanted.tie_share, abs=0.006)
    assert drawn.much.mean() == pytest.approx(wanted.much_share, abs=0.006)


def test_without_other_effects_a_fit_gives_the_weights_back() -> None:
    plain = options(weights=None, intercept=-0.4, tie_share=0, much_share=0.5)
    drawn = draw_judged(plain, np.full(100_000, 1), rng(4))
    fit = LogisticRegression(C=1e9, tol=1e-8).fit(
        standardised(drawn.features), drawn.prefers_memory
    )
    paper = [0.646, 0.571, 0.386, 0.323, -0.201, 0.191, 0.147, 0.125, 0.124, -0.083, 0.036, 0.030]
    np.testing.assert_allclose(fit.coef_[0], paper, atol=0.04)
    assert fit.intercept_[0] == pytest.approx(-0.4, abs=0.03)


def test_participants_differ_as_much_as_they_are_told_to() -> None:
    varied = options(participant_sd=1.5, tie_share=0)
    drawn = draw_judged(varied, np.full(3_000, 60), rng(5))
    rates = drawn.prefers_memory.reshape(3_000, 60).mean(axis=1)

    def moment(power: int) -> float:
        chance = lambda x: stats.norm.pdf(x) / (1 + math.exp(-1.5 * x)) ** power  # noqa: E731
        return integrate.quad(chance, -8, 8)[0]

    between = moment(2) - moment(1) ** 2
    within = (moment(1) - moment(2)) / 60
    assert rates.var() == pytest.approx(between + within, rel=0.08)


def test_position_bias_favours_what_is_shown_as_a() -> None:
    drawn = draw_judged(options(position_bias=1.0, tie_share=0), np.full(50_000, 1), rng(6))
    assert (drawn.level < 2).mean() == pytest.approx(1 / (1 + math.exp(-1)), abs=0.01)
    assert drawn.prefers_memory.mean() == pytest.approx(0.5, abs=0.01)


def test_bayes_accuracy_is_the_expected_larger_chance() -> None:
    # One standard normal feature but for clipping at ±3 deviations: E sigmoid(|2 z|).
    told = truth(options(weights={"LEN": 2.0}, tie_share=0))["bayes_accuracy"]["strict"]
    chance = lambda x: 2 * stats.norm.pdf(x) / (1 + math.exp(-2 * x))  # noqa: E731
    assert told == pytest.approx(integrate.quad(chance, 0, 8)[0], abs=0.004)
    assert truth(BARE)["bayes_accuracy"]["strict"] == pytest.approx(0.5, abs=0.004)


def test_the_default_retest_agreement_is_near_the_papers() -> None:
    told = truth(SimulationOptions())["retest_agreement"]
    assert told["overall"] == pytest.approx(0.68, abs=0.01)
    assert told["much"] > told["slightly"] + 0.1


def test_what_is_told_of_repeats_is_what_repeats_do() -> None:
    many = SimulationOptions(participants=100, comparisons=1500, retest=1000, attention=0)
    found = retest_agreement(simulate(many).comparisons)["by_strength"]
    told = truth(many)["retest_agreement"]
    for strength in ("much", "slightly"):
        error = math.sqrt(told[strength] * (1 - told[strength]) / found[strength]["n"])
        assert abs(found[strength]["agreement"] - told[strength]) < 3.5 * error, strength


def test_without_momentary_noise_a_repeat_says_the_same() -> None:
    steady = rng(7).normal(size=2_000)
    orders = rng(8).random((2, 2_000)) < 0.5
    calm = options(retest_noise=0)
    first, second = (judged(calm, shown_once(calm, steady, order, rng(9))) for order in orders)
    turned = np.where(orders[0] == orders[1], second, 4 - second)
    assert (first == turned).all()


# ---------------------------------------------------------------- comparisons


def test_default_sizes_are_the_papers(simulation: Simulation) -> None:
    ordinary = [c for c in simulation.comparisons if c.attention is None and c.repeat_of is None]
    sizes = Counter(c.participant for c in ordinary)
    assert (len(ordinary), len(sizes)) == (821, 87)
    assert min(sizes.values()) >= 1 and len(set(sizes.values())) > 8
    again = [c for c in simulation.comparisons if c.repeat_of is not None]
    by_id = {c.id: c for c in simulation.comparisons}
    assert len(by_id) == len(simulation.comparisons) == 821 + 75 + 87
    assert Counter(by_id[c.repeat_of].strength for c in again) == {"much": 46, "slightly": 29}
    for one in again:
        first = by_id[one.repeat_of]
        assert (one.pair, one.participant) == (first.pair, first.participant)
        assert (one.generator, one.regime) == (first.generator, first.regime)
    regimes = Counter(c.regime for c in ordinary)
    assert set(regimes) == {"conservative", "ordinary", "aggressive"}


def test_everything_is_marked_synthetic(simulation: Simulation) -> None:
    whole = ComparisonSet(name="simulated", content="x", comparisons=simulation.comparisons)
    assert whole.synthetic and all(c.synthetic for c in whole.comparisons)
    assert all(p.startswith("synthetic-") for p in whole.participants)
    named = {c.generator for c in whole.comparisons if c.attention is None}
    assert named == {"simulated-GPT", "simulated-Gemini", "simulated-Claude"}
    assert simulation.scorer["synthetic"] and simulation.truth["synthetic"]


def test_the_same_options_give_the_same_and_another_seed_does_not(simulation: Simulation) -> None:
    small = SimulationOptions(participants=5, comparisons=30, retest=4, seed=3)
    assert simulate(small) == simulate(small)
    other = simulate(msgspec.structs.replace(small, seed=4))
    assert other.comparisons[0].with_memory != simulate(small).comparisons[0].with_memory


def test_judgments_are_those_of_the_planned_features() -> None:
    # So strong a weight leaves no doubt: the longer response wins, in whatever order.
    sure = options(weights={"LEN": 1000.0}, participants=4, comparisons=80, retest=0)
    made = simulate(sure)
    for one, length in zip(made.comparisons, made.features["LEN"], strict=True):
        if one.attention is None and one.prefers_memory is not None:
            assert one.prefers_memory == (length > population_moments()[0][1])
    assert len({one.order for one in made.comparisons}) == 2


def test_times_follow_each_other_and_repeats_come_a_fortnight_later(
    simulation: Simulation,
) -> None:
    by_id = {c.id: c for c in simulation.comparisons}
    for one, following in zip(simulation.comparisons, simulation.comparisons[1:], strict=False):
        assert one.shown < one.judged
        if one.participant == following.participant:
            assert one.judged < following.shown
    gaps = [c.shown - by_id[c.repeat_of].shown for c in simulation.comparisons if c.repeat_of]
    assert min(gaps) > timedelta(days=13)


def test_attention_items_say_what_to_choose_and_attentive_people_do(
    simulation: Simulation,
) -> None:
    checks = [c for c in simulation.comparisons if c.attention is not None]
    for one in checks:
        shown = (one.with_memory, one.without_memory)
        a, b = shown if one.order == "memory first" else shown[::-1]
        assert (a if one.attention == "A" else b) == BANK["sentences"]["attention"]["right"]
        assert one.chosen == one.attention
    assert {c.attention for c in checks} == {"A", "B"}


def test_the_filter_keeps_the_honest_and_finds_the_careless(simulation: Simulation) -> None:
    assert quality_filter(simulation.comparisons).kept == simulation.comparisons
    careless = simulate(SimulationOptions(participants=20, comparisons=200, retest=10, careless=3))
    dropped = quality_filter(careless.comparisons).dropped
    lost = {one.rsplit("/", 1)[0] for ids in dropped.values() for one in ids}
    assert len(lost) == 3
    theirs = [c for c in careless.comparisons if c.participant in lost]
    assert {c.chosen for c in theirs} == {"A"} and max(c.seconds for c in theirs) < 3
    gone = {one for ids in dropped.values() for one in ids}
    # An attention item that A happened to be right for is passed, whoever chose it.
    assert gone >= {c.id for c in theirs if c.attention is None}


def test_planned_features_become_scores_of_the_saved_set(simulation: Simulation) -> None:
    scores = simulation.scores("digest")
    assert scores.scorer["name"] == "simulator" and scores.content == "digest"
    clear = clear_preferences(simulation.comparisons)
    x, kept, dropped = matrix(scores, clear, tuple(RUBRIC))
    assert x.shape == (len(clear), 12) and kept == clear and not dropped
    assert 250 < len(clear) < 335
    checks = [c for c in simulation.comparisons if c.attention is not None]
    assert matrix(scores, checks, ("REL",))[1] == ()


# ---------------------------------------------------------------- texts


def test_computed_features_follow_the_plan(simulation: Simulation) -> None:
    rows = [at for at, c in enumerate(simulation.comparisons) if c.attention is None]
    found = text_scores([simulation.comparisons[at].pair for at in rows])
    planned = {name: [column[at] for at in rows] for name, column in simulation.features.items()}
    assert found["HEAD"] == planned["HEAD"]
    assert np.abs(np.subtract(found["LEN"], planned["LEN"])).max() < 0.15
    assert np.abs(np.subtract(found["LEN"], planned["LEN"])).mean() < 0.02
    for name, least in {"LEN": 0.99, "AXIS": 0.8, "OPT": 0.7}.items():
        assert stats.spearmanr(found[name], planned[name]).statistic > least, name


def test_memories_are_nine_turns_of_one_person_word_for_word(simulation: Simulation) -> None:
    said = {person: set() for person in PEOPLE}
    for turn in TURNS.values():
        said[turn["speaker"]].add(turn["text"])
    people = {}
    for one in simulation.comparisons:
        assert len(set(one.memories)) == 9
        [person] = [name for name, texts in said.items() if texts.issuperset(one.memories)]
        assert people.setdefault(one.participant, person) == person
    assert set(people.values()) == set(PEOPLE)


def test_what_a_response_says_of_the_person_is_in_the_memories(simulation: Simulation) -> None:
    known = [
        (clause, TURNS[person["scope"], turn]["text"])
        for person in BANK["people"].values()
        for facts in person["facts"].values()
        for turn, clause in facts
    ]
    stated = 0
    for one in simulation.comparisons:
        for clause, source in known:
            if clause in one.with_memory:
                stated += 1
                assert source in one.memories
            assert clause not in one.without_memory
    assert stated > 300


def test_every_fact_rests_on_a_turn_of_its_person() -> None:
    for name, person in BANK["people"].items():
        assert set(person["facts"]) == set(BANK["topics"])
        for facts in person["facts"].values():
            for turn, _ in facts:
                assert TURNS[person["scope"], turn]["speaker"] == name


def test_relevance_is_the_share_of_memories_on_the_topic() -> None:
    plan = dict.fromkeys(RUBRIC, 0.0)
    topic_of = {q: topic for topic, one in BANK["topics"].items() for q in one["queries"]}
    for relevance, wanted in ((0.0, 0), (5 / 9, 5), (1.0, 9)):
        pair = write_pair("Tomasz", plan | {"REL": relevance}, rng(11))
        topic = topic_of[pair.query]
        words = set(BANK["topics"][topic]["words"])
        facts = {TURNS["c1", turn]["text"] for turn, _ in BANK["people"]["Tomasz"]["facts"][topic]}
        about = [
            text
            for text in pair.memories
            if text in facts or words & set(text.lower().replace(",", " ").split())
        ]
        # A word with another mark behind it is not seen by this simple count.
        assert wanted - 2 <= len(about) <= wanted


@pytest.mark.parametrize("extreme", [-1.0, 1.0])
def test_the_most_extreme_plans_are_written_as_well(extreme: float) -> None:
    plan = dict.fromkeys(RUBRIC, extreme) | {"HEAD": 13 * extreme, "LEN": -1.1 * extreme}
    plan |= {"REL": 1.0, "OPT": 5.0}
    for person in PEOPLE:
        pair = write_pair(person, plan, rng(12))
        heads = [text.count("## ") for text in pair[2:]]
        assert heads[0] - heads[1] == 13 * extreme
        words = [len(text.replace("## ", "").split()) for text in pair[2:]]
        assert math.log(words[0] / words[1]) == pytest.approx(-1.1 * extreme, abs=0.25)


# ---------------------------------------------------------------- refusals, cost


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"participants": 0}, "participants must be a finite number, 1 or more, not 0"),
        ({"comparisons": 86}, "86 comparisons are fewer than 87 participants"),
        ({"seed": -1}, "seed"),
        ({"participant_sd": -0.1}, "participant_sd"),
        ({"retest_noise": math.nan}, "retest_noise"),
        ({"intercept": math.inf}, "intercept"),
        ({"tie_share": 0.7, "much_share": 0.4}, "add up to 1 at most"),
        ({"much_share": 0.0}, "tie_share and much_share"),
        ({"careless": 88}, "88 careless of 87"),
        ({"weights": {"HEDA": 1.0}}, "no feature 'HEDA' to weigh; there are HEAD"),
        ({"weights": {"HEAD": math.nan}}, "the weight of HEAD"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        SimulationOptions(**changes)


def test_more_repeats_than_preferences_are_refused() -> None:
    with pytest.raises(UsageError, match="900 repeats are more than the"):
        simulate(SimulationOptions(retest=900))


def test_a_stranger_has_no_memories() -> None:
    with pytest.raises(UsageError, match="no 'Ana'; its people are Nadia"):
        write_pair("Ana", dict.fromkeys(RUBRIC, 0.0), rng())


def test_importing_the_simulation_loads_no_model_library() -> None:
    code = "import sys, reward_model.simulate; print([m for m in sys.argv[1:] if m in sys.modules])"
    heavy = ("torch", "transformers", "sklearn", "presidio_analyzer")
    done = subprocess.run(
        [sys.executable, "-c", code, *heavy],
        env=environment(PYTHONPATH=str(PROJECT)),
        capture_output=True,
        check=True,
    )
    assert done.stdout.strip() == b"[]"
    assert set(front.__all__) >= {"simulate", "SimulationOptions", "draw_features"}
