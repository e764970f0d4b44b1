"""A supervised start: the best of several rewrites of each training question, learnt by heart.

Reinforcement needs something to reinforce. A small model that never writes a good rewrite gets
nothing from GRPO; one that has copied a few dozen good ones of its own does. The choice looks at
the training questions' gold, as every reward does; nothing of validation or test is looked at.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from datasets import Dataset, disable_progress_bars
from transformers.trainer_callback import PrinterCallback
from trl import SFTConfig, SFTTrainer

from workbench.rewards import RewriteRewards
from workbench.schema import Record, encode_jsonl
from workbench.statement import statement_of
from workbench.training.adapter import quiet, save
from workbench.training.material import Asked
from workbench.training.sampling import replies
from workbench.workspace import write_atomically

__all__ = ["How", "Pair", "drawn", "learn_pairs", "pairs", "warmed"]

EPOCHS, RATE, BATCH = 2, 1e-4, 8

disable_progress_bars()


class Pair(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A question's best rewrite, what it is worth (rewards before normalisation, weighted by α) and
    the mean of its candidates."""

    question: str
    text: str
    worth: float
    mean: float


class How(NamedTuple):
    """How a warm start is made: `candidates` rewrites of at most `most` tokens are drawn from
    `seed`, everything is kept in `folder`."""

    folder: Path
    candidates: int
    most: int
    seed: int
    use_cpu: bool
    progress: Callable[[str, int, int], None] | None = None


def drawn(policy: tuple[Any, Any], asked: Sequence[Asked], how: How) -> list[list[str]]:
    """So many rewrites of each question, a list a draw. A draw is kept as soon as it is whole."""
    found = []
    for number in range(how.candidates):
        kept = how.folder / f"draw-{number}.json"
        if not kept.is_file():
            made = replies(*policy, asked, how.most, how.seed + number)
            write_atomically(kept, msgspec.json.encode(made))
        found.append(msgspec.json.decode(kept.read_bytes(), type=list[str]))
        if how.progress:
            how.progress("drawing rewrites", number + 1, how.candidates)
    return found


def pairs(
    draws: Sequence[Sequence[str]], asked: Sequence[Asked], rewards: RewriteRewards
) -> list[Pair]:
    """The best of the drawn rewrites of each question, the first of equals; questions that no
    rewrite helps are left out."""
    found = []
    for row, one in enumerate(asked):
        texts = [statement_of(draw[row]) for draw in draws]
        worth = _worth(rewards, one.question.id, texts)
        best = max(range(len(texts)), key=lambda place: (worth[place], -place))
        mean = sum(worth) / len(worth)
        if worth[best] > 0:
            told = Pair(question=one.question.id, text=texts[best], worth=worth[best], mean=mean)
            found.append(told)
    return found


def learn_pairs(
    policy: tuple[Any, Any], asked: Sequence[Asked], chosen: Sequence[Pair], how: How
) -> float:
    """Teach a model its pairs, in place; returns the last loss."""
    model, tokenizer = policy
    prompts = {one.question.id: one.messages for one in asked}
    rows = [
        {
            "prompt": prompts[pair.question],
            "completion": [{"role": "assistant", "content": pair.text}],
        }
        for pair in chosen
    ]
    with quiet():
        config = SFTConfig(
            output_dir=str(how.folder),
            num_train_epochs=EPOCHS,
            learning_rate=RATE,
            per_device_train_batch_size=BATCH,
            seed=how.seed,
            use_cpu=how.use_cpu,
            bf16=False,
            gradient_checkpointing=False,
            max_length=None,
            report_to="none",
            save_strategy="no",
            logging_steps=1,
            disable_tqdm=True,
        )
    with quiet():
        trainer = SFTTrainer(
            model=model,
            args=config,
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    losses = [float(log["loss"]) for log in trainer.state.log_history if "loss" in log]
    return losses[-1]


def warmed(
    policy: tuple[Any, Any], asked: Sequence[Asked], rewards: RewriteRewards, how: How
) -> Path:
    """The folder of the weights after a warm start, made where it is not there yet."""
    target = how.folder / "warm"
    if target.is_dir():
        return target
    chosen = pairs(drawn(policy, asked, how), asked, rewards)
    write_atomically(how.folder / "pairs.jsonl", encode_jsonl(chosen))
    loss = learn_pairs(policy, asked, chosen, how) if chosen else None
    fresh = target.with_name(".warm.tmp")
    shutil.rmtree(fresh, ignore_errors=True)
    save(policy[0], policy[1], fresh)
    told = {"pairs": len(chosen), "of": len(asked), "loss": loss}
    write_atomically(fresh / "warm.json", msgspec.json.encode(told))
    fresh.rename(target)
    return target


def _worth(rewards: RewriteRewards, question: str, texts: Sequence[str]) -> list[float]:
    alpha = rewards.terms.alpha
    scored = rewards.score([question] * len(texts), texts)
    return [alpha * (one.answer or 0.0) + (1 - alpha) * (one.retrieval or 0.0) for one in scored]
