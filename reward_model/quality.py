"""Which judgments are kept, by stated rules, and which are dropped and why.

The paper removed 151 records "for incomplete pairs, failed attention checks or abnormal behaviour"
and gives no thresholds; those of `QualityRules` are ours, and each says what it rests on.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from statistics import median
from typing import NamedTuple, get_args

from reward_model.schema import Comparison, Strength
from workbench.errors import UsageError
from workbench.schema import Record

__all__ = [
    "REASONS",
    "AttentionChecks",
    "Filtered",
    "QualityRules",
    "attention_checks",
    "clear_preferences",
    "quality_filter",
]

# A comparison that several rules drop stands under the first of these.
REASONS = ("incomplete", "failed attention check", "straight-lining", "too fast")

# Scripts written without spaces, whose characters are counted, two to a word.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
WORD = re.compile(r"\w+(?:['’]\w+)*")


class QualityRules(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The thresholds.

    `failed_checks_allowed` (default 0): a participant who fails more attention checks than that
    loses every record; a tie on a check fails it. None: only the failed checks are dropped.

    `identical_run` (10): a participant with so many identical displayed judgments in a row, in
    order of time, loses every record. An honest participant who gives their commonest answer 40 %
    of the time goes on so from a given answer once in 3,800 times (0.4^9). None: off.
    `one_side` (0.95), `least_sided` (10): so does one whose preferences, at least `least_sided`,
    lie on one displayed side in that share. With sides drawn by lot, ten of ten happen to one
    honest participant in 512. None: off. Both look at preferences of A or B only where the order
    of display varied: else one side is merely the memory response, and to like it is an answer.

    `words_per_minute` (1,200), `least_seconds` (2): a judgment is too fast where it took less than
    `least_seconds`, or than its query and two responses take at that speed, five times that of
    silent reading (238 words a minute: Brysbaert 2019). It is dropped; where the median of a
    participant's `least_timed` (5) or more is too fast, so is everything of theirs. None: off.
    Repeats and attention items are not timed: both can be answered at sight.
    """

    failed_checks_allowed: int | None = 0
    identical_run: int | None = 10
    one_side: float | None = 0.95
    least_sided: int = 10
    words_per_minute: float | None = 1200.0
    least_seconds: float = 2.0
    least_timed: int = 5


class Filtered(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Comparisons that are kept, in their order, and the ids of the others by reason.

    All of `REASONS` are in `dropped`. Attention items that were passed and repeats are kept.
    `unchecked` counts what a rule could not look at.
    """

    kept: tuple[Comparison, ...]
    dropped: dict[str, tuple[str, ...]]
    unchecked: dict[str, int]

    @property
    def counts(self) -> dict[str, int]:
        """How many are kept, and how many were dropped for each reason."""
        return {"kept": len(self.kept)} | {why: len(ids) for why, ids in self.dropped.items()}


class AttentionChecks(NamedTuple):
    """How many attention items were answered, and how many of these as they prescribe."""

    passed: int
    answered: int


def attention_checks(comparisons: Iterable[Comparison]) -> AttentionChecks:
    """Count them as the quality filter does: a tie fails one; one not judged is not answered."""
    asked = [one for one in comparisons if one.attention is not None and one.judgment is not None]
    return AttentionChecks(sum(map(_passes, asked)), len(asked))


def quality_filter(
    comparisons: Sequence[Comparison], rules: QualityRules | None = None
) -> Filtered:
    """Keep what passes every rule; `rules` None are the defaults of `QualityRules`.

    Ties, slight and much preferences are all kept. Raises UsageError for thresholds that cannot be.
    """
    limits = rules or QualityRules()
    _check(limits)
    unchecked: Counter[str] = Counter()
    complete = [one for one in comparisons if _is_complete(one)]
    people: dict[str, list[Comparison]] = defaultdict(list)
    for one in complete:
        people[one.participant].append(one)
    why: dict[int, str] = {id(one): REASONS[0] for one in comparisons if not _is_complete(one)}
    for theirs in people.values():
        found = (
            _inattentive(theirs, limits),
            _straight_lined(theirs, limits, unchecked),
            _hasty(theirs, limits, unchecked),
        )
        for reason, dropped in zip(REASONS[1:], found, strict=True):
            for one in dropped:
                why.setdefault(id(one), reason)
    return Filtered(
        kept=tuple(one for one in comparisons if id(one) not in why),
        dropped={
            reason: tuple(one.id for one in comparisons if why.get(id(one)) == reason)
            for reason in REASONS
        },
        unchecked=dict(sorted(unchecked.items())),
    )


def clear_preferences(
    comparisons: Iterable[Comparison], strengths: Sequence[Strength] = ("much",)
) -> tuple[Comparison, ...]:
    """The judged comparisons of these strengths that the model learns from, in their order.

    No attention items and no repeats: the first would teach the check, the second count one
    opinion twice. ("much", "slightly") are all strict preferences; "tie" adds the ties, whose
    `prefers_memory` is None.
    """
    known = get_args(Strength)
    unknown = [one for one in strengths if one not in known]
    if unknown or isinstance(strengths, str) or not strengths:
        raise UsageError(f"strengths are some of {', '.join(known)}, not {strengths!r}")
    return tuple(
        one
        for one in comparisons
        if one.attention is None and one.repeat_of is None and one.strength in strengths
    )


def _check(limits: QualityRules) -> None:
    for name, least in (
        ("failed_checks_allowed", 0),
        ("identical_run", 2),
        ("least_sided", 1),
        ("least_seconds", 0),
        ("least_timed", 1),
    ):
        value = getattr(limits, name)
        if value is not None and value < least:
            raise UsageError(f"{name} must be at least {least}, not {value}")
    if limits.one_side is not None and not 0.5 < limits.one_side <= 1:
        raise UsageError(f"one_side must lie over 0.5 and up to 1, not {limits.one_side}")
    if limits.words_per_minute is not None and limits.words_per_minute <= 0:
        raise UsageError(f"words_per_minute must be positive, not {limits.words_per_minute}")


def _is_complete(one: Comparison) -> bool:
    """Judged, with a query, two responses and, but for an attention item, memories."""
    texts = (one.query, one.with_memory, one.without_memory)
    told = any(memory.strip() for memory in one.memories) or one.attention is not None
    return one.judgment is not None and told and all(text.strip() for text in texts)


def _passes(check: Comparison) -> bool:
    return check.chosen == check.attention


def _inattentive(theirs: list[Comparison], limits: QualityRules) -> list[Comparison]:
    failed = [one for one in theirs if one.attention is not None and not _passes(one)]
    allowed = limits.failed_checks_allowed
    return theirs if allowed is not None and len(failed) > allowed else failed


def _straight_lined(
    theirs: list[Comparison], limits: QualityRules, unchecked: Counter[str]
) -> list[Comparison]:
    """All of them, or none. Attention items prescribe a side, so they are no evidence."""
    free = [one for one in _in_time(theirs) if one.attention is None]
    if limits.identical_run is not None:
        for judgment, group in groupby(free, key=lambda one: one.judgment):
            run = list(group)
            told = judgment == "same" or len({one.order for one in run}) > 1
            if told and len(run) >= limits.identical_run:
                return theirs
    if limits.one_side is None:
        return []
    sided = [one for one in free if one.chosen is not None]
    first = sum(one.order == "memory first" for one in sided)
    if len(sided) < limits.least_sided:
        unchecked["participants with too few preferences to tell one-sidedness"] += 1
    # Someone who always likes the memory response reaches at most 75 % of one side from here on.
    elif 4 * min(first, len(sided) - first) < len(sided):
        unchecked["participants whose order of display hardly varied"] += 1
    else:
        left = sum(one.chosen == "A" for one in sided)
        if max(left, len(sided) - left) >= limits.one_side * len(sided):
            return theirs
    return []


def _hasty(
    theirs: list[Comparison], limits: QualityRules, unchecked: Counter[str]
) -> list[Comparison]:
    if limits.words_per_minute is None:
        return []
    fast, shares = [], []
    for one in theirs:
        if one.attention is not None or one.repeat_of is not None:
            continue
        if one.seconds is None:
            unchecked["comparisons without times"] += 1
            continue
        minutes = _words(one) / limits.words_per_minute
        shares.append(one.seconds / max(limits.least_seconds, 60 * minutes))
        if shares[-1] < 1:
            fast.append(one)
    hurried = len(shares) >= limits.least_timed and median(shares) < 1
    return theirs if hurried else fast


def _words(one: Comparison) -> float:
    """Words to read before judging; memories are not counted, as they need not be shown."""
    text = "\n".join((one.query, one.with_memory, one.without_memory))
    return len(UNSPACED.findall(text)) / 2 + len(WORD.findall(UNSPACED.sub(" ", text)))


def _in_time(theirs: list[Comparison]) -> list[Comparison]:
    """In order of judgment where all have comparable times; else as they stand."""
    times = [one.judged for one in theirs]
    known = [time for time in times if isinstance(time, datetime)]
    if len(known) < len(theirs) or len({time.tzinfo is None for time in known}) > 1:
        return theirs
    return [one for _, one in sorted(zip(known, theirs, strict=True), key=lambda pair: pair[0])]
