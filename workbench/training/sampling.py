"""Replies of the model that is being trained: the likeliest ones for validation, others to choose
from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import GenerationConfig

from workbench.training.material import Asked

__all__ = ["replies"]

BATCH = 16


def replies(
    model: Any, tokenizer: Any, asked: Sequence[Asked], most: int, seed: int | None = None
) -> list[str]:
    """One reply of at most `most` tokens for each: the likeliest (`seed` None), or drawn at
    temperature 1. The random state of training is left as it was."""
    order = sorted(range(len(asked)), key=lambda row: (len(asked[row].tokens), row))
    made = [""] * len(asked)
    training, stops = model.training, _stops(model, tokenizer)
    drawn = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    how = {"do_sample": False} if seed is None else drawn
    config = GenerationConfig(
        max_new_tokens=most, eos_token_id=stops, pad_token_id=tokenizer.pad_token_id, **how
    )
    model.eval()
    try:
        with torch.no_grad(), torch.random.fork_rng():
            if seed is not None:
                torch.manual_seed(seed)
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                texts = _batch(model, tokenizer, [asked[row].tokens for row in rows], config)
                for row, text in zip(rows, texts, strict=True):
                    made[row] = text
    finally:
        model.train(training)
    return made


def _batch(
    model: Any, tokenizer: Any, prompts: Sequence[list[int]], config: GenerationConfig
) -> list[str]:
    longest, pad = max(map(len, prompts)), tokenizer.pad_token_id
    ids = torch.tensor([[pad] * (longest - len(p)) + p for p in prompts], device=model.device)
    seen = torch.tensor(
        [[0] * (longest - len(p)) + [1] * len(p) for p in prompts], device=model.device
    )
    output = model.generate(input_ids=ids, attention_mask=seen, generation_config=config)
    return list(tokenizer.batch_decode(output[:, longest:], skip_special_tokens=True))


def _stops(model: Any, tokenizer: Any) -> list[int]:
    known = getattr(model.generation_config, "eos_token_id", None)
    listed = known if isinstance(known, list) else [known]
    return sorted({stop for stop in (*listed, tokenizer.eos_token_id) if stop is not None})
