"""Asking a judge: one vote an answer and repeat, asked for once more where it cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from workbench.errors import ModelError
from workbench.judged import Vote
from workbench.llm import LLM, Reply, Request
from workbench.rubrics import request_of
from workbench.schema import Question
from workbench.verdicts import verdict_of

__all__ = ["TRIES", "Put", "vote_again"]

TRIES = 2
# Another attempt, another seed, or the cache would give the reply that could not be read.
ATTEMPT_SEEDS = 1000
AGAIN = (
    "Your last reply could not be read. Answer with the JSON object alone: a reason, and one "
    "verdict."
)
# Calls that did not get through were repeated by the client; other words would not help them.
WORTH_ASKING = ("unparsed", "truncated", "empty", "invalid", "refusal")


class Put(NamedTuple):
    """An answer as it is put to the judge, and the vote that it is asked for."""

    question: Question
    gold: str | None
    said: str
    vote: Vote


def vote_again(llm: LLM, wanted: Sequence[Put], seed: int = 0) -> list[Vote]:
    """Each vote's next attempt. Raises ModelError where the judge does not give one reply a
    request, and what its client raises."""
    votes = [_blank(one.vote) for one in wanted]
    requests = [
        request_of(
            one.question, one.gold, one.said, vote.repeat, seed + ATTEMPT_SEEDS * vote.attempt
        )
        for one, vote in zip(wanted, votes, strict=True)
    ]
    left = list(range(len(votes)))
    for again in range(TRIES):
        asked = [_again(requests[place], again, votes[place].failure) for place in left]
        for place, reply in zip(left, _complete(llm, asked), strict=True):
            # Both as the judge saw it and as it was, for a judge may quote either.
            data = f"{requests[place].user}\n{wanted[place].said}"
            votes[place] = _read(votes[place], reply, data)
        left = [place for place in left if votes[place].failure in WORTH_ASKING]
        if not left:
            break
    return votes


def _blank(vote: Vote) -> Vote:
    return Vote(repeat=vote.repeat, order=vote.order, attempt=vote.attempt + 1)


def _again(request: Request, again: int, failure: str | None) -> Request:
    if not again:
        return request
    longer = 2 if failure == "truncated" else 1
    return msgspec.structs.replace(
        request,
        user=f"{request.user}\n\n{AGAIN}",
        seed=request.seed + ATTEMPT_SEEDS // 2,
        max_tokens=request.max_tokens * longer,
    )


def _complete(llm: LLM, requests: list[Request]) -> list[Reply]:
    replies = llm.complete(requests)
    if len(replies) != len(requests):
        raise ModelError(f"the judge gave {len(replies)} replies to {len(requests)} requests")
    return replies


def _read(vote: Vote, reply: Reply, data: str) -> Vote:
    verdict = verdict_of(reply, data)
    return msgspec.structs.replace(
        vote,
        right=verdict.right,
        failure=verdict.failure,
        detail=verdict.detail,
        replies=(*vote.replies, reply.text),
        tokens_in=vote.tokens_in + reply.tokens_in,
        tokens_out=vote.tokens_out + reply.tokens_out,
    )
