"""Replies of the model that is being trained: the likeliest ones for validation, others to choose
from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.prompt_batch import How, generated
from workbench.training.material import Asked

__all__ = ["replies"]

BATCH = 16
# From one seed of a draw to the next, so that no two questions share their noise.
APART = 1_000_003


def replies(
    model: Any, tokenizer: Any, asked: Sequence[Asked], most: int, seed: int | None = None
) -> list[str]:
    """One reply of at most `most` tokens for each: the likeliest (`seed` None), or drawn at
    temperature 1. The random state of training is left as it was."""
    order = sorted(range(len(asked)), key=lambda row: (len(asked[row].tokens), row))
    made = [""] * len(asked)
    training = model.training
    how = How(
        most=most,
        stops=_stops(model, tokenizer),
        pad=tokenizer.pad_token_id,
        temperature=0.0 if seed is None else 1.0,
    )
    model.eval()
    try:
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            seeds = [] if seed is None else [seed * APART + row for row in rows]
            prompts = [asked[row].tokens for row in rows]
            drawn = generated(model, prompts, how._replace(seeds=seeds))
            texts = tokenizer.batch_decode(drawn, skip_special_tokens=True)
            for row, text in zip(rows, texts, strict=True):
                made[row] = text
    finally:
        model.train(training)
    return made


def _stops(model: Any, tokenizer: Any) -> list[int]:
    known = getattr(model.generation_config, "eos_token_id", None)
    listed = known if isinstance(known, list) else [known]
    return sorted({stop for stop in (*listed, tokenizer.eos_token_id) if stop is not None})
