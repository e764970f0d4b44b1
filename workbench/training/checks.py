"""What is refused before any model is loaded, each with the values that would do."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from workbench.answer import ANSWERERS
from workbench.errors import ModelError, UsageError
from workbench.retrieve import check_recipe
from workbench.reward_answers import ANSWER_REWARDS
from workbench.reward_search import RETRIEVAL_REWARDS
from workbench.run_plan import LLM_ANSWERER
from workbench.training.plan import Settings, resolved
from workbench.training.presets import processes

__all__ = ["check", "check_installed"]

REWARDS = {"retrieval": tuple(RETRIEVAL_REWARDS), "answer": tuple(ANSWER_REWARDS)}
DTYPES = ("float32", "bfloat16")
NEEDED = ("trl", "peft", "datasets", "accelerate")


def check_installed() -> None:
    """Raises ModelError with the command where a library of the extra `train` is not here."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ModelError(
            f"training needs {', '.join(missing)}: pip install 'recall-workbench[train]'"
        )


def check(of: Settings, questions: int, world: int | None = None) -> dict[str, Any]:
    """TRL's settings for so many training questions, where they can work.

    Raises UsageError for α outside 0..1, an unknown name, batches that hold no whole groups, and
    a training without a single update.
    """
    world = world or processes()
    if not 0 <= of.alpha <= 1:
        raise UsageError(f"alpha must lie in 0..1, not {of.alpha}")
    if of.answerer not in (*ANSWERERS, LLM_ANSWERER):
        raise UsageError(
            f"unknown answerer {of.answerer!r}; known: {', '.join((*ANSWERERS, LLM_ANSWERER))}"
        )
    for what, known in REWARDS.items():
        if getattr(of, what) not in known:
            raise UsageError(
                f"unknown {what} reward {getattr(of, what)!r}; known: {', '.join(known)}"
            )
    if of.preset.dtype not in DTYPES:
        raise UsageError(f"dtype is {' or '.join(DTYPES)}, not {of.preset.dtype!r}")
    for name in ("steps", "lora", "validate_every", "save_every", "longest_prompt", "prompts"):
        least = 0 if name in ("steps", "lora") else 1
        if getattr(of.preset, name) < least:
            raise UsageError(f"{name} must be at least {least}, not {getattr(of.preset, name)}")
    if of.warm == 1 or of.warm < 0:
        raise UsageError(f"a warm start takes the best of at least 2 candidates, not of {of.warm}")
    check_recipe(of.recipe)
    trl = resolved(of, questions, world)
    _groups(trl, of, world)
    if trl["max_steps"] < 1:
        raise UsageError(
            f"{questions} training questions make no update of {of.preset.prompts} prompts in "
            f"{of.preset.epochs:g} epochs; give --steps, or fewer `prompts`"
        )
    return trl


def _groups(trl: dict[str, Any], of: Settings, world: int) -> None:
    """Every update and every evaluation batch must hold whole groups of completions."""
    group = trl["num_generations"]
    if group < 2:
        raise UsageError(f"num_generations must be at least 2 (a group is compared), not {group}")
    each = trl["per_device_train_batch_size"] * world
    update, wanted = each * trl["gradient_accumulation_steps"], of.preset.prompts * group
    where = f"per_device_train_batch_size × processes = {each}"
    if "gradient_accumulation_steps" not in of.preset.trl:
        if update != wanted:
            raise UsageError(
                f"an update of {of.preset.prompts} prompts × {group} completions is {wanted}, and "
                f"{where} does not divide it; let per_device_train_batch_size be one of "
                f"{_divisors(wanted, world)}"
            )
    elif update % group:
        raise UsageError(
            f"an update of {update} completions ({where}, × gradient_accumulation_steps = "
            f"{trl['gradient_accumulation_steps']}) holds no whole groups of num_generations = "
            f"{group}; {_valid('gradient_accumulation_steps', each, group)}"
        )
    elif update != wanted:
        raise UsageError(
            f"{where} × gradient_accumulation_steps = {trl['gradient_accumulation_steps']} makes "
            f"updates of {update} completions, and `prompts` = {of.preset.prompts} of {wanted}; "
            f"let `prompts` be {update // group}"
        )
    reading = trl.get("num_generations_eval") or group
    evaluated = trl["per_device_eval_batch_size"] * world
    if evaluated % reading:
        raise UsageError(
            f"an evaluation batch of {evaluated} (per_device_eval_batch_size × processes) holds no "
            f"whole groups of {reading}; valid: multiples of {reading // _common(reading, world)}"
        )


def _valid(name: str, each: int, group: int) -> str:
    step = group // _common(group, each)
    return f"valid {name}: {', '.join(str(step * n) for n in (1, 2, 3, 4))}, .."


def _divisors(whole: int, world: int) -> str:
    found = [n for n in range(1, whole // world + 1) if whole % (n * world) == 0]
    return ", ".join(map(str, found)) or f"none: {whole} completions for {world} processes"


def _common(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a
