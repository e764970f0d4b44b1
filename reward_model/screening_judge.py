"""The language model that screens candidate pairs, as the paper does; the prompt is ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from reward_model.schema import Pair
from reward_model.screening import Screening
from workbench.llm import LLM, Request
from workbench.prompting import prompt, quoted
from workbench.replies import ReplyFailure, ask_structured

__all__ = ["PromptedScreener", "ScreeningReply"]

HIGHEST = 4


class ScreeningReply(BaseModel):
    """The reply that the prompt asks for."""

    model_config = ConfigDict(strict=True)

    difference: int = Field(ge=0, le=HIGHEST)
    support: int = Field(ge=0, le=HIGHEST)
    unsupported: int = Field(ge=0, le=100)


class PromptedScreener:
    """Asks a language model about each pair; a reply that cannot be read is a reason, no score."""

    def __init__(self, llm: LLM, tries: int = 2) -> None:
        self.llm = llm
        self.tries = tries
        self.prompt = prompt("screening", "reward_model")

    @property
    def identity(self) -> dict[str, Any]:
        named = {"name": "prompted screening", "prompt": self.prompt.digest, "tries": self.tries}
        return {**named, "model": self.llm.identity}

    def screen(self, pairs: Sequence[Pair]) -> list[Screening | str]:
        requests = [self._request(pair) for pair in pairs]
        replies = ask_structured(self.llm, requests, ScreeningReply, self.tries)
        return [_read(reply) for reply in replies]

    def _request(self, pair: Pair) -> Request:
        parts = (
            quoted(pair.query, "query"),
            quoted("\n".join(f"- {memory}" for memory in pair.memories), "memories"),
            quoted(pair.with_memory, "first_answer"),
            quoted(pair.without_memory, "second_answer"),
        )
        return Request(system=self.prompt.text, user="\n\n".join(parts), max_tokens=200)


def _read(reply: ScreeningReply | ReplyFailure) -> Screening | str:
    if isinstance(reply, ReplyFailure):
        return reply.kind
    return Screening(
        difference=reply.difference / HIGHEST,
        support=reply.support / HIGHEST,
        unsupported=float(reply.unsupported),
        reasons=("a language model's judgment",),
    )
