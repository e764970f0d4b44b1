"""The rewards of the rewriter (SPEC A.5): what its rewrites find, and what is answered from it.

`RewriteRewards` scores whole batches: one embedding call, one matrix product a scope, one batch of
answers. It offers them to TRL as reward functions, normalised, with weights; gold is looked up here
by a question's id and never travels with the data that the policy sees. Banks, embedder and
answerer are read, never changed.

    plan = Plan(workspace, open_banks(workspace, "locomo"), preset("query-only"), split="train")
    rewards = RewriteRewards(plan, Terms(alpha=0.2))
    GRPOTrainer(reward_funcs=rewards.functions, …reward_weights=rewards.weights)
    rewards.monitor()       # after each step: `reward_step.summary`
    rewards.state()         # saved with a checkpoint, `restore` brings it back

The data needs a column `question` with ids beside TRL's `prompt`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from workbench.errors import UsageError
from workbench.metrics import exclusion, recall_at
from workbench.reward_answers import Answered, answer_reward, answers
from workbench.reward_guards import COPIED, Said, Written, found_in, said_in
from workbench.reward_normaliser import Ema
from workbench.reward_search import RETRIEVAL_REWARDS, Found, search
from workbench.reward_step import ANSWER, RETRIEVAL, Scored, Step, combined, summary
from workbench.reward_terms import Terms, check_terms, completion_text, paid
from workbench.run_plan import Plan, check
from workbench.schema import Question
from workbench.statement import query_text, statement_of

__all__ = ["RewriteRewards", "Terms"]

RewardFunction = Callable[..., list[float | None]]
COLUMN = "question"


@dataclass
class RewriteRewards:
    """Rewards of rewrites of a plan's questions. `gather` returns the values of all processes that
    train together, so that they normalise alike; alone it returns what it is given.

    Raises UsageError for a plan or terms that cannot be meant.
    """

    plan: Plan
    terms: Terms = field(default_factory=Terms)
    gather: Callable[[list[float | None]], list[float | None]] = list
    last: Step | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        check_terms(self.terms)
        plan = self.plan
        check(plan.recipe, plan.answerer, plan.context, llm=plan.llm is not None)
        self._scales = {part: Ema(rho=self.terms.rho) for part in (RETRIEVAL, ANSWER)}
        self._learning = True
        self._batch: tuple[list[str], list[str]] | None = None
        self._served: set[str] = set()
        self._known: dict[tuple[str, str], Scored] = {}
        self._said: dict[str, Said] = {}

    # ------------------------------------------------------------ for TRL

    @property
    def functions(self) -> list[RewardFunction]:
        """TRL's reward functions: retrieval and answer, each normalised."""
        return [self.retrieval_reward, self.answer_reward]

    @property
    def weights(self) -> list[float]:
        """The weights of `functions`: 1 - α and α."""
        return [1 - self.terms.alpha, self.terms.alpha]

    def retrieval_reward(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        """The normalised retrieval reward of each completion; None without evidence."""
        return self._part(RETRIEVAL, completions, columns).retrieval

    def answer_reward(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        """The normalised answer reward of each completion; None where it can't be scored."""
        return self._part(ANSWER, completions, columns).answer

    def combined_reward(
        self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        """Both in one function, weighted: instead of `functions`, not besides them."""
        return self._part("combined", completions, columns).total

    # ------------------------------------------------------------ for a trainer

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within it the normalisers stay as they are: for validation."""
        learning, self._learning = self._learning, False
        try:
            yield
        finally:
            self._learning = learning

    def monitor(self) -> dict[str, float]:
        """What is shown of the last batch (`reward_step.summary`); empty before the first."""
        return {} if self.last is None else summary(self.last)

    def state(self) -> dict[str, Any]:
        """JSON: the normalisers, and how often each guard was set off so far."""
        return {"scales": msgspec.to_builtins(self._scales), "guards": dict(self.counts)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state. Raises UsageError where it is none, or of another ρ."""
        try:
            scales = msgspec.convert(dict(state["scales"]), dict[str, Ema])
            counts = msgspec.convert(dict(state["guards"]), dict[str, int])
        except (KeyError, TypeError, msgspec.ValidationError) as error:
            raise UsageError(f"this is no state of the rewards: {error}") from error
        if scales.keys() != self._scales.keys():
            raise UsageError(f"the state has the rewards {sorted(scales)}, not both of ours")
        if any(one.rho != self.terms.rho for one in scales.values()):
            raise UsageError(f"the state was made with another ρ than {self.terms.rho}")
        self._scales, self.counts = scales, Counter(counts)

    # ------------------------------------------------------------ scoring

    def score(self, questions: Sequence[str], completions: Sequence[Any]) -> list[Scored]:
        """Each completion's rewards before normalisation; nothing is remembered but the scores
        themselves, which are the same when asked for again.

        Raises UsageError for an unknown question, and where there is not one a completion.
        """
        return self._timed(list(questions), [completion_text(one) for one in completions])[0]

    def step(self, questions: Sequence[str], completions: Sequence[Any]) -> Step:
        """A batch scored, its rewards normalised and combined; the normalisers learn from it
        unless they are `held`."""
        ids, texts = list(questions), [completion_text(one) for one in completions]
        began = time.perf_counter()
        scored, answer_seconds = self._timed(ids, texts)
        raw = {RETRIEVAL: [o.retrieval for o in scored], ANSWER: [o.answer for o in scored]}
        if self._learning:
            everybody = {part: self.gather(values) for part, values in raw.items()}
            self._scales = {p: ema.updated(everybody[p]) for p, ema in self._scales.items()}
            self.counts.update(name for one in scored for name in one.guards)
        found, said = (self._scales[part].normalised(raw[part]) for part in (RETRIEVAL, ANSWER))
        total = combined(self.terms.alpha, found, said)
        seconds = time.perf_counter() - began
        self.last = Step(scored, found, said, total, seconds, answer_seconds)
        return self.last

    def _part(self, part: str, completions: Sequence[Any], columns: Mapping[str, Any]) -> Step:
        """The step of a batch: both functions of TRL are asked about it, and it is one step."""
        if COLUMN not in columns:
            raise UsageError(f"the data set has no column {COLUMN!r} with the questions' ids")
        batch = list(columns[COLUMN]), [completion_text(one) for one in completions]
        if self.last is None or batch != self._batch or part in self._served:
            self.step(*batch)
            self._batch, self._served = batch, set()
        self._served.add(part)
        assert self.last is not None
        return self.last

    def _timed(self, ids: list[str], texts: list[str]) -> tuple[list[Scored], float]:
        """The scores in order, and the seconds that answering took."""
        if len(ids) != len(texts):
            raise UsageError(f"{len(texts)} completions but {len(ids)} questions")
        pairs = list(zip(ids, texts, strict=True))
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        asked = [(self._question(name), text) for name, text in new]
        found = search(self.plan, [(q, self._query(q, text)) for q, text in asked])
        began = time.perf_counter()
        said = answers(self.plan, found) if self.terms.answered else [None] * len(found)
        seconds = time.perf_counter() - began
        if len(said) != len(found):
            raise UsageError(f"{self.plan.answerer}: {len(said)} answers for {len(found)} rewrites")
        made = {
            pair: self._scored(text, one, answer)
            for pair, (_, text), one, answer in zip(new, asked, found, said, strict=True)
        }
        self._known |= {pair: one for pair, one in made.items() if one.failure is None}
        return [made.get(pair) or self._known[pair] for pair in pairs], seconds

    def _scored(self, text: str, found: Found, answered: Answered | None) -> Scored:
        question, terms = found.question, self.terms
        guards = self._guards(question, text)
        k, ranks = self.plan.recipe.k, found.ranks
        measurable = exclusion(question) is None
        found_share = RETRIEVAL_REWARDS[terms.retrieval](k, ranks) if measurable else None
        answer = None if answered is None else answer_reward(terms.answer, question, answered)
        unpaid = not set(guards).isdisjoint(terms.unpaid)
        return Scored(
            question=question.id,
            text=_read(question, text),
            retrieval=paid(terms.retrieval, found_share, unpaid),
            answer=paid(terms.answer, answer, unpaid),
            recall=recall_at(k, ranks) if measurable else None,
            f1=None if answered is None else answer_reward("f1_squad", question, answered),
            guards=guards,
            failure=None if answered is None else answered.failure,
        )

    def _query(self, question: Question, text: str) -> str:
        return query_text(question.text, _read(question, text), self.terms.with_question)

    def _guards(self, question: Question, text: str) -> tuple[str, ...]:
        if text == question.text:  # whatever stands in it was asked, not learnt
            return (COPIED,)
        return found_in(Written(text, question, self._said_in(question.scope)))

    def _question(self, name: str) -> Question:
        if name not in self._questions:
            raise UsageError(f"{self.plan.banks.dataset.name} has no question {name!r}")
        return self._questions[name]

    @cached_property
    def _questions(self) -> dict[str, Question]:
        return {question.id: question for question in self.plan.banks.dataset.questions}

    def _said_in(self, scope: str) -> Said:
        if scope not in self._said:
            self._said[scope] = said_in(self.plan.banks.dataset, scope)
        return self._said[scope]


def _read(question: Question, text: str) -> str:
    """What a completion says: its statement, or the question where it is that, to the letter."""
    return text if text == question.text else statement_of(text)
