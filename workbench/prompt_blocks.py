"""Reading a prompt in blocks, so that what two prompts begin with alike is read once.

All questions on a conversation share its text, all verdicts their rubric: thousands of tokens to
every ten of a reply. A prompt is always read in blocks of the same size from its start, whether
some are known already or not; so a reply is the same whatever was asked before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers import DynamicCache

__all__ = ["PromptBlocks"]


class PromptBlocks:
    """What a model has read of the last prompt: its whole blocks of `size` tokens, and what it
    holds of them. Prompts shorter than a block are not its concern."""

    def __init__(self, model: Any, size: int) -> None:
        self.model, self.size = model, size
        self.read: list[int] = []
        self.cache: Any = None

    @contextmanager
    def of(self, prompt: list[int]) -> Iterator[Any]:
        """What the model holds after the whole blocks of a prompt, of which at least one token is
        left to go on from, for one generation; None where there is none, or where the model forgets
        what lies back (a sliding window can't be taken back to an earlier block)."""
        try:
            yield self._held(prompt)
        except BaseException:  # some layers may have read on, and others not
            self.read, self.cache = [], None
            raise

    def _held(self, prompt: list[int]) -> Any:
        whole = (len(prompt) - 1) // self.size * self.size
        known = self._known(prompt, whole)
        if self.cache is None:
            self.cache = DynamicCache(config=self.model.config)
        if whole == 0 or any(layer.is_sliding for layer in self.cache.layers):
            return None
        if beyond := self.cache.get_seq_length() - known:
            self.cache.crop(-beyond)
        self.read = prompt[:known]
        for start in range(known, whole, self.size):
            self._read(prompt[start : start + self.size])
        return self.cache

    def _known(self, prompt: list[int], whole: int) -> int:
        """Tokens in the blocks that the prompt shares with the last one."""
        same = 0
        while same < min(whole, len(self.read)):
            if prompt[same : same + self.size] != self.read[same : same + self.size]:
                break
            same += self.size
        return same

    def _read(self, block: list[int]) -> None:
        ids = torch.tensor([block], device=self.model.device)
        self.model(input_ids=ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1)
        self.read = [*self.read, *block]
