"""Language models: what is asked of one, what comes back, and a scripted one without any model.

A model is anything with an `identity` and `complete`: requests in, as many replies out, in the same
order. A call that failed is a reply with a `failure`, never an exception and never an empty answer:
who asks counts failures by class. What a reply *means* is read in `workbench.replies`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from workbench.errors import UsageError
from workbench.schema import Record, digest_of

__all__ = ["LLM", "CallFailure", "Reply", "Request", "Scripted"]

CallFailure = Literal[
    "refusal", "truncated", "invalid", "empty", "rate-limited", "timeout", "network"
]


class Request(Record, frozen=True, kw_only=True):
    """One call: our instructions in `system`; data, delimited, in `user`.

    `max_tokens` bounds the reply. At `temperature` 0 a request has one reply, as far as the model
    keeps that promise; `seed` is passed on to models that take one. `json_object` asks an endpoint
    that can for nothing but a JSON object (`response_format`); one that cannot is asked without it.
    With `cut_counts` a reply that reached its length is used as far as it goes, and so is kept.
    """

    system: str
    user: str
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0
    json_object: bool = False
    cut_counts: bool = False


class Reply(Record, frozen=True, kw_only=True):
    """The model's text as it came, or why there is none. `text` holds no separate reasoning field
    of an endpoint: thoughts are no answer. Tokens and `seconds` are 0 where they are not told.
    `detail` says more of a failure, for people (the status, what the server said); no key is in it.
    """

    text: str = ""
    failure: CallFailure | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    detail: str = ""


class LLM(Protocol):
    """A language model behind any client.

    `identity` is JSON and says what the replies depend on besides the requests (kind, model,
    revision, quantisation, server); it stands in every result, so no key is ever in it.
    """

    @property
    def identity(self) -> dict[str, Any]: ...

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply for each request, in their order."""
        ...


Answer = str | Reply


class Scripted:
    """A model whose answers are written beforehand: for tests and for teaching.

    `answers` is a function of the request, or a sequence that is given out in order. `asked` keeps
    every request. A function's answers cannot be told from outside, so `name` names them; change
    it with the function.

    >>> model = Scripted(lambda request: request.user.upper())
    >>> [reply.text for reply in model.complete([Request(system="", user="tea")])]
    ['TEA']
    """

    def __init__(
        self, answers: Callable[[Request], Answer] | Sequence[Answer], name: str = "scripted"
    ) -> None:
        self.answers = answers
        self.name = name
        self.asked: list[Request] = []
        self._given = 0

    @property
    def identity(self) -> dict[str, Any]:
        known = {} if callable(self.answers) else {"answers": digest_of(list(self.answers))}
        return {"kind": "scripted", "model": self.name, **known}

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        """Raises UsageError where a sequence of answers is used up."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        self.asked.append(request)
        if callable(self.answers):
            answer = self.answers(request)
        elif self._given < len(self.answers):
            answer = self.answers[self._given]
            self._given += 1
        else:
            raise UsageError(
                f"scripted model {self.name!r} has {len(self.answers)} answers and was asked "
                f"{len(self.asked)} times: give it more, or a function"
            )
        return answer if isinstance(answer, Reply) else Reply(text=answer)
