"""TRL's trainers with what is ours: validation by greedy rewrites, the record, the best weights.

The one module that imports TRL. Every setting of `GRPOConfig` comes from `plan.resolved`.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset, disable_progress_bars
from transformers.trainer_callback import PrinterCallback
from transformers.utils import logging
from trl import GRPOConfig, GRPOTrainer

from workbench.errors import UsageError
from workbench.rewards import RewriteRewards
from workbench.training.adapter import quiet, save
from workbench.training.held_out import HeldOut, held_out, summary
from workbench.training.material import Asked
from workbench.training.monitor import Monitor
from workbench.training.sampling import replies
from workbench.workspace import write_atomically

__all__ = ["BESTS", "Job", "Learner", "check_options", "configured", "latest_checkpoint", "learner"]

STATE = "workbench.json"  # written last into a checkpoint: without it the checkpoint is unfinished
BESTS = ("f1", "recall")
disable_progress_bars()

Told = Callable[[str, int, int], None]


class Job(NamedTuple):
    """What a learner works on: `folder` holds its checkpoints and best weights, `rows` are the
    prompts in training order, `selecting` the validation questions."""

    folder: Path
    model: Any
    tokenizer: Any
    rewards: RewriteRewards
    monitor: Monitor
    rows: list[dict[str, Any]]
    selecting: Sequence[Asked]
    progress: Told | None = None


def check_options(trl: dict[str, Any]) -> None:
    """Raises UsageError for an option that this TRL's `GRPOConfig` doesn't have, by name."""
    known = {field.name for field in dataclasses.fields(GRPOConfig)}
    unknown = sorted(trl.keys() - known)
    if unknown:
        like = sorted(name for name in known if unknown[0].split("_")[-1] in name.split("_"))
        raise UsageError(
            f"TRL's GRPOConfig has no option {', '.join(map(repr, unknown))}; like it: "
            f"{', '.join(like) or 'none'}"
        )


class Learner(GRPOTrainer):
    """GRPO that validates with greedy rewrites, keeps the best weights by F1 and by recall, and
    stops where the record shows a collapse (`stopped` says why)."""

    def __init__(self, job: Job, **given: Any) -> None:
        self.job = job
        self.stopped: str | None = None
        super().__init__(**given)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Validate the weights as they are, unless this step was validated before a restart."""
        monitor, step = self.job.monitor, int(self.state.global_step)
        known = next((one for one in monitor.validations if one.step == step), None)
        found = known or self._validated(step)
        return {"eval_f1": found.f1, "eval_recall": found.recall}

    def _validated(self, step: int) -> HeldOut:
        job, model = self.job, self.accelerator.unwrap_model(self.model)
        most = int(self.args.max_completion_length)
        said = replies(model, job.tokenizer, job.selecting, most)
        frame = held_out(job.rewards, [one.question for one in job.selecting], said)
        found = summary(frame, step, len(job.selecting))
        before = job.monitor.validations
        for name in BESTS:
            if all(getattr(found, name) > getattr(one, name) for one in before):
                self._keep(model, name, frame)
        job.monitor.validated(found)
        if job.progress:
            job.progress("validating", step, int(self.args.max_steps))
        return found

    def _keep(self, model: Any, name: str, frame: Any) -> None:
        """Replace the best weights by some measure; a kill in between leaves the old or the new."""
        if not self.accelerator.is_main_process:
            return
        target = self.job.folder / f"best-{name}"
        fresh = target.with_name(f".{target.name}.tmp")
        shutil.rmtree(fresh, ignore_errors=True)
        save(model, self.job.tokenizer, fresh)
        frame.write_parquet(fresh / "frame.parquet")
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        super().log(logs, start_time)
        last = self.job.rewards.last
        if "loss" not in logs or last is None:
            return
        step, monitor = int(self.state.global_step), self.job.monitor
        monitor.paid(step, last)
        monitor.logged(step, logs)
        if self.job.progress:
            self.job.progress("training", step, int(self.state.max_steps))
        self.stopped = monitor.alarm()
        if self.stopped:
            self.control.should_training_stop = True

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        if self.args.should_save:
            state = {"monitor": self.job.monitor.state(), "rewards": self.job.rewards.state()}
            folder = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
            write_atomically(folder / STATE, json.dumps(state).encode())

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """None: a checkpoint has a manifest, and a card would name services that we don't use."""


def configured(trl: dict[str, Any], folder: Path) -> GRPOConfig:
    """TRL's own configuration; no model is looked at. Raises UsageError for an option that it does
    not have and for values that it refuses (bf16 where no device is fast with it)."""
    check_options(trl)
    try:
        with quiet():
            return GRPOConfig(output_dir=str(folder), **trl)
    except (ValueError, TypeError) as error:
        raise UsageError(f"TRL refuses these settings: {error}") from error


def learner(job: Job, trl: dict[str, Any]) -> Learner:
    """A learner ready to `train`. Raises UsageError for settings that TRL refuses."""
    logging.set_verbosity_error()
    selecting = [{"prompt": o.messages, "question": o.question.id} for o in job.selecting]
    return _quiet_learner(
        job,
        model=job.model,
        args=configured(trl, job.folder),
        reward_funcs=[counted(function) for function in job.rewards.functions],
        train_dataset=Dataset.from_list(job.rows),
        eval_dataset=Dataset.from_list(selecting),
        processing_class=job.tokenizer,
    )


def _quiet_learner(job: Job, **given: Any) -> Learner:
    with quiet():
        made = Learner(job, **given)
    made.remove_callback(PrinterCallback)
    return made


def counted(function: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """The reward function, held to one reward a completion.

    Raises UsageError naming it where it gives another number: they would be spread over a group.
    """

    @wraps(function)
    def reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> Sequence[Any]:
        made = function(prompts, completions, **columns)
        number = len(made) if isinstance(made, list | tuple) else 1
        if number != len(completions):
            name = getattr(function, "__name__", "reward")
            raise UsageError(f"{name} gave {number} rewards for {len(completions)} completions")
        return made

    return reward


def latest_checkpoint(folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """The last whole checkpoint of a folder and its state; None where there is none."""
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: -int(path.name.split("-")[1]))
    for path in found:
        try:
            return path, json.loads((path / STATE).read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            continue  # it was being written when the run ended
    return None
