"""Generating for several prompts at once: what they all begin with is read once, and samples are
drawn for each from its own seed.

A draw takes the likeliest token after Gumbel noise was added to the scores (at temperature T, to
scores / T), which is a sample of softmax(scores / T); the noise of a prompt comes from its seed
alone, so whoever else is asked beside it changes nothing but the last bits of the scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers import DynamicCache, GenerationConfig, LogitsProcessor, LogitsProcessorList

__all__ = ["How", "alike", "generated"]

# What is alike at the beginning of a batch is read apart where it is at least so many tokens.
LEAST = 32


class How(NamedTuple):
    """At most `most` new tokens, ended by one of `stops`; `pad` fills up. At temperature 0 the
    likeliest are taken, else they are drawn from one of `seeds` for each prompt."""

    most: int
    stops: Sequence[int]
    pad: int
    temperature: float = 0.0
    seeds: Sequence[int] = ()


def generated(
    model: Any, prompts: Sequence[list[int]], how: How, held: Any = None
) -> list[list[int]]:
    """New tokens of each prompt, those after its end included.

    `held` is what the model has read already of a single prompt, if anything.
    """
    shared = alike(prompts) if held is None else 0
    ids, seen = _padded(prompts, shared, how.pad, model.device)
    config = GenerationConfig(
        max_new_tokens=how.most, do_sample=False, eos_token_id=how.stops, pad_token_id=how.pad
    )
    with torch.inference_mode(), warnings.catch_warnings():
        # The newest release has another name for the cache, which older ones don't know.
        warnings.simplefilter("ignore", FutureWarning)
        if shared:
            held = _read(model, prompts[0][:shared], len(prompts))
        output = model.generate(
            input_ids=ids,
            attention_mask=seen,
            generation_config=config,
            past_key_values=held,
            logits_processor=LogitsProcessorList(
                [Drawing(how.seeds, how.temperature)] if how.temperature > 0 else []
            ),
        )
    return [row[ids.shape[1] :].tolist() for row in output]


def alike(prompts: Sequence[list[int]]) -> int:
    """How many tokens several prompts all begin with, leaving one of each to go on from; 0 where
    reading them apart is not worth it."""
    first, least = prompts[0], min(map(len, prompts)) - 1
    if len(prompts) == 1:
        return 0
    same = 0
    while same < least and all(prompt[same] == first[same] for prompt in prompts):
        same += 1
    return same if same >= LEAST else 0


class Drawing(LogitsProcessor):
    """Adds the noise that makes the likeliest token a draw."""

    def __init__(self, seeds: Sequence[int], temperature: float) -> None:
        self.temperature = temperature
        self.noises = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores (rows, vocabulary) with their noise."""
        noise = torch.empty(scores.shape, dtype=torch.float32)
        for row, source in zip(noise, self.noises, strict=True):
            row.exponential_(generator=source)
        return scores.float() / self.temperature - noise.log().to(scores.device)


def _padded(
    prompts: Sequence[list[int]], shared: int, pad: int, device: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and what of them is read (n, longest): filled up behind the part they share, so
    that all end together."""
    longest = max(map(len, prompts))
    gaps = [longest - len(prompt) for prompt in prompts]
    ids = [p[:shared] + [pad] * gap + p[shared:] for p, gap in zip(prompts, gaps, strict=True)]
    seen = [[1] * shared + [0] * gap + [1] * (longest - shared - gap) for gap in gaps]
    return torch.tensor(ids, device=device), torch.tensor(seen, device=device)


def _read(model: Any, tokens: list[int], rows: int) -> Any:
    """What the model holds of some tokens, for each of so many rows; None where it forgets what
    lies back (a sliding window), and all is read with each row."""
    cache = DynamicCache(config=model.config)
    if any(layer.is_sliding for layer in cache.layers):
        return None
    model(
        input_ids=torch.tensor([tokens], device=model.device),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    cache.batch_repeat_interleave(rows)
    return cache
