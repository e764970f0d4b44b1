"""Which candidate pairs are worth a participant's time: different because of memories, and honest.

The paper has an evaluator score how much two responses differ, how far the memories explain the
difference, and whether there are unsupported changes, and shows the 15 best pairs of each
participant (section on data). How the three are combined is not told; ours is `Screening.score`.
Two evaluators: text rules with an embedder (`screening_offline`), a model (`screening_judge`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from reward_model.markup import words_of
from reward_model.schema import Comparison, Pair
from workbench.embed import is_blank
from workbench.errors import UsageError
from workbench.schema import Record

__all__ = [
    "Ranked",
    "Screened",
    "Screener",
    "Screening",
    "ScreeningRules",
    "screen",
]


class Screening(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What an evaluator says of a pair: `difference` and `support` in [0, 1], `unsupported` >= 0
    (how many changes have no ground in the memories or the query), and why."""

    difference: float
    support: float
    unsupported: float
    reasons: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """difference * support / (1 + unsupported), in [0, 1]: a pair that does not differ, or
        not because of the memories, is worth nothing; one unsupported change halves it."""
        return self.difference * self.support / (1 + self.unsupported)


class Screener(Protocol):
    """An evaluator. `identity` says what its scores depend on."""

    @property
    def identity(self) -> dict[str, Any]: ...

    def screen(self, pairs: Sequence[Pair]) -> list[Screening | str]:
        """One screening a pair, or the reason why it could not be scored."""
        ...


class ScreeningRules(Record, frozen=True, kw_only=True, omit_defaults=False):
    """`best` pairs of each participant are shown, all of one prompting `regime` (paper: 15, of the
    ordinary one)."""

    best: int = 15
    regime: str = "ordinary"


DEFAULT_RULES = ScreeningRules()


class Ranked(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A candidate among its participant's, rank 1 the best; ties by id."""

    id: str
    participant: str
    rank: int
    score: float
    screening: Screening


class Screened(Record, frozen=True, kw_only=True, omit_defaults=False):
    """`chosen` are shown; `passed_over` ranked lower; `dropped` (reason -> ids) not ranked at all.
    `short` counts the chosen of participants who have fewer than were wanted."""

    screener: dict[str, Any]
    chosen: tuple[Ranked, ...]
    passed_over: tuple[Ranked, ...]
    dropped: dict[str, tuple[str, ...]]
    short: dict[str, int]


def screen(
    candidates: Sequence[Comparison], screener: Screener, rules: ScreeningRules = DEFAULT_RULES
) -> Screened:
    """Rank each participant's candidate pairs. Raises UsageError where none are asked for."""
    if rules.best < 1:
        raise UsageError(f"best={rules.best}: screening chooses at least one pair")
    dropped: dict[str, list[str]] = {}
    worthy: list[Comparison] = []
    for one in candidates:
        reason = _unfit(one, rules)
        if reason is None:
            worthy.append(one)
        else:
            dropped.setdefault(reason, []).append(one.id)
    by_person: dict[str, list[tuple[Comparison, Screening]]] = {
        one.participant: [] for one in candidates
    }
    for one, found in zip(worthy, screener.screen([one.pair for one in worthy]), strict=True):
        if isinstance(found, str):
            dropped.setdefault(f"not scored: {found}", []).append(one.id)
        else:
            by_person[one.participant].append((one, found))
    ranked = {person: _ranked(pairs) for person, pairs in by_person.items()}
    return Screened(
        screener=screener.identity,
        chosen=tuple(one for ranks in ranked.values() for one in ranks[: rules.best]),
        passed_over=tuple(one for ranks in ranked.values() for one in ranks[rules.best :]),
        dropped={reason: tuple(ids) for reason, ids in dropped.items()},
        short={who: len(ranks) for who, ranks in ranked.items() if len(ranks) < rules.best},
    )


def _unfit(one: Comparison, rules: ScreeningRules) -> str | None:
    checks = (
        (one.judgment is not None, "judged already"),
        (one.attention is not None or one.repeat_of is not None, "an attention check or a repeat"),
        (one.regime != rules.regime, f"not of the {rules.regime} regime"),
        (is_blank(one.query), "the query is blank"),
        (is_blank(one.with_memory) or is_blank(one.without_memory), "a response is blank"),
        (words_of(one.with_memory) == words_of(one.without_memory), "the responses are the same"),
        (all(is_blank(memory) for memory in one.memories), "no memories"),
    )
    return next((reason for unfit, reason in checks if unfit), None)


def _ranked(pairs: Sequence[tuple[Comparison, Screening]]) -> list[Ranked]:
    ordered = sorted(pairs, key=lambda pair: (-pair[1].score, pair[0].id))
    return [
        Ranked(
            id=one.id, participant=one.participant, rank=rank, score=found.score, screening=found
        )
        for rank, (one, found) in enumerate(ordered, start=1)
    ]
