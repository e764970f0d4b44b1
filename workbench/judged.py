"""Judged answers: the votes of a judge on one answer, and what they come to.

A vote is one request to the judge. Where it has no verdict it is pending, never "wrong", and the
next run asks for it again. An answer is judged where more than half of its votes agree.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from workbench.schema import Record
from workbench.verdicts import VerdictFailure

__all__ = ["JudgedAnswer", "Vote"]


class Vote(Record, frozen=True, kw_only=True):
    """One repeat: what was shown first, the verdict or its failure, and every reply word for word.

    `attempt` counts the runs that asked for it, from 0. Tokens are of all tries of the last one.
    """

    repeat: int
    order: str
    right: bool | None = None
    failure: VerdictFailure | None = None
    detail: str = ""
    attempt: int = 0
    replies: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0


class JudgedAnswer(Record, frozen=True, kw_only=True):
    """A row of `verdicts.jsonl`. `judge` is the model's identity, `prompt` the digest of the
    rubric's whole prompt. `declined` says whether the answer declines to answer (as its trace says,
    else by its words), `flagged` whether what the judge saw contains grading language."""

    question: str
    scope: str
    category: str
    rubric: str
    prompt: str
    judge: dict[str, Any]
    said: str
    gold: str | None = None
    abstention: bool = False
    declined: bool = False
    flagged: bool = False
    votes: tuple[Vote, ...] = ()

    @property
    def right(self) -> bool | None:
        """What more than half of all votes say; None where nothing is said by so many."""
        counts = Counter(vote.right for vote in self.votes if vote.right is not None)
        said = [verdict for verdict, n in counts.items() if 2 * n > len(self.votes)]
        return said[0] if said else None

    @property
    def failure(self) -> str | None:
        """Why it is not judged: its first failed vote's class, or "undecided"."""
        if self.right is not None:
            return None
        failed = (vote.failure for vote in self.votes if vote.failure is not None)
        return next(failed, "undecided")

    @property
    def pending(self) -> tuple[Vote, ...]:
        """The votes without a verdict."""
        return tuple(vote for vote in self.votes if vote.right is None)
