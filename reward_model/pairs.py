"""Response pairs to be judged: each query answered with the participant's memories and without.

Pairs become comparisons without a judgment in a set of the workspace, as soon as both responses are
there; what failed is counted by class and asked again by the next run, what is there is never made
again. A pair's id is the digest of all that it depends on, so other settings make other pairs.

    comparisons/NAME/...       the pairs: query, memories, responses, generator, regime, order
    pairs/NAME/made.jsonl      what each cost, and by whom it was written: no text of anybody

The result opens where any comparisons do: `collect.start`, the explorer's pages Study and Annotate,
`reward features`. (Paper B, section on data; SPEC B.1.)
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from reward_model.pair_costs import Made, cost_of, keep_costs, made_of, spent, told
from reward_model.responses import Response, prompts_of, respond, response_request
from reward_model.schema import Comparison, Order
from reward_model.screening import Screened, Screener, ScreeningRules, screen
from reward_model.store import add_comparisons, comparison_sets, open_comparisons, save_comparisons
from reward_model.wanted_pairs import Wanted
from workbench.errors import ModelError, UsageError
from workbench.llm import LLM, Request
from workbench.schema import Record, digest_of
from workbench.workspace import Workspace

__all__ = ["Made", "PairOptions", "made_of", "make_pairs", "screen_pairs"]

BATCH = 8  # pairs whose responses are asked together, and kept together

Progress = Callable[[str, int, int], None]


class PairOptions(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How responses are written: in which regimes, how long, how freely. `seed` also draws which
    response is A (a collection draws it anew)."""

    regimes: tuple[str, ...] = ("ordinary",)
    max_tokens: int = 600
    temperature: float = 0.0
    seed: int = 0


class _Unit(NamedTuple):
    """One pair to be made, and its two requests."""

    id: str
    wanted: Wanted
    regime: str
    order: Order
    having: Request
    lacking: Request


def make_pairs(
    workspace: Workspace,
    name: str,
    wanted: Sequence[Wanted],
    llm: LLM,
    options: PairOptions,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Make the pairs that the set `name` does not have yet, and report.

    {"name", "wanted", "made" (now), "held" (before), "failures" by class, "pending" (pairs),
    "calls", "tokens", "seconds", "cost", "generator", "regimes"}. Raises ModelError where pairs
    were missing and not one could be made; UsageError where the set holds pairs of real people and
    these are synthetic, or the reverse.
    """
    _same_kind(workspace, name, wanted)
    units = list({unit.id: unit for unit in _units(wanted, llm, options)}.values())
    with workspace.lock(f"pairs-{digest_of(name)}"):
        there = _held(workspace, name)
        left = [unit for unit in units if unit.id not in there]
        made, calls, failures = _answered(workspace, name, left, llm, progress)
    if left and not made:
        counted = ", ".join(f"{n} {kind}" for kind, n in failures.items())
        raise ModelError(f"not one of {len(left)} pairs could be made: {counted}")
    return {
        "name": name,
        "wanted": len(units),
        "held": len(units) - len(left),
        "made": made,
        "pending": len(left) - made,
        "failures": dict(sorted(failures.items())),
        **_spent(calls, llm),
        "generator": llm.identity,
        "regimes": list(options.regimes),
    }


def _answered(
    workspace: Workspace,
    name: str,
    left: Sequence[_Unit],
    llm: LLM,
    progress: Progress | None,
) -> tuple[int, list[Response], Counter[str]]:
    """Make pairs and keep them, batch by batch: how many, every call, and failures by class."""
    failures: Counter[str] = Counter()
    calls: list[Response] = []
    made = 0
    for start in range(0, len(left), BATCH):
        batch = left[start : start + BATCH]
        found = respond(llm, [r for unit in batch for r in (unit.having, unit.lacking)])
        calls += found.values()
        failures.update(filter(None, (_failure(unit, found) for unit in batch)))
        whole = [unit for unit in batch if not _failure(unit, found)]
        _keep(workspace, name, whole, found, llm)
        made += len(whole)
        if progress:
            progress("pairs", start + len(batch), len(left))
    return made, calls, failures


def screen_pairs(
    workspace: Workspace, name: str, screener: Screener, rules: ScreeningRules
) -> tuple[str, Screened]:
    """Keep each participant's best pairs of a set as the set NAME-best, and return its name.

    Raises UsageError where that set holds judgments already, or no pair is worth showing.
    """
    held = open_comparisons(workspace, name).comparisons
    waiting = [one for one in held if one.judgment is None]
    found = screen(waiting, screener, rules)
    into = f"{name}-best"
    if comparison_sets(workspace).get(into, {}).get("judged"):
        raise UsageError(f"{into} holds judgments; give the pairs another name before screening")
    chosen = {one.id for one in found.chosen}
    if not chosen:
        reasons = ", ".join(f"{len(ids)} {why}" for why, ids in found.dropped.items())
        raise UsageError(f"{name}: no pair can be shown ({reasons or 'none there'})")
    best = [one for one in waiting if one.id in chosen]
    save_comparisons(workspace, into, best, source=f"the best pairs of {name}")
    return into, found


def _spent(calls: Sequence[Response], llm: LLM) -> dict[str, Any]:
    """What this run's calls took, those that failed included; a response without memories that
    serves several regimes is one call."""
    sums = spent(calls)
    return {
        "calls": sums["tries"],
        "tokens": {"in": sums["tokens_in"], "out": sums["tokens_out"]},
        "seconds": round(sums["seconds"], 3),
        "cost": cost_of(calls, llm),
    }


def _same_kind(workspace: Workspace, name: str, wanted: Sequence[Wanted]) -> None:
    """Refuse a mixture of real and invented people before anything is asked."""
    held = comparison_sets(workspace).get(name)
    kinds = {one.synthetic for one in wanted} | ({held["synthetic"]} if held else set())
    if len(kinds) > 1:
        raise UsageError(
            f"{name} would mix pairs of real people and of invented ones; name another"
        )


def _units(wanted: Sequence[Wanted], llm: LLM, options: PairOptions) -> Iterator[_Unit]:
    names = ("max_tokens", "temperature", "seed")
    limits = {name: getattr(options, name) for name in names}
    for one in wanted:
        for regime in options.regimes:
            having = response_request(one.query, one.memories, regime, **limits)
            lacking = response_request(one.query, None, regime, **limits)
            about = (one.participant, regime, llm.identity)
            id = f"pair-{digest_of([*about, *map(msgspec.structs.asdict, (having, lacking))])}"
            orders: tuple[Order, Order] = ("memory first", "memory second")
            order = random.Random(f"{options.seed}/{id}").choice(orders)
            yield _Unit(id, one, regime, order, having, lacking)


def _held(workspace: Workspace, name: str) -> set[str]:
    if name not in comparison_sets(workspace):
        return set()
    return {one.id for one in open_comparisons(workspace, name).comparisons}


def _failure(unit: _Unit, found: dict[Request, Response]) -> str:
    """The class of the first of a pair's calls that failed; "" where both are there."""
    return found[unit.having].failure or found[unit.lacking].failure or ""


def _keep(
    workspace: Workspace,
    name: str,
    units: Sequence[_Unit],
    found: dict[Request, Response],
    llm: LLM,
) -> None:
    """Add finished pairs to the set, and what they cost to the file beside it."""
    if not units:
        return
    generator = str(llm.identity.get("model", llm.identity.get("kind", "unknown")))
    comparisons = [
        Comparison(
            id=unit.id,
            participant=unit.wanted.participant,
            query=unit.wanted.query,
            memories=unit.wanted.memories,
            with_memory=found[unit.having].text,
            without_memory=found[unit.lacking].text,
            generator=generator,
            regime=unit.regime,
            order=unit.order,
            synthetic=unit.wanted.synthetic,
        )
        for unit in units
    ]
    # First what they cost: a pair is never there without it.
    keep_costs(workspace, name, [_made(unit, found, llm) for unit in units])
    add_comparisons(workspace, name, comparisons, source="workbench reward pairs")


def _made(unit: _Unit, found: dict[Request, Response], llm: LLM) -> Made:
    calls = (found[unit.having], found[unit.lacking])
    return Made(
        id=unit.id,
        generator=llm.identity,
        regime=unit.regime,
        order=unit.order,
        prompts=prompts_of(unit.regime),
        sources=unit.wanted.sources,
        with_memory=told(calls[0]),
        without_memory=told(calls[1]),
        cost=cost_of(calls, llm),
    )
