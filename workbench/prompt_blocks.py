"""Reading a prompt in blocks, so that what two prompts begin with alike is read once.

All questions on a conversation share its text, all verdicts their rubric: thousands of tokens to
every ten of a reply. A prompt is always read in the same pieces, whether some are known already or
not: its instructions first, then blocks of one size. So a reply is the same whatever was asked
before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import DynamicCache

__all__ = ["PromptBlocks"]


class PromptBlocks:
    """What a model has read of the last prompt: its instructions and whole blocks of `size` tokens,
    and what it holds of them."""

    def __init__(self, model: Any, size: int) -> None:
        self.model, self.size = model, size
        self.read: list[int] = []
        self.first = 0
        self.cache: Any = None

    @contextmanager
    def of(self, prompt: list[int], first: int = 0) -> Iterator[Any]:
        """What the model holds after the whole pieces of a prompt, of which at least one token is
        left to go on from, for one generation; None where there is none, or where the model forgets
        what lies back (a sliding window can't be taken back to an earlier piece). `first` is the
        length of the instructions, 0 where blocks begin at the prompt's start."""
        try:
            yield self._held(prompt, first)
        except BaseException:  # some layers may have read on, and others not
            self.read, self.cache = [], None
            raise

    def _held(self, prompt: list[int], first: int) -> Any:
        ends = list(range(first or self.size, len(prompt), self.size))
        known = self._known(prompt, first, ends)
        if self.cache is None:
            self.cache = DynamicCache(config=self.model.config)
        if not ends or any(layer.is_sliding for layer in self.cache.layers):
            return None
        if beyond := self.cache.get_seq_length() - known:
            self.cache.crop(-beyond)
        self.read, self.first = prompt[:known], first
        for end in ends:
            if end > known:
                self._read(prompt[len(self.read) : end])
        return self.cache

    def _known(self, prompt: list[int], first: int, ends: list[int]) -> int:
        """Tokens in the pieces that the prompt shares with the last one, cut alike."""
        same = 0
        for end in ends if first == self.first else ():
            if end > len(self.read) or prompt[same:end] != self.read[same:end]:
                break
            same = end
        return same

    def _read(self, piece: list[int]) -> None:
        ids = torch.tensor([piece], device=self.model.device)
        self.model(input_ids=ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1)
        self.read = [*self.read, *piece]
