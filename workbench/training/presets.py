"""Named settings of the training: every value that TRL is given, and what is ours beside it.

`paper` is SPEC A.6. Group size 8; clip 0.2; KL 0.001; entropy 0.001; learning rate 1e-6; 64
prompts, so 512 completions, an update; 30 epochs; weight decay 0.01; gradients clipped at 1;
token-mean loss ("dapo" in TRL: over all tokens of an update); validation before training. What the
paper doesn't state is TRL's default, or said here. `cpu` is small enough for a machine without a
graphics card.
"""

from __future__ import annotations

import os
from typing import Any

from workbench.errors import UsageError
from workbench.schema import Record

__all__ = ["ALPHA", "PRESETS", "Preset", "preset", "processes"]

ALPHA = 0.2  # weight of the answer's reward, the rest is retrieval's (SPEC A.5)


class Preset(Record, frozen=True, kw_only=True, omit_defaults=False):
    """`trl` goes to `GRPOConfig` as it is. `prompts` are the questions of an update: the gradient
    is accumulated over as many batches as that takes. `epochs` passes over the training questions
    make the number of updates, unless `steps` does. `recipe` names the retrieval that is rewarded,
    `lora` the adapter's rank (0: all weights are trained), `dtype` what the weights are held in,
    `validate_every` and `save_every` are updates, `longest_prompt` is tokens."""

    trl: dict[str, Any]
    prompts: int
    epochs: float
    recipe: str
    steps: int = 0
    lora: int = 0
    dtype: str = "float32"
    validate_every: int = 10
    save_every: int = 10
    longest_prompt: int = 1024


# What both presets share: the paper's method, and that nothing is sent anywhere.
METHOD: dict[str, Any] = {
    "num_generations": 8,
    "epsilon": 0.2,
    "beta": 0.001,
    "entropy_coef": 0.001,
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "loss_type": "dapo",
    "scale_rewards": "group",
    "temperature": 1.0,
    "chat_template_kwargs": {
        "enable_thinking": False
    },  # as in use; most templates have no such word
    "max_completion_length": 48,
    "eval_on_start": True,
    "eval_strategy": "steps",
    "metric_for_best_model": "eval_f1",
    "greater_is_better": True,
    "save_strategy": "steps",
    "save_total_limit": 2,
    "shuffle_dataset": False,  # our own order, which a resumed run takes up where it was
    "logging_steps": 1,
    "report_to": "none",
    "disable_tqdm": True,
}

PRESETS: dict[str, Preset] = {
    "paper": Preset(
        trl={
            **METHOD,
            "learning_rate": 1e-6,
            "lr_scheduler_type": "constant",
            "per_device_train_batch_size": 8,
            "per_device_eval_batch_size": 8,
            "gradient_checkpointing": True,
            "bf16": True,
        },
        prompts=64,
        epochs=30,
        recipe="paper",
        dtype="bfloat16",
    ),
    "cpu": Preset(
        trl={
            **METHOD,
            "learning_rate": 1e-4,
            "lr_scheduler_type": "linear",
            "per_device_train_batch_size": 8,
            "per_device_eval_batch_size": 8,
            "gradient_checkpointing": False,
            "max_completion_length": 32,
            "bf16": False,
            "use_cpu": True,
        },
        prompts=1,
        epochs=1,
        recipe="query-only",
        steps=20,
        lora=16,
        dtype="bfloat16",
        validate_every=20,
        longest_prompt=512,
    ),
}


def preset(name: str) -> Preset:
    """The settings of that name. Raises UsageError naming those that exist."""
    if name not in PRESETS:
        raise UsageError(f"unknown training preset {name!r}; known: {', '.join(PRESETS)}")
    return PRESETS[name]


def processes() -> int:
    """Processes that train together, as `accelerate launch` tells each of them."""
    told = os.environ.get("WORLD_SIZE", "1")
    return int(told) if told.isdecimal() and int(told) else 1
