"""What is trained, on what, and how: everything that a training run depends on."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from workbench.errors import UsageError
from workbench.prompting import prompt
from workbench.schema import Recipe, Record, digest_of
from workbench.statement import STATEMENT
from workbench.training.presets import ALPHA, Preset, preset, processes
from workbench.training.questions import Parts

__all__ = ["Settings", "resolved", "reward_weights", "settings", "updates"]

# What `--trl` cannot set: it is settled by our own options, or by the data.
OURS = {
    "seed": "--seed",
    "max_steps": "--steps",
    "num_train_epochs": "--epochs in a file of settings (`epochs`)",
    "output_dir": "the workspace",
    "reward_weights": "--alpha",
    "shuffle_dataset": "nothing: the order is ours, so that a resumed run keeps it",
    "max_prompt_length": "`longest_prompt`: TRL has no such option any more",
}


class Settings(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A run's settings. `model` is a folder or an id of the hub; `retrieval` and `answer` name the
    two rewards (`RETRIEVAL_REWARDS`, `ANSWER_REWARDS`); with `with_question`, the question is
    searched with before the rewrite. `warm` is the number of candidates of each question from which
    the best is learnt by heart first (0: no warm start)."""

    dataset: str
    model: str
    preset: Preset
    recipe: Recipe
    preset_name: str = "paper"
    alpha: float = ALPHA
    answerer: str = "extractive"
    retrieval: str = "recall"
    answer: str = "bleu1"
    train: str = "train"
    validation: str = "validation"
    with_question: bool = False
    warm: int = 0
    seed: int = 0

    @property
    def key(self) -> str:
        """The name of the folder of its unfinished run."""
        return digest_of([self.dataset, self.model, self.preset_name, self.alpha, self.seed])

    def identity(self, parts: Parts, banks: str) -> dict[str, Any]:
        """What its result depends on, plain, but the weights that it begins with."""
        told = {k: v for k, v in msgspec.to_builtins(self).items() if k != "model"}
        return {
            **told,
            "trl": resolved(self, len(parts.train)),
            "banks": banks,
            "data": digest_of([parts.train, parts.validation]),
            "prompt": prompt(STATEMENT).digest,
        }


def settings(given: dict[str, Any], name: str = "paper", trl: dict[str, Any] | None = None) -> Any:
    """Settings of a preset's name with what was given instead of its own values.

    `given` has fields of `Settings` and of `Preset`, `trl` options of `GRPOConfig` that reach it
    unchanged. Raises UsageError naming an option that is neither, and how it is said here.
    """
    base = preset(name)
    fields = {field.name for field in msgspec.structs.fields(Preset)} - {"trl", "recipe"}
    known = {field.name for field in msgspec.structs.fields(Settings)} - {"preset"}
    unknown = sorted(given.keys() - fields - known)
    if unknown:
        hint = f" ({OURS[unknown[0]]})" if unknown[0] in OURS else ""
        raise UsageError(
            f"unknown setting {unknown[0]!r}{hint}; known: {', '.join(sorted(fields | known))}; "
            "an option of TRL's GRPOConfig belongs under `trl`"
        )
    for option in trl or {}:
        if option in OURS:
            raise UsageError(f"{option} is not set through trl here: use {OURS[option]}")
    changed = {key: given[key] for key in given.keys() & fields}
    whole = msgspec.structs.replace(base, **changed, trl={**base.trl, **(trl or {})})
    own = {key: given[key] for key in given.keys() & known}
    return Settings(preset=whole, preset_name=name, **own)


def reward_weights(alpha: float) -> list[float]:
    """Weights of retrieval and answer, in this order: R = α·answer + (1 - α)·retrieval."""
    return [round(1 - alpha, 12), alpha]


def updates(one: Preset, questions: int) -> int:
    """How often the weights change: `steps`, or what `epochs` over the questions make."""
    return one.steps or math.floor(one.epochs * questions / one.prompts)


def resolved(of: Settings, questions: int, world: int | None = None) -> dict[str, Any]:
    """Every value of TRL's `GRPOConfig` that is set, for so many training questions.

    An update reads `prompts` questions with `num_generations` completions each; what one batch of
    all `world` processes doesn't hold is accumulated.
    """
    one, world = of.preset, world or processes()
    trl = dict(one.trl)
    batch = trl["per_device_train_batch_size"] * world
    if "gradient_accumulation_steps" not in trl:
        accumulated = one.prompts * trl["num_generations"] / max(batch, 1)
        trl["gradient_accumulation_steps"] = max(1, round(accumulated))
    return {
        **trl,
        "num_train_epochs": one.epochs,
        "max_steps": updates(one, questions),
        "eval_steps": one.validate_every,
        "save_steps": one.save_every,
        "reward_weights": reward_weights(of.alpha),
        "seed": of.seed,
    }
