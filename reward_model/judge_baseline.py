"""A language model as judge of preferences: directly, and with the rubric in its prompt (SPEC B.6).

The judge sees query, memories and both responses, and says A or B with a confidence. It is asked in
both orders. *One order* is the order that the person saw; *both orders* averages the probabilities
of preferring memory, so the more confident verdict weighs more where the two disagree. A reply that
is no verdict is never right or wrong: it gives no probability, and is counted by its kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from msgspec.structs import asdict
from pydantic import BaseModel, Field

from reward_model.baseline_result import BaselineResult
from reward_model.judge_scorer import PACKAGE, Reasoned, ask_once, occasion
from reward_model.rubric import RUBRIC
from reward_model.schema import Comparison, Pair
from workbench.llm import LLM, Request
from workbench.prompting import grading_language, prompt, quoted
from workbench.replies import Exchange, ReplyFailure
from workbench.schema import digest_of
from workbench.stats import mean_interval

__all__ = ["JUDGES", "Judged", "direct_judge", "not_judged", "rubric_judge"]

JUDGES = ("direct judge", "rubric judge")
BOTH = ", both orders"
FIXED = Pair(query="query", memories=("memory",), with_memory="one", without_memory="other")
EVEN = 1e-9  # a probability this near to 1/2 chooses neither


class _Verdict(Reasoned):
    preferred: Literal["A", "B"]
    confidence: Annotated[int, Field(strict=True, ge=50, le=100)]


class Judged(NamedTuple):
    """The results of one judge (one order, both orders), and every request and reply."""

    results: tuple[BaselineResult, BaselineResult]
    exchanges: list[Exchange]


class _Answers(NamedTuple):
    """Outcomes by comparison, with the memory response shown as A and as B."""

    first: list[BaseModel | ReplyFailure]
    second: list[BaseModel | ReplyFailure]


def direct_judge(llm: LLM, comparisons: Sequence[Comparison], tries: int = 2) -> Judged:
    """Which response would the user prefer? One order and both, with what else there is to say.

    `facts` of both results: the judge's identity, its two verdicts' agreement and the share of
    memory choices, and in one order of A (each a mean with n, interval over participants, and what
    is left out), and the ids whose texts speak to a judge. Raises what the model's client raises.
    """
    return _judge(llm, comparisons, JUDGES[0], prompt("judge_direct", PACKAGE).text, tries)


def rubric_judge(
    llm: LLM,
    comparisons: Sequence[Comparison],
    rubric: Mapping[str, str] | None = None,
    tries: int = 2,
) -> Judged:
    """The same with a rubric in the prompt: name -> definition, by default of the paper's twelve.

    The dimensions of an induced rubric can be given; they are quoted like any text of a model.
    """
    lines = rubric or {one.title: one.definition for one in RUBRIC.values()}
    listed = "\n".join(f"- {name}: {definition}" for name, definition in lines.items())
    system = prompt("judge_rubric", PACKAGE).filled(rubric=quoted(listed, "rubric"))
    return _judge(llm, comparisons, JUDGES[1], system, tries)


def not_judged(why: str) -> list[BaselineResult]:
    """The four rows of both judges where no model was there to be asked."""
    names = [f"{name}{order}" for name in JUDGES for order in ("", BOTH)]
    return [BaselineResult.missing(name, why) for name in names]


def _judge(
    llm: LLM, comparisons: Sequence[Comparison], name: str, system: str, tries: int
) -> Judged:
    first = [_request(system, one.pair) for one in comparisons]
    second = [_request(system, one.pair.swapped) for one in comparisons]
    exchanges = ask_once(llm, [*first, *second], _Verdict, tries)
    outcome = {one.request: one.outcome for one in exchanges}
    answers = _Answers([outcome[one] for one in first], [outcome[one] for one in second])
    identity = {
        "model": llm.identity,
        "prompt": digest_of(asdict(_request(system, FIXED))),
        "tries": tries,
    }
    shared = {
        "judge": identity,
        "order_agreement": _agreement(comparisons, answers),
        "grading_language": [one.id for one in comparisons if _speaks(one)],
    }
    both = _both_orders(name + BOTH, comparisons, answers, shared)
    return Judged((_one_order(name, comparisons, answers, shared), both), exchanges)


def _request(system: str, pair: Pair) -> Request:
    """The pair with its memory response as A; that of the swapped pair has it as B."""
    parts = (
        occasion(pair, memories=True),
        quoted(pair.with_memory, "response_a"),
        quoted(pair.without_memory, "response_b"),
    )
    return Request(system=system, user="\n\n".join(parts))


def _one_order(
    name: str, comparisons: Sequence[Comparison], answers: _Answers, shared: dict[str, Any]
) -> BaselineResult:
    probability: dict[str, float | None] = {}
    failed: Counter[str] = Counter()
    chose_a: dict[str, float] = {}
    for one, first, second in zip(comparisons, *answers, strict=True):
        memory_first = one.order == "memory first"
        shown = first if memory_first else second
        probability[one.id] = _memory(shown, memory_first)
        if isinstance(shown, ReplyFailure):
            failed[shown.kind] += 1
        elif isinstance(shown, _Verdict):
            chose_a[one.id] = float(shown.preferred == "A")
    facts = {
        "memory_rate": _memory_rate(comparisons, probability),
        "first_rate": _mean(comparisons, chose_a, "no verdict"),
    }
    return BaselineResult(
        name=name,
        probability=probability,
        failed=dict(failed),
        note="asked once, in the order that the person saw",
        facts=shared | facts,
    )


def _both_orders(
    name: str, comparisons: Sequence[Comparison], answers: _Answers, shared: dict[str, Any]
) -> BaselineResult:
    probability: dict[str, float | None] = {}
    failed: Counter[str] = Counter()
    for one, first, second in zip(comparisons, *answers, strict=True):
        chances = [_memory(first, True), _memory(second, False)]
        known = [chance for chance in chances if chance is not None]
        probability[one.id] = sum(known) / 2 if len(known) == 2 else None
        failed.update([a.kind for a in (first, second) if isinstance(a, ReplyFailure)][:1])
    return BaselineResult(
        name=name,
        probability=probability,
        failed=dict(failed),
        note="asked in both orders, the mean of the two probabilities; equally confident verdicts "
        "that disagree choose neither",
        facts=shared | {"memory_rate": _memory_rate(comparisons, probability)},
    )


def _memory(outcome: BaseModel | ReplyFailure, memory_is_a: bool) -> float | None:
    """The probability of preferring memory that a verdict with its confidence comes to."""
    if not isinstance(outcome, _Verdict):
        return None
    memory = (outcome.preferred == "A") == memory_is_a
    return (outcome.confidence if memory else 100 - outcome.confidence) / 100


def _agreement(comparisons: Sequence[Comparison], answers: _Answers) -> dict[str, Any]:
    """How often both orders prefer the same response, whatever the confidence."""
    same: dict[str, float] = {}
    for one, first, second in zip(comparisons, *answers, strict=True):
        if isinstance(first, _Verdict) and isinstance(second, _Verdict):
            same[one.id] = float(first.preferred != second.preferred)
    return _mean(comparisons, same, "no verdict in an order")


def _memory_rate(
    comparisons: Sequence[Comparison], probability: Mapping[str, float | None]
) -> dict[str, Any]:
    chosen = {
        name: float(chance > 0.5)
        for name, chance in probability.items()
        if chance is not None and abs(chance - 0.5) > EVEN
    }
    return _mean(comparisons, chosen, "no verdict, or neither chosen")


def _mean(
    comparisons: Sequence[Comparison], values: Mapping[str, float], left_out: str
) -> dict[str, Any]:
    """A share with its n, interval over participants, and how many are left out and why."""
    used = [one for one in comparisons if one.id in values]
    told: dict[str, Any] = {"mean": None, "lo": None, "hi": None, "n": len(used)}
    told["participants"] = len({one.participant for one in used})
    told["excluded"] = {left_out: len(comparisons) - len(used)}
    if used:
        who = [one.participant for one in used]
        mean = mean_interval([values[one.id] for one in used], who)
        told |= {"mean": mean.mean, "lo": mean.lo, "hi": mean.hi}
    return told


def _speaks(comparison: Comparison) -> bool:
    pair = comparison.pair
    texts = (pair.query, *pair.memories, pair.with_memory, pair.without_memory)
    return any(grading_language(text) for text in texts)
