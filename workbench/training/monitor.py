"""What training did, step by step, and the alarms that end it: a run that has collapsed only costs.

Values come from three places: what each completion was paid (by question, so that windows of steps
have an interval), what TRL logs (KL, entropy, clipping), and the validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from workbench.reward_step import Step, summary
from workbench.schema import Record
from workbench.stats import mean_interval
from workbench.training.held_out import HeldOut

__all__ = ["SECONDS", "STEPS", "TIMES", "Alarms", "Monitor"]

STEPS = {"step": pl.Int64, "series": pl.String, "question": pl.String, "value": pl.Float64}
CURVES = {
    "series": pl.String,
    "step": pl.Int64,
    **dict.fromkeys(("mean", "lo", "hi"), pl.Float64),
}
# Steps that are drawn as one point: of a single question's group nothing could be seen.
WINDOW = 10
# What TRL calls what we show.
LOGGED = {
    "kl": "KL divergence",
    "entropy": "entropy",
    "clip_ratio/region_mean": "clipped share",
    "completions/clipped_ratio": "cut share",
    "step_time": "seconds of a step",
}
# What is told of a whole batch; the seconds are no curves.
SUMMED = {
    "flat_groups": "flat groups",
    "seconds": "seconds of the rewards",
    "seconds/answers": "seconds of the answers",
}
SECONDS = "seconds of a step"
TIMES = (SECONDS, "seconds of the rewards", "seconds of the answers")
FLAT, COPIED, LENGTH = "flat groups", "copied questions", "words of a rewrite"


class Alarms(Record, frozen=True, kw_only=True, omit_defaults=False):
    """When a run has collapsed, over its last `steps` steps: nearly all groups flat (nothing can be
    learnt), rewrites of hardly a word, or all cut off by the length limit, or copies of the
    question. `steps` 0 turns them off."""

    steps: int = 20
    flat: float = 0.95
    copied: float = 0.9
    fewest_words: float = 1.5
    cut: float = 0.95


class Monitor:
    """The record of a run. `state` and `restore` take it through a checkpoint."""

    def __init__(self, alarms: Alarms, window: int = WINDOW) -> None:
        self.alarms = alarms
        self.window = window
        self.rows: list[tuple[int, str, str | None, float]] = []
        self.validations: list[HeldOut] = []

    def paid(self, step: int, last: Step) -> None:
        """Keep what a batch of rewrites was worth: means over each question's completions, and of
        the batch what has no mean by question."""
        asked = [one.question for one in last.scored]
        parts: dict[str, Sequence[float | None]] = {
            "retrieval reward": [one.retrieval for one in last.scored],
            "answer reward": [one.answer for one in last.scored],
            "retrieval reward, normalised": last.retrieval,
            "answer reward, normalised": last.answer,
            "reward": last.total,
            LENGTH: [float(len(one.text.split())) for one in last.scored],
            COPIED: [float("copied question" in one.guards) for one in last.scored],
        }
        for series, values in parts.items():
            self.rows += [(step, series, *mean) for mean in _means(asked, values)]
        told = summary(last)
        for name, series in SUMMED.items():
            if name in told:
                self.rows.append((step, series, None, told[name]))

    def logged(self, step: int, logs: Mapping[str, Any]) -> None:
        """Keep what TRL logged of a step."""
        for name, series in LOGGED.items():
            if isinstance(logs.get(name), float | int):
                self.rows.append((step, series, None, float(logs[name])))

    def validated(self, one: HeldOut) -> None:
        self.validations.append(one)

    @property
    def steps(self) -> pl.DataFrame:
        """A row a step, series and question (null where it is of the whole step)."""
        return pl.DataFrame(self.rows, schema=STEPS, orient="row")

    def curves(self) -> pl.DataFrame:
        """`series, step, mean, lo, hi`: windows of steps at their last step, with intervals over
        the questions in them (null where there are fewer than two), and every validation."""
        frame = self.steps.filter(~pl.col("series").is_in(TIMES))
        last = int(frame["step"].max() or 0) if len(frame) else 0  # type: ignore[arg-type]
        window = max(1, min(self.window, last // 4))
        end = ((pl.col("step") - 1) // window + 1) * window
        grouped = frame.with_columns(step=pl.min_horizontal(end, pl.lit(last)))
        rows = [
            (str(series), int(step), *_spanned(part))
            for (series, step), part in grouped.group_by(["series", "step"], maintain_order=True)
        ]
        for one in self.validations:
            rows.append(("held-out recall", one.step, one.recall, *one.recall_interval))
            rows.append(("held-out F1", one.step, one.f1, *one.f1_interval))
        return pl.DataFrame(rows, schema=CURVES, orient="row").sort("series", "step")

    def alarm(self) -> str | None:
        """Why the run should stop, in words; None where it need not."""
        limits = self.alarms
        if not limits.steps:
            return None
        recent = self._recent()
        checks = (
            (
                FLAT,
                "over",
                limits.flat,
                "groups are flat: no rewrite is paid more than another, so nothing is learnt",
            ),
            (COPIED, "over", limits.copied, "rewrites copy the question"),
            ("cut share", "over", limits.cut, "rewrites run into the length limit"),
            (LENGTH, "under", limits.fewest_words, "words are left of a rewrite"),
        )
        for series, side, limit, words in checks:
            values = recent.get(series, [])
            if len(values) < limits.steps:
                continue
            mean = sum(values) / len(values)
            if (mean >= limit) if side == "over" else (mean <= limit):
                share = f"{mean:.0%} of" if side == "over" else f"{mean:.1f}"
                return f"collapse: over the last {limits.steps} steps {share} {words}"
        return None

    def _recent(self) -> dict[str, list[float]]:
        """The mean of each series at each of the last steps."""
        last = max((row[0] for row in self.rows), default=0)
        held: dict[str, dict[int, list[float]]] = {}
        for step, series, _, value in self.rows:
            if step > last - self.alarms.steps:
                held.setdefault(series, {}).setdefault(step, []).append(value)
        return {
            series: [sum(of) / len(of) for of in by_step.values()]
            for series, by_step in held.items()
        }

    def state(self) -> dict[str, Any]:
        return {"rows": self.rows, "validations": msgspec.to_builtins(self.validations)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.rows = [tuple(row) for row in state["rows"]]
        self.validations = msgspec.convert(state["validations"], list[HeldOut])


def _means(questions: Sequence[str], values: Sequence[float | None]) -> Iterator[tuple[str, float]]:
    """The mean over each question's completions; those without a value are left out."""
    groups: dict[str, list[float]] = {}
    for question, value in zip(questions, values, strict=True):
        if value is not None:
            groups.setdefault(question, []).append(value)
    return ((question, sum(of) / len(of)) for question, of in groups.items())


def _spanned(part: pl.DataFrame) -> tuple[float, float | None, float | None]:
    """Mean and interval of a window; questions are what was sampled."""
    asked: Iterable[str | None] = part["question"]
    known = [question for question in asked if question is not None]
    values = np.asarray(part["value"])
    if len(known) < len(part) or len(set(known)) < 2:
        return float(values.mean()), None, None
    found = mean_interval(values, known)
    return found.mean, found.lo, found.hi
