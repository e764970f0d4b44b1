"""A response to a query by any language model, with memories or without: two separate calls.

The three prompting regimes are the paper's, the words are ours: conservative (a memory only where
it clearly improves the answer), ordinary (where relevant and natural), aggressive (wherever
possible). The call without memories has the very same instructions, less the part on memories.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from reward_model.schema import REGIMES
from workbench.errors import ModelError, UsageError
from workbench.llm import LLM, Reply, Request
from workbench.prompting import prompt, quoted
from workbench.replies import REFUSAL
from workbench.reply_json import TAGS, objects_in
from workbench.schema import Record

__all__ = ["Response", "prompts_of", "read_response", "respond", "response_request"]

PACKAGE = "reward_model"
TRIES = 2
OPEN_THOUGHT = re.compile(rf"<{TAGS}\s*>", re.IGNORECASE)


class Response(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What was written, or the class of the failure. Tokens and seconds are of all tries."""

    text: str = ""
    failure: str | None = None
    detail: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    tries: int = 0


def prompts_of(regime: str) -> dict[str, str]:
    """The digests of the prompts that a pair of a regime is written with."""
    names = ("respond_query", f"respond_{regime}")
    return {name: prompt(name, PACKAGE).digest for name in names}


def response_request(
    query: str, memories: Sequence[str] | None, regime: str, **limits: Any
) -> Request:
    """The request for one response; `memories` None for the one without. `limits` are fields of a
    request (max_tokens, temperature, seed). Raises UsageError for a regime that is none."""
    if regime not in REGIMES:
        raise UsageError(f"there is no regime {regime!r}; there is: {', '.join(REGIMES)}")
    system, parts = prompt("respond_query", PACKAGE).text, [quoted(query, "query")]
    if memories is not None:
        system = f"{system}\n\n{prompt(f'respond_{regime}', PACKAGE).text}"
        # On one line each, so that no memory can pass for two.
        listed = "\n".join(f"- {' '.join(memory.split())}" for memory in memories)
        parts.insert(0, quoted(listed, "memories"))
    return Request(system=system, user="\n\n".join(parts), **limits)


def respond(llm: LLM, requests: Sequence[Request]) -> dict[Request, Response]:
    """A response or a failure for each different request, asked together so that a model can batch
    them. What was cut off, is empty or refuses is asked once more, with twice the room.

    Raises ModelError where the model does not give one reply a request.
    """
    made = {request: Response() for request in requests}
    pending = list(made)
    for attempt in range(TRIES):
        asked = [_again(one) if attempt else one for one in pending]
        replies = llm.complete(asked) if asked else []
        if len(replies) != len(asked):
            raise ModelError(f"the model gave {len(replies)} replies to {len(asked)} requests")
        for request, reply in zip(pending, replies, strict=True):
            made[request] = _with_spent(read_response(reply), made[request], reply)
        pending = [r for r in pending if made[r].failure in ("truncated", "empty", "refusal")]
    return made


def read_response(reply: Reply) -> Response:
    """What a reply says past its thoughts, whole: line breaks and markup are part of a response. A
    reply that was cut off is none."""
    if reply.failure is not None:
        return Response(failure=reply.failure, detail=reply.detail)
    found = objects_in(reply.text)
    text = reply.text[found.begin :].strip()
    if OPEN_THOUGHT.match(text):
        return Response(failure="truncated", detail="a thought that is not closed")
    if not any(character.isalnum() for character in text):
        return Response(failure="empty")
    if REFUSAL.match(text.replace("’", "'")):
        return Response(failure="refusal")
    return Response(text=text)


def _again(request: Request) -> Request:
    return msgspec.structs.replace(
        request, max_tokens=2 * request.max_tokens, seed=request.seed + 1
    )


def _with_spent(now: Response, before: Response, reply: Reply) -> Response:
    return msgspec.structs.replace(
        now,
        tokens_in=before.tokens_in + reply.tokens_in,
        tokens_out=before.tokens_out + reply.tokens_out,
        seconds=round(before.seconds + reply.seconds, 3),
        tries=before.tries + 1,
    )
