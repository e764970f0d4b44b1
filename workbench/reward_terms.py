"""What a rewriter is paid for, and the checks at the edge where TRL hands over its completions."""

from __future__ import annotations

import math
from typing import Any

from workbench.errors import UsageError
from workbench.reward_answers import ANSWER_REWARDS
from workbench.reward_guards import GUARDS, UNPAID
from workbench.reward_normaliser import RHO
from workbench.reward_search import RETRIEVAL_REWARDS
from workbench.schema import Record

__all__ = ["Terms", "check_terms", "completion_text", "paid"]


class Terms(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What is paid: `alpha` is the answer's weight, `retrieval` and `answer` name the rewards,
    `with_question` searches with the question and the rewrite behind it, `rho` is the
    normaliser's, `unpaid` the guards that make both rewards 0. Without `answered` nothing is
    answered, and only retrieval is paid (α = 0)."""

    alpha: float = 0.2
    retrieval: str = "recall"
    answer: str = "bleu1"
    with_question: bool = False
    rho: float = RHO
    unpaid: tuple[str, ...] = UNPAID
    answered: bool = True


def completion_text(completion: Any) -> str:
    """A completion as text: TRL's are strings, or lists of messages, whose last one counts.

    Raises UsageError for anything else.
    """
    if isinstance(completion, str):
        return completion
    try:
        text = completion[-1]["content"] if completion else ""
    except (TypeError, KeyError, IndexError) as error:
        raise UsageError("a completion is neither a text nor a list of messages") from error
    return text if isinstance(text, str) else ""


def check_terms(terms: Terms) -> None:
    """Raises UsageError naming what cannot be meant."""
    known: list[tuple[str, str, Any]] = [
        ("retrieval reward", terms.retrieval, RETRIEVAL_REWARDS),
        ("answer reward", terms.answer, ANSWER_REWARDS),
        *(("guard", name, GUARDS) for name in terms.unpaid),
    ]
    for what, name, table in known:
        if name not in table:
            raise UsageError(f"unknown {what} {name!r}; known: {', '.join(table)}")
    if not 0 <= terms.alpha <= 1:
        raise UsageError(f"α must lie in 0..1, not {terms.alpha}")
    if not 0 <= terms.rho < 1:
        raise UsageError(f"ρ must lie in 0..1 and below 1, not {terms.rho}")
    if terms.alpha and not terms.answered:
        raise UsageError("α pays for answers, and nothing is answered: make it 0")


def paid(name: str, value: float | None, unpaid: bool) -> float | None:
    """The value, or 0 where a guard takes it. Raises UsageError, naming the reward, for a value
    that is no finite number."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UsageError(f"the reward {name!r} gave {value!r}, which is no finite number")
    return 0.0 if unpaid else float(value)
