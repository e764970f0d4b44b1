"""Synthetic judgments with known weights: the numbers of a simulation, without texts.

For a comparison of participant p, with z the twelve features standardised in the population:

    u = w . z + b + effect[p] + logistic noise          in favour of the memory response
    shown = ±(u + momentary noise) + position bias      A minus B; + where memory is shown as A

and the five-point judgment cuts `shown` at four thresholds, placed so that the expected shares of
ties and of clear preferences are the wanted ones. Showing a pair again draws the order and the
momentary noise anew; everything else of u stays.

Weights are the paper's coefficients (section on the twelve features) unless told otherwise. A fit
on simulated clear preferences does *not* give them back: taking only large |u| steepens the curve,
participants and momentary noise flatten it (`tests/bench/bench_reward_simulation.py`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from reward_model.rubric import RUBRIC
from reward_model.simulated_features import Array, draw_features, population_moments, standardised
from workbench.errors import UsageError
from workbench.schema import Record

__all__ = [
    "RETEST_MUCH",
    "Drawn",
    "Flags",
    "SimulationOptions",
    "draw_judged",
    "judged",
    "logits",
    "shown_once",
    "spread",
    "truth",
]

Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]

# On how many drawn pairs thresholds, shares, agreement and the Bayes rate are worked out.
POPULATION = 200_000
POPULATION_SEED = 20_260
# 75 repeats that agree in 73.9 % of "much" and 58.6 % of "slightly" ones, 68.0 % in all, can only
# be 34 of 46 and 17 of 29 (paper: test-retest agreement): no ties were repeated.
RETEST_MUCH = 46 / 75


class SimulationOptions(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What is simulated, on the logit scale; `_sd` and `_noise` are deviations of normal variables.

    `comparisons` are ordinary ones, ties included; `retest` repeats in all and `attention` checks
    per participant come on top. `weights` maps features to weights of standardised features: the
    paper's where None, 0 where a feature isn't named. `intercept` favours the memory response,
    `position_bias` favours A. `tie_share` and `much_share` are expected shares of the judgments
    (paper: 148 and 291 of 821). `careless` of the participants choose A within seconds, always,
    attention checks included.
    """

    participants: int = 87
    comparisons: int = 821
    seed: int = 0
    weights: dict[str, float] | None = None
    intercept: float = -0.2
    participant_sd: float = 0.5
    tie_share: float = 0.18
    much_share: float = 0.355
    retest: int = 75
    retest_noise: float = 1.9
    position_bias: float = 0.0
    attention: int = 1
    careless: int = 0

    def __post_init__(self) -> None:
        _at_least(self, 1, "participants", "comparisons")
        _at_least(self, 0, "seed", "retest", "attention", "careless")
        _at_least(self, 0, "participant_sd", "retest_noise")
        _at_least(self, -np.inf, "intercept", "position_bias")
        if self.comparisons < self.participants:
            raise UsageError(
                f"{self.comparisons} comparisons are fewer than {self.participants} participants: "
                "ask for at least one each"
            )
        if self.careless > self.participants:
            raise UsageError(f"{self.careless} careless of {self.participants} participants")
        if not (0 <= self.tie_share < 1 and 0 < self.much_share <= 1 - self.tie_share):
            raise UsageError(
                "tie_share and much_share are shares of the judgments that add up to 1 at most, "
                f"with some clear ones, not {self.tie_share} and {self.much_share}"
            )
        for name, weight in (self.weights or {}).items():
            if name not in RUBRIC:
                raise UsageError(f"no feature {name!r} to weigh; there are {', '.join(RUBRIC)}")
            if not np.isfinite(weight):
                raise UsageError(f"the weight of {name} must be a finite number, not {weight}")

    @property
    def vector(self) -> Array:
        """Weights (12,) of the standardised features, in the rubric's order."""
        if self.weights is None:
            return np.array([feature.paper for feature in RUBRIC.values()])
        return np.array([self.weights.get(name, 0.0) for name in RUBRIC])


class Drawn(NamedTuple):
    """Judged comparisons as numbers. `features` are raw (n, 12), `participant` counts from 0,
    `steady` is u (n,), `level` the judgment from 0, "A much better", to 4, "B much better"."""

    features: Array
    participant: Numbers
    memory_first: Flags
    steady: Array
    level: Numbers

    @property
    def prefers_memory(self) -> Flags:
        """Whether memory was preferred (n,); without meaning where `level` is 2, a tie."""
        return np.asarray((self.level < 2) == self.memory_first)

    @property
    def strict(self) -> Flags:
        """Which are no ties (n,)."""
        return np.asarray(self.level != 2)

    @property
    def much(self) -> Flags:
        """Which preferences are clear (n,): what the model is fitted on."""
        return np.asarray(np.abs(self.level - 2) == 2)


def spread(options: SimulationOptions, rng: np.random.Generator) -> Numbers:
    """How many comparisons each participant judges (participants,): unequal, at least one."""
    eager = rng.gamma(2.0, size=options.participants)
    rest = options.comparisons - options.participants
    return np.asarray(1 + rng.multinomial(rest, eager / eager.sum()), np.int64)


def draw_judged(options: SimulationOptions, sizes: Numbers, rng: np.random.Generator) -> Drawn:
    """Draw and judge `sizes[p]` comparisons of each participant p, with fresh effects."""
    participant = np.repeat(np.arange(len(sizes)), sizes)
    n = len(participant)
    features = draw_features(n, rng)
    effect = options.participant_sd * rng.standard_normal(len(sizes))
    steady = logits(options, features) + effect[participant] + rng.logistic(size=n)
    memory_first = rng.random(n) < 0.5
    level = judged(options, shown_once(options, steady, memory_first, rng))
    return Drawn(features, participant, memory_first, steady, level)


def logits(options: SimulationOptions, features: Array) -> Array:
    """w . z + b (n,): all of u that the raw features (n, 12) tell."""
    return np.asarray(standardised(features) @ options.vector + options.intercept)


def shown_once(
    options: SimulationOptions, steady: Array, memory_first: Flags, rng: np.random.Generator
) -> Array:
    """What is felt (n,), A minus B, in one showing of pairs with these u and orders (n,)."""
    u = steady + options.retest_noise * rng.standard_normal(len(steady))
    return np.asarray(np.where(memory_first, u, -u) + options.position_bias)


def judged(options: SimulationOptions, shown: Array) -> Numbers:
    """The judgment (n,) of what is felt (n,): 0, "A much better", to 4, "B much better"."""
    return _level(shown, *_population(_shape(options)).thresholds)


def truth(options: SimulationOptions) -> dict[str, Any]:
    """What is true of these options, as a plain document; shares are between 0 and 1.

    `bayes_accuracy` is what no model of the features can exceed on strict and on clear
    preferences: the sign of w . z + b, as effects, noises and orders are symmetric around it.
    `retest_agreement` is how often a repeat prefers the same response again (a tie does not), and
    "overall" mixes "much" and "slightly" as the paper's repeats do.
    """
    means, scales = population_moments()
    population = _population(_shape(options))
    return {
        "synthetic": True,
        "weights": dict(zip(RUBRIC, options.vector.tolist(), strict=True)),
        "intercept": options.intercept,
        "means": dict(zip(RUBRIC, means.tolist(), strict=True)),
        "scales": dict(zip(RUBRIC, scales.tolist(), strict=True)),
        "thresholds": dict(zip(("tie", "much"), population.thresholds, strict=True)),
        "worked_out_on": POPULATION,
        "memory_preferred": population.memory,
        "bayes_accuracy": population.bayes,
        "retest_agreement": population.agreement,
    }


class _Population(NamedTuple):
    """What options make of the population."""

    thresholds: tuple[float, float]
    memory: dict[str, float]
    bayes: dict[str, float]
    agreement: dict[str, float]


def _shape(options: SimulationOptions) -> bytes:
    """The options that shape the population, as a key; sizes and seed only say what is drawn."""
    sizes = ("participants", "comparisons", "seed", "retest", "attention", "careless")
    plain = {name: getattr(SimulationOptions(), name) for name in sizes}
    return msgspec.json.encode(msgspec.structs.replace(options, **plain), order="sorted")


@lru_cache(maxsize=32)
def _population(shape: bytes) -> _Population:
    options = msgspec.json.decode(shape, type=SimulationOptions)
    rng = np.random.default_rng(POPULATION_SEED)
    logit = logits(options, draw_features(POPULATION, rng))
    effect = options.participant_sd * rng.standard_normal(POPULATION)
    steady = logit + effect + rng.logistic(size=POPULATION)
    orders = rng.random((2, POPULATION)) < 0.5
    first, second = (shown_once(options, steady, order, rng) for order in orders)
    tie, much = np.quantile(np.abs(first), [options.tie_share, 1 - options.much_share]).tolist()
    level, again = _level(first, tie, much), _level(second, tie, much)
    memory = (level < 2) == orders[0]
    same = (again != 2) & (((again < 2) == orders[1]) == memory)
    kinds = {"much": np.abs(level - 2) == 2, "slightly": np.abs(level - 2) == 1}
    agreement = _shares(same, kinds)
    mixed = RETEST_MUCH * agreement["much"] + (1 - RETEST_MUCH) * agreement.get("slightly", 0)
    agreement = {"overall": mixed if "slightly" in agreement else agreement["much"], **agreement}
    kinds = {"strict": level != 2, **kinds}
    bayes = _shares((logit > 0) == memory, kinds)
    return _Population((tie, much), _shares(memory, kinds), bayes, agreement)


def _level(shown: Array, tie: float, much: float) -> Numbers:
    strength = (np.abs(shown) > tie).astype(np.int64) + (np.abs(shown) > much)
    return np.asarray(2 - np.sign(shown).astype(np.int64) * strength)


def _shares(hits: Flags, kinds: dict[str, Flags]) -> dict[str, float]:
    """The share of hits among the rows of each kind that has any."""
    return {kind: float(hits[rows].mean()) for kind, rows in kinds.items() if rows.any()}


def _at_least(options: SimulationOptions, least: float, *names: str) -> None:
    for name in names:
        value = getattr(options, name)
        if not (np.isfinite(value) and value >= least):
            raise UsageError(f"{name} must be a finite number, {least} or more, not {value}")
