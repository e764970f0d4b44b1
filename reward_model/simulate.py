"""Simulated comparisons of synthetic participants: known weights, readable texts, plausible times.

`simulate` is what `workbench reward simulate` saves; `draw_features` and `draw_judged` give the
numbers alone, a million in seconds. Judgments follow the planned features, never the texts; the
texts follow the plan too, more or less (`simulated_texts`), so a scorer that reads them recovers
part of it. Generators and regimes are labels without any effect: a table that finds one on these
data has found noise. All of it is marked: `synthetic` is true, participants are "synthetic-001" and
so on, generators "simulated-GPT" and the like, as no such model wrote anything here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from reward_model.rubric import RUBRIC
from reward_model.schema import JUDGMENTS, REGIMES, Comparison, Side
from reward_model.simulated_features import draw_features
from reward_model.simulated_judgments import (
    RETEST_MUCH,
    Drawn,
    Flags,
    SimulationOptions,
    draw_judged,
    judged,
    shown_once,
    spread,
    truth,
)
from reward_model.simulated_texts import PEOPLE, Texts, attention_pair, write_pair
from workbench.errors import UsageError

if TYPE_CHECKING:
    from reward_model.scores import Scores

__all__ = [
    "Simulation",
    "SimulationOptions",
    "draw_features",
    "draw_judged",
    "simulate",
    "truth",
]

# Shares of the clear comparisons by generator (paper: 110, 136 and 45 of 291); those by regime are
# ours, as the paper's are not known.
GENERATORS = ("simulated-GPT", "simulated-Gemini", "simulated-Claude")
GENERATOR_SHARES = (110 / 291, 136 / 291, 45 / 291)
REGIME_SHARES = (0.25, 0.5, 0.25)
FIRST_DAY = datetime(2026, 1, 5, 8, tzinfo=UTC)
DAYS, HOURS, RETEST_DAYS = 60, 12, 14
# People read some 350 words a minute here, each pair at another speed (spread of the log).
WORDS_A_SECOND, SPREAD, LEAST_SECONDS = 350 / 60, 0.3, 6.0
CARELESS_SECONDS = 1.5


class Simulation(NamedTuple):
    """Comparisons, in order of time within each participant, and what is true of them.

    `features` maps the twelve to their planned values, one for each comparison, None for attention
    items; `scorer` is the identity that goes with them. `truth` is as `truth` gives it.
    """

    comparisons: tuple[Comparison, ...]
    features: dict[str, list[float | None]]
    scorer: dict[str, Any]
    truth: dict[str, Any]

    def scores(self, content: str) -> Scores:
        """The planned features as scores of the saved comparisons, whose digest is `content`."""
        from reward_model.scores import make_scores

        ids = [comparison.id for comparison in self.comparisons]
        return make_scores(content, self.scorer, ids, self.features)


class _Showing(NamedTuple):
    """A pair as a participant saw it. `row` is that of what was drawn, None for attention items;
    `level` the judgment from 0, "A much better", to 4; `fields` the comparison's other ones."""

    row: int | None
    level: int
    memory_first: bool
    texts: Texts
    fields: dict[str, Any]


def simulate(options: SimulationOptions | None = None) -> Simulation:
    """Simulated comparisons with their texts; the same options give the same, to the letter.

    Raises UsageError where more repeats are wanted than there are preferences to repeat.
    """
    options = SimulationOptions() if options is None else options
    numbers, words, times = np.random.default_rng(options.seed).spawn(3)
    drawn = draw_judged(options, spread(options, numbers), numbers)
    careless = numbers.permutation(options.participants)[: options.careless]
    hasty = np.isin(drawn.participant, careless)
    drawn = drawn._replace(level=np.where(hasty, 0, drawn.level))
    again = _again(options, drawn, ~hasty, numbers)
    labels = _labels(len(hasty), numbers)
    comparisons: list[Comparison] = []
    rows: list[int | None] = []
    for person in range(options.participants):
        name = f"synthetic-{person + 1:0{max(3, len(str(options.participants)))}}"
        own = np.flatnonzero(drawn.participant == person).tolist()
        first = [
            _ordinary(row, {"id": f"{name}/{place + 1:02}", **labels[row]}, drawn, words)
            for place, row in enumerate(own)
        ]
        later = [_repeated(one, *again[one.row]) for one in first if one.row in again]
        for check in _checks(name, person, options.attention, person in careless, words):
            first.insert(int(words.integers(len(first) + 1)), check)
        rows += [one.row for one in [*first, *later]]
        comparisons += _timed(name, first, later, person in careless, times)
    columns = {
        feature: [None if row is None else float(column[row]) for row in rows]
        for feature, column in zip(RUBRIC, drawn.features.T, strict=True)
    }
    scorer = {"name": "simulator", "synthetic": True, "options": msgspec.to_builtins(options)}
    return Simulation(tuple(comparisons), columns, scorer, truth(options))


def _again(
    options: SimulationOptions, drawn: Drawn, attentive: Flags, rng: np.random.Generator
) -> dict[int, tuple[int, bool]]:
    """Judgment and order of each repeat, by the row that it shows again: "much" and "slightly"
    preferred ones in the paper's proportion, as far as there are enough of each."""
    much = rng.permutation(np.flatnonzero(attentive & drawn.much))
    slight = rng.permutation(np.flatnonzero(attentive & drawn.strict & ~drawn.much))
    if options.retest > len(much) + len(slight):
        raise UsageError(
            f"{options.retest} repeats are more than the {len(much) + len(slight)} preferences "
            "that could be repeated; ask for fewer, or for more comparisons"
        )
    clear = min(len(much), max(round(RETEST_MUCH * options.retest), options.retest - len(slight)))
    rows = np.concatenate([much[:clear], slight[: options.retest - clear]])
    order = rng.random(len(rows)) < 0.5
    level = judged(options, shown_once(options, drawn.steady[rows], order, rng))
    return dict(zip(rows.tolist(), zip(level.tolist(), order.tolist(), strict=True), strict=True))


def _labels(n: int, rng: np.random.Generator) -> list[dict[str, str]]:
    generators = rng.choice(GENERATORS, n, p=GENERATOR_SHARES).tolist()
    regimes = rng.choice(REGIMES, n, p=REGIME_SHARES).tolist()
    return [{"generator": g, "regime": r} for g, r in zip(generators, regimes, strict=True)]


def _ordinary(row: int, fields: dict[str, Any], drawn: Drawn, rng: np.random.Generator) -> _Showing:
    planned = dict(zip(RUBRIC, drawn.features[row].tolist(), strict=True))
    texts = write_pair(_person(int(drawn.participant[row])), planned, rng)
    return _Showing(row, int(drawn.level[row]), bool(drawn.memory_first[row]), texts, fields)


def _repeated(one: _Showing, level: int, memory_first: bool) -> _Showing:
    of = one.fields["id"]
    fields = one.fields | {"id": f"{of}-again", "repeat_of": of}
    return one._replace(level=level, memory_first=memory_first, fields=fields)


def _checks(
    name: str, person: int, number: int, careless: bool, rng: np.random.Generator
) -> list[_Showing]:
    """Attention items, passed by everybody but the careless, who choose A here too."""
    checks = []
    for place in range(number):
        memory_right, memory_first = (bool(flag) for flag in rng.random(2) < 0.5)
        texts = attention_pair(_person(person), memory_right, rng)
        side: Side = "A" if memory_right == memory_first else "B"
        level = 0 if side == "A" or careless else 4
        fields = {"id": f"{name}/check-{place + 1}", "attention": side}
        checks.append(_Showing(None, level, memory_first, texts, fields))
    return checks


def _person(participant: int) -> str:
    """Whose turns a participant's memories are."""
    return PEOPLE[participant % len(PEOPLE)]


def _timed(
    name: str,
    first: Sequence[_Showing],
    later: Sequence[_Showing],
    careless: bool,
    rng: np.random.Generator,
) -> list[Comparison]:
    """The comparisons of one participant: one sitting, and the repeats a fortnight after it."""
    begun = FIRST_DAY + timedelta(days=int(rng.integers(DAYS)), hours=float(rng.uniform(0, HOURS)))
    made = []
    for showings, start in ((first, begun), (later, begun + timedelta(days=RETEST_DAYS))):
        now = start.replace(microsecond=0)
        for one in showings:
            shown = now + timedelta(seconds=int(rng.integers(2, 15)))
            length = sum(len(text.split()) for text in (one.texts.query, *one.texts[2:]))
            seconds = LEAST_SECONDS + length / WORDS_A_SECOND * float(rng.lognormal(0, SPREAD))
            now = shown + timedelta(seconds=CARELESS_SECONDS if careless else round(seconds, 1))
            made.append(
                Comparison(
                    participant=name,
                    **one.texts._asdict(),
                    **one.fields,
                    order="memory first" if one.memory_first else "memory second",
                    judgment=JUDGMENTS[one.level],
                    shown=shown,
                    judged=now,
                    synthetic=True,
                )
            )
    return made
