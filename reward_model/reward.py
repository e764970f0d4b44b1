"""The fitted model as a reward: a number for a response, and a reward function for TRL.

The reward is the model's log odds that a person prefers the response to a baseline: the response
stands where the memory response stood in training, the baseline where the one without memories
stood. It is unbounded, as rewards from pairwise preferences are; 0 means a toss-up.

Without a baseline the response is compared with an empty one (`NOTHING`). No person ever judged
such a pair, so the number then says which of several responses to the *same* query is better, not
how probable a preference is, and must not be set against numbers with a baseline. For features
that subtract (HEAD, LEN and the offline scorer's) the empty baseline shifts every response to the
query by the same amount, which group-relative training cancels. A language model as judge may find
anything better than nothing: give it baselines.

A policy trained on this reward will find what it pays for: length and headings have the largest
coefficients of the paper's example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from reward_model.explanation import Explanation
from reward_model.model import MemoryAwareRewardModel
from reward_model.rubric import SCORED, Scorer
from reward_model.schema import Pair
from reward_model.text_features import text_scores
from workbench.errors import ModelError, UsageError

__all__ = ["NOTHING", "MemoryReward", "trl_reward"]

NOTHING = ""  # what a response is compared with where no baseline is given

RewardFunction = Callable[..., list[float | None]]


class MemoryReward:
    """A fitted model with the scorer that reads its features.

    Raises UsageError where the scorer is not the one that the model was fitted with, unless
    `other_scorer` says that this is meant; or where a feature of the model is none of the rubric's.
    """

    def __init__(
        self, model: MemoryAwareRewardModel, scorer: Scorer, *, other_scorer: bool = False
    ) -> None:
        if not other_scorer:
            model.file_.origin.refuse_other(scorer.identity)
        known = {*SCORED, *text_scores([])}
        if strangers := [name for name in model.features_ if name not in known]:
            raise UsageError(
                f"the model has features that nothing here scores: {', '.join(strangers)}"
            )
        self.model = model
        self.scorer = scorer

    def reward(
        self, query: str, response: str, memories: Sequence[str], baseline: str | None = None
    ) -> float:
        """Log odds that the response is preferred to the baseline (None: to an empty response).

        Raises ModelError, with the scorer's reasons, where a feature could not be scored.
        """
        return self.explain(_pair(query, response, memories, baseline)).logit

    def explain(self, pair: Pair) -> Explanation:
        """Why the pair's `with_memory` response has its log odds over the other one.

        Raises ModelError, with the scorer's reasons, where a feature could not be scored.
        """
        before = dict(self.scorer.failed)  # it counts on since the scorer was made
        [row] = self._rows([pair])
        missing = [n for n, one in zip(self.model.features_, row, strict=True) if one is None]
        if missing:
            new = {why: n - before.get(why, 0) for why, n in self.scorer.failed.items()}
            why = ", ".join(f"{reason} ({n})" for reason, n in new.items() if n > 0)
            raise ModelError(
                f"{', '.join(missing)} of the response could not be scored: "
                f"{why or 'no reason given'}"
            )
        return self.model.explain(np.array(row, np.float64))

    def rewards(self, pairs: Sequence[Pair]) -> list[float | None]:
        """Log odds of each pair's `with_memory` response; None where a feature was not scored."""
        rows = self._rows(pairs)
        whole = [at for at, row in enumerate(rows) if None not in row]
        found: list[float | None] = [None] * len(pairs)
        if whole:
            x = np.array([rows[at] for at in whole], np.float64)
            for at, value in zip(whole, self.model.decision_function(x).tolist(), strict=True):
                found[at] = value
        return found

    def _rows(self, pairs: Sequence[Pair]) -> list[tuple[float | None, ...]]:
        """The model's features of each pair, in its order."""
        if not pairs:
            return []
        names = self.model.features_
        columns: dict[str, Sequence[float | None]] = dict(text_scores(pairs))
        if wanted := [name for name in names if name in SCORED]:
            columns |= self.scorer.scores(pairs, wanted)
        return list(zip(*(columns[name] for name in names), strict=True))


def trl_reward(reward: MemoryReward, name: str = "memory_aware_reward") -> RewardFunction:
    """A function with the signature that TRL's GRPO, RLOO and online trainers call.

    Prompts and completions are texts or conversations (lists of messages). The data set's column
    `memories` (a list of texts, or one text with a memory a line) is needed; `query` is the
    prompt's last user message where there is no such column; `baseline` is optional. A row whose
    memories are None, or that cannot be scored, gets None, which TRL leaves out. `name` is what TRL
    logs the reward as.
    """

    def function(
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Any] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        given = _columns(columns, len(completions))
        queries = given["query"] or [_last(prompt, "user") for prompt in prompts]
        _same_length({"query": queries}, len(completions))
        baselines = given["baseline"] or [None] * len(completions)
        rows = zip(queries, completions, given["memories"] or (), baselines, strict=True)
        pairs = {
            at: _pair(query, _last(completion, "assistant"), _lines(memories), baseline)
            for at, (query, completion, memories, baseline) in enumerate(rows)
            if memories is not None
        }
        found = dict(zip(pairs, reward.rewards(list(pairs.values())), strict=True))
        return [found.get(at) for at in range(len(completions))]

    function.__name__ = name
    return function


def _pair(query: str, response: str, memories: Sequence[str], baseline: str | None) -> Pair:
    if isinstance(memories, str):
        raise UsageError("memories are a list of texts, not one text")
    return Pair(
        query=query,
        memories=tuple(memories),
        with_memory=response,
        without_memory=NOTHING if baseline is None else baseline,
    )


def _columns(columns: Mapping[str, Any], n: int) -> dict[str, Sequence[Any] | None]:
    """The columns that the reward reads; None for those that the data set lacks."""
    if columns.get("memories") is None:
        raise UsageError(
            "the reward needs a column `memories` in the training data: a list of texts a row"
        )
    found = {name: columns.get(name) for name in ("query", "memories", "baseline")}
    _same_length({name: one for name, one in found.items() if one is not None}, n)
    return found


def _same_length(columns: Mapping[str, Sequence[Any]], n: int) -> None:
    for name, column in columns.items():
        if len(column) != n:
            raise UsageError(f"{len(column)} {name} for {n} completions; give one for each")


def _lines(memories: str | Sequence[str]) -> list[str]:
    if isinstance(memories, str):
        return [line.strip() for line in memories.splitlines() if line.strip()]
    return list(memories)


def _last(text: Any, role: str) -> str:
    """A text itself, or the last message of a role in a conversation; "" where there is none."""
    if isinstance(text, str):
        return text
    contents = [message.get("content") for message in text if message.get("role", role) == role]
    content = contents[-1] if contents else None
    if isinstance(content, list):  # parts, of which only the texts can be read
        return "\n".join(str(part["text"]) for part in content if part.get("type") == "text")
    return content or ""
