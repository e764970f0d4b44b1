"""Reward models that are sequence classifiers, such as Skywork-Reward-V2 (SPEC B.6).

A conversation of one user turn and one assistant turn, written with the tokenizer's own chat
template, gets one number; the probability of preferring memory is sigmoid(number with memory -
number without), as these models are trained (Bradley-Terry). The user turn has the query under
`[User Query]` and, in the variant with memories, the memories under `[Relevant Memories]`.

A conversation longer than the model reads is *not* cut, as either end of it matters: its comparison
has no probability and is counted. Tokens of the template that stand in a text are broken up by a
zero-width space, so that no text can end its turn.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reward_model.baseline_result import BaselineResult
from reward_model.schema import Comparison
from workbench.errors import ModelError

__all__ = ["Classifier", "classifier_baseline", "conversation", "load_classifier"]

NAMES = {True: "sequence classifier, with memories", False: "sequence classifier, without memories"}
BATCH = 8
TOO_LONG = "longer than the model reads"
# What a tokenizer says that has no limit of its own.
NO_LIMIT = 1_000_000
BREAK = "\u200b"


class Classifier(NamedTuple):
    """A loaded model. `limit` is the number of tokens that it reads, `marks` the tokens that no
    text may contain, `identity` what its numbers depend on."""

    model: Any
    tokenizer: Any
    limit: int
    marks: tuple[str, ...]
    identity: dict[str, Any]


def classifier_baseline(
    comparisons: Sequence[Comparison],
    model: str | Path | Classifier,
    *,
    with_memories: bool,
    batch: int = BATCH,
) -> BaselineResult:
    """Which response does a reward model give more? A model that cannot be had is "not run".

    `model` is a loaded one, a local folder or a hub id ("Skywork/..");
    with HF_HUB_OFFLINE set only the hub's local copies are looked at.
    """
    name = NAMES[with_memories]
    try:
        loaded = model if isinstance(model, Classifier) else load_classifier(model)
    except ModelError as error:
        return BaselineResult.missing(name, str(error))
    texts = [
        _rendered(loaded, one, response, with_memories)
        for one in comparisons
        for response in (one.with_memory, one.without_memory)
    ]
    numbers = _numbers(loaded, list(dict.fromkeys(texts)), batch)
    probability: dict[str, float | None] = {}
    failed: Counter[str] = Counter()
    for one, memory, other in zip(comparisons, texts[::2], texts[1::2], strict=True):
        ahead = _ahead(numbers[memory], numbers[other])
        probability[one.id] = ahead
        if ahead is None:
            long = numbers[memory] is None or numbers[other] is None
            failed[TOO_LONG if long else "no finite number"] += 1
    note = "memories in the prompt" if with_memories else "no memories in the prompt"
    return BaselineResult(
        name=name,
        probability=probability,
        failed=dict(failed),
        note=f"{note}; a conversation of more than {loaded.limit} tokens is not scored",
        facts={"classifier": loaded.identity},
    )


def load_classifier(model: str | Path, device: str | None = None) -> Classifier:
    """Load a classifier with one output from a folder, or from the hub (its local copy first).

    Weights are safetensors only, and no code of the repository is run. `device` is "cpu", "cuda",
    .. ($WORKBENCH_DEVICE, else "cpu"). Raises ModelError, with what to do, where it cannot be had,
    has several outputs, or its tokenizer has no chat template.
    """
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = Path(model).expanduser()
    local = folder.is_dir()
    source = str(folder) if local else str(model)
    place = device or os.environ.get("WORKBENCH_DEVICE", "cpu")
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local)
        loaded, info = AutoModelForSequenceClassification.from_pretrained(
            source,
            local_files_only=local,
            use_safetensors=True,
            dtype="auto",
            output_loading_info=True,
        )
        loaded = loaded.to(place).eval()
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise ModelError(
            f"{source} does not load as a sequence classifier ({type(error).__name__}: "
            f"{_first_line(error)}). Name a folder with config.json, model.safetensors and a "
            "tokenizer, or a hub id where there is a network"
        ) from error
    _check(source, loaded, tokenizer, sorted(info["missing_keys"]))
    return Classifier(
        model=loaded,
        tokenizer=tokenizer,
        limit=_limit(loaded.config, tokenizer),
        marks=tuple(sorted({*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()})),
        identity=_identity(source, loaded),
    )


def conversation(
    comparison: Comparison, response: str, with_memories: bool
) -> list[dict[str, str]]:
    """The two turns as SPEC B.6 has them: headings in brackets, one memory a line."""
    asked = f"[User Query]\n{comparison.query}"
    if with_memories:
        listed = "\n".join(f"- {memory}" for memory in comparison.memories)
        asked = f"{asked}\n\n[Relevant Memories]\n{listed}"
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": response}]


def _rendered(
    classifier: Classifier, comparison: Comparison, response: str, with_memories: bool
) -> str:
    turns = conversation(comparison, response, with_memories)
    for turn in turns:
        for mark in classifier.marks:
            # A mark of one letter would break up every word; it cannot end a turn.
            if len(mark) > 1:
                turn["content"] = turn["content"].replace(mark, mark[0] + BREAK + mark[1:])
    text: str = classifier.tokenizer.apply_chat_template(turns, tokenize=False)
    return text


def _numbers(classifier: Classifier, texts: Sequence[str], batch: int) -> dict[str, float | None]:
    """The model's number for each text; None for those that are too long.

    Longest first, in batches padded on the right; one at a time where the tokenizer has no token
    for padding of its own, as these models take the last token that is no padding for the end.
    """
    import torch

    model, tokenizer = classifier.model, classifier.tokenizer
    rows = {text: tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts}
    found: dict[str, float | None] = dict.fromkeys(texts)
    able = [text for text in texts if 0 < len(rows[text]) <= classifier.limit]
    able.sort(key=lambda text: -len(rows[text]))
    pad = tokenizer.pad_token_id
    padded = pad is not None and pad != tokenizer.eos_token_id
    step = batch if padded else 1
    if padded:
        model.config.pad_token_id = pad
    for start in range(0, len(able), step):
        some = able[start : start + step]
        width = len(rows[some[0]])
        ids = torch.tensor([rows[t] + [pad or 0] * (width - len(rows[t])) for t in some])
        mask = torch.tensor([[1] * len(rows[t]) + [0] * (width - len(rows[t])) for t in some])
        with torch.inference_mode():
            given = model(input_ids=ids.to(model.device), attention_mask=mask.to(model.device))
        found.update(zip(some, given.logits[:, 0].float().tolist(), strict=True))
    return found


def _ahead(memory: float | None, other: float | None) -> float | None:
    if memory is None or other is None or not np.isfinite([memory, other]).all():
        return None
    return float(1 / (1 + np.exp(-np.clip(memory - other, -700, 700))))


def _check(source: str, model: Any, tokenizer: Any, missing: Sequence[str]) -> None:
    if model.config.num_labels != 1:
        raise ModelError(
            f"{source} has {model.config.num_labels} outputs; a reward model has one. A classifier "
            "of classes is no reward"
        )
    if missing:  # the library would draw them at random, with a warning at most
        raise ModelError(
            f"{source} lacks {len(missing)} of its weights ({missing[0]} first): it is no trained "
            "classifier, or its file is incomplete"
        )
    if not tokenizer.chat_template:
        raise ModelError(
            f"{source}: its tokenizer has no chat template, so a conversation cannot be written as "
            "the model learned it"
        )


def _limit(config: Any, tokenizer: Any) -> int:
    positions = getattr(config, "max_position_embeddings", None) or NO_LIMIT
    return int(min(positions, tokenizer.model_max_length, NO_LIMIT))


def _identity(source: str, model: Any) -> dict[str, Any]:
    """A folder's name without its path, which is this machine's business; the hub's revision; and
    the digest of the weights on top of the language model, which no two reward models share."""
    own = f"{model.base_model_prefix}."
    head = hashlib.sha256()
    for name, weights in sorted(model.named_parameters()):
        if not name.startswith(own):
            head.update(weights.detach().float().cpu().numpy().tobytes())
    return {
        "model": Path(source).name if Path(source).is_dir() else source,
        "architecture": type(model).__name__,
        "revision": getattr(model.config, "_commit_hash", None),
        "head": head.hexdigest()[:16],
        "dtype": str(model.dtype).removeprefix("torch."),
    }


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]
