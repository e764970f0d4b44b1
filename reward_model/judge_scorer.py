"""The eight features that need a reader, graded by a language model (the other `Scorer`).

Each feature has a prompt of its own. Compared features show both responses and ask for a grade from
0 to 4 for each, in both orders of presentation: a pair's value is the mean over the orders of
(grade with memory - grade without) / 4, in [-1, 1]. So what the model gives to the first position
cancels, and exchanging the responses asks the very same questions and flips the sign exactly. Where
one order has no usable reply there is no value, as position would not cancel. REL, in [0, 1], is
asked without any response; of the others only PROP sees the memories. (The paper's scoring prompts
are not published: these are ours.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from msgspec.structs import asdict
from pydantic import BaseModel, Field, field_validator

from reward_model.rubric import RUBRIC, SCORED
from reward_model.schema import Pair
from workbench.embed import is_blank
from workbench.errors import UsageError
from workbench.llm import LLM, Request
from workbench.prompting import prompt, quoted
from workbench.replies import Exchange, ReplyFailure, ask_recorded
from workbench.schema import Record, digest_of

__all__ = ["Criterion", "JudgeScorer", "Reasoned", "ask_once", "compared_grades", "occasion"]

PACKAGE = "reward_model"
MOST = 4  # the highest grade
SEES_MEMORIES = ("PROP",)
NEEDS_QUERY = ("REL", "ASSUMP", "REGISTER")
NEEDS_MEMORIES = ("REL", "PROP")
# The reason that the prompts' examples give: a reply with it is the example, and no answer.
EXAMPLE_REASON = "what decides it"

FIXED = Pair(query="query", memories=("memory",), with_memory="one", without_memory="other")

Grade = Annotated[int, Field(strict=True, ge=0, le=MOST)]


class Reasoned(BaseModel):
    """A reply that gives its reason."""

    reason: str = ""

    @field_validator("reason")
    @classmethod
    def own(cls, reason: str) -> str:
        if reason.strip() == EXAMPLE_REASON:
            raise ValueError("the example was copied")
        return reason


class _One(Reasoned):
    grade: Grade


class _Both(Reasoned):
    first: Grade
    second: Grade


class Criterion(Record, frozen=True, kw_only=True):
    """What two responses are compared on: our words, or a model's own, quoted. `memories` says
    whether the judge sees them."""

    name: str
    text: str
    memories: bool = False

    @property
    def system(self) -> str:
        return prompt("score_compared", PACKAGE).filled(criterion=self.text)


class Graded(NamedTuple):
    """A value for each pair, None where there is none; why, by kind of failure; all exchanges."""

    values: list[float | None]
    failed: Counter[str]
    exchanges: list[Exchange]


class JudgeScorer:
    """Scores the eight features by a language model, asking again once what cannot be read.

    `failed` counts, since the scorer was made, what has no value, by feature and kind of failure
    ("PROP: refusal"); `exchanges` keeps every request and reply by feature, for the audit, and is
    never part of the scores. `progress` is called with (features done, features).
    """

    def __init__(
        self, llm: LLM, progress: Callable[[int, int], None] | None = None, tries: int = 2
    ) -> None:
        self.llm = llm
        self.progress = progress
        self.tries = tries
        self.failed: dict[str, int] = {}
        self.exchanges: dict[str, list[Exchange]] = {}

    @property
    def identity(self) -> dict[str, Any]:
        """Name, the model's identity, the digest of each feature's whole request for a fixed pair
        (prompt, layout and limits), and how grades become values."""
        return {
            "name": "judge",
            "model": self.llm.identity,
            "prompts": {name: digest_of(asdict(_request(name, FIXED))) for name in SCORED},
            "orders": "both, averaged",
            "tries": self.tries,
        }

    def scores(
        self, pairs: Sequence[Pair], features: Sequence[str] = SCORED
    ) -> dict[str, list[float | None]]:
        """For each feature a value for each pair; None where there is no usable reply, where a
        query is blank that the feature rests on, or where there are no memories for REL and PROP.

        Raises UsageError for a feature that is not the scorer's, and what the model's client
        raises.
        """
        if strangers := set(features) - set(SCORED):
            raise UsageError(
                f"the judge has no feature {', '.join(sorted(strangers))}; "
                f"it scores {', '.join(SCORED)}"
            )
        found = {}
        for done, name in enumerate(features, start=1):
            found[name] = self._feature(name, pairs)
            if self.progress is not None:
                self.progress(done, len(features))
        return found

    def _feature(self, name: str, pairs: Sequence[Pair]) -> list[float | None]:
        reasons = [_missing(name, pair) for pair in pairs]
        able = [pair for pair, reason in zip(pairs, reasons, strict=True) if not reason]
        if name == "REL":
            graded = _relevance(self.llm, able, self.tries)
        else:
            graded = compared_grades(self.llm, able, criterion(name), self.tries)
        for reason, count in (graded.failed + Counter(filter(None, reasons))).items():
            key = f"{name}: {reason}"
            self.failed[key] = self.failed.get(key, 0) + count
        self.exchanges[name] = [*self.exchanges.get(name, []), *graded.exchanges]
        values = iter(graded.values)
        return [None if reason else next(values) for reason in reasons]


def criterion(feature: str) -> Criterion:
    """The criterion of a compared feature of the rubric."""
    text = prompt(f"score_{feature.lower()}", PACKAGE).text
    title = f"{RUBRIC[feature].title}. {text}"
    return Criterion(name=feature, text=title, memories=feature in SEES_MEMORIES)


def compared_grades(
    llm: LLM, pairs: Sequence[Pair], criterion: Criterion, tries: int = 2
) -> Graded:
    """Both responses of each pair graded on a criterion in both orders; see the module."""
    system = criterion.system
    orders = [
        [_both(system, pair, criterion.memories) for pair in pairs],
        [_both(system, pair.swapped, criterion.memories) for pair in pairs],
    ]
    exchanges = ask_once(llm, [*orders[0], *orders[1]], _Both, tries)
    answer = {one.request: one.outcome for one in exchanges}
    values: list[float | None] = []
    failed: Counter[str] = Counter()
    for shown, exchanged in zip(*orders, strict=True):
        one, other = answer[shown], answer[exchanged]
        if isinstance(one, _Both) and isinstance(other, _Both):
            ahead = (one.first - one.second) - (other.first - other.second)
            values.append(ahead / (2 * MOST))
        else:
            failed[_kind(one, other)] += 1
            values.append(None)
    return Graded(values, failed, exchanges)


def ask_once(
    llm: LLM, requests: Sequence[Request], schema: type[BaseModel], tries: int
) -> list[Exchange]:
    """Each different request asked once, in order of appearance: a repeated pair costs nothing."""
    return ask_recorded(llm, list(dict.fromkeys(requests)), schema, tries)


def occasion(pair: Pair, memories: bool) -> str:
    """The query, and the memories where they are to be seen, as quoted data."""
    asked = quoted(pair.query, "query")
    if not memories:
        return asked
    # On one line each, so that no memory can pass for two.
    lines = (" ".join(memory.split()) for memory in pair.memories)
    listed = "\n".join(f"{place}. {line}" for place, line in enumerate(lines, start=1))
    return f"{asked}\n\n{quoted(listed, 'memories')}"


def _both(system: str, pair: Pair, memories: bool) -> Request:
    parts = (
        occasion(pair, memories),
        quoted(pair.with_memory, "first_response"),
        quoted(pair.without_memory, "second_response"),
    )
    return Request(system=system, user="\n\n".join(parts))


def _request(feature: str, pair: Pair) -> Request:
    """What is asked on a pair, in the first of its orders where it has two."""
    if feature == "REL":
        system = prompt("score_rel", PACKAGE).text
        return Request(system=system, user=occasion(pair, memories=True))
    return _both(criterion(feature).system, pair, feature in SEES_MEMORIES)


def _relevance(llm: LLM, pairs: Sequence[Pair], tries: int) -> Graded:
    requests = [_request("REL", pair) for pair in pairs]
    exchanges = ask_once(llm, requests, _One, tries)
    answer = {one.request: one.outcome for one in exchanges}
    outcomes = [answer[request] for request in requests]
    values = [one.grade / MOST if isinstance(one, _One) else None for one in outcomes]
    failed: Counter[str] = Counter(one.kind for one in outcomes if isinstance(one, ReplyFailure))
    return Graded(values, failed, exchanges)


def _kind(*outcomes: BaseModel | ReplyFailure) -> str:
    """The kind of the first failure among the outcomes."""
    return next(one.kind for one in outcomes if isinstance(one, ReplyFailure))


def _missing(feature: str, pair: Pair) -> str:
    """Why a feature cannot be graded; "" where it can."""
    if feature in NEEDS_QUERY and is_blank(pair.query):
        return "the query is blank"
    if feature in NEEDS_MEMORIES and all(is_blank(memory) for memory in pair.memories):
        return "there are no memories"
    return ""
