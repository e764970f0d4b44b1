"""Inducing a rubric from judgments with a language model (SPEC B.2).

Five independent passes each read ten labelled comparisons of the *training* participants and
propose ten dimensions. A last request merges near-duplicates into one canonical rubric and labels
each dimension memory-dependent or not, once. Both are done afresh in every outer fold: a rubric
that had seen a held-out participant's judgments would leak them into the features. The prompts are
ours, as the paper's are not published.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from reward_model.induced import Dimension, InducedRubric, Proposal, Provenance
from reward_model.judge_scorer import PACKAGE, occasion
from reward_model.proposals import InductionPlan, Proposals, Rubric, canonical, collected
from reward_model.schema import Comparison
from workbench.errors import ModelError, UsageError
from workbench.llm import LLM, Request
from workbench.prompting import prompt, quoted
from workbench.replies import Exchange, ReplyFailure, ask_recorded
from workbench.schema import digest_of

__all__ = ["Induction", "InductionPlan", "induce", "induce_folds", "training_of"]

PROMPTS = ("induce_propose", "induce_consolidate", "score_induced", "score_compared")


class Induction(NamedTuple):
    """A rubric, and every request and reply behind it."""

    rubric: InducedRubric
    exchanges: list[Exchange]


def induce_folds(
    llm: LLM,
    comparisons: Sequence[Comparison],
    held_out: Mapping[str, Collection[str]],
    plan: InductionPlan | None = None,
) -> dict[str, Induction]:
    """A rubric for each outer fold: `held_out` names the participants that a fold holds out."""
    return {
        fold: induce(
            llm,
            [one for one in comparisons if one.participant not in set(people)],
            people,
            msgspec.structs.replace(plan or InductionPlan(), fold=fold),
        )
        for fold, people in held_out.items()
    }


def induce(
    llm: LLM,
    training: Sequence[Comparison],
    held_out: Collection[str],
    plan: InductionPlan | None = None,
) -> Induction:
    """The canonical rubric of one fold. `held_out` are the participants that must not be seen.

    A pass without a usable reply is counted and left out. Raises UsageError where a training
    comparison is of a held-out participant, or fewer are labelled than a pass reads; ModelError
    where no pass, or the consolidation, has a usable reply.
    """
    plan = plan or InductionPlan()
    about = training_of(training, held_out, plan)
    labelled = _labelled(training)
    if len(labelled) < plan.examples:
        raise UsageError(
            f"fold {plan.fold}: a pass reads {plan.examples} labelled comparisons, and the training"
            f" participants have {len(labelled)}; use the fixed rubric, or plan fewer examples"
        )
    read = [_drawn(labelled, plan, number) for number in range(plan.passes)]
    requests = [_propose(examples, plan, number) for number, examples in enumerate(read)]
    exchanges = ask_recorded(llm, requests, Proposals, plan.tries)
    proposals, failed = collected(exchanges, plan)
    if not proposals:
        raise ModelError(f"fold {plan.fold}: no pass proposed anything ({_told(failed)})")
    dimensions, lost, merging = _merge(llm, proposals, plan)
    provenance = msgspec.structs.replace(
        about,
        passes=tuple(tuple(one.id for one in examples) for examples in read),
        model=llm.identity,
        prompts={name: prompt(name, PACKAGE).digest for name in PROMPTS},
        failed=dict(failed + lost),
    )
    rubric = InducedRubric(
        source="induced", dimensions=dimensions, provenance=provenance, proposals=proposals
    )
    return Induction(rubric, [*exchanges, merging])


def _merge(
    llm: LLM, proposals: Sequence[Proposal], plan: InductionPlan
) -> tuple[tuple[Dimension, ...], Counter[str], Exchange]:
    """The consolidation: dimensions, what was lost on the way, and the exchange."""
    [exchange] = ask_recorded(llm, [_consolidate(proposals, plan)], Rubric, plan.tries)
    if isinstance(exchange.outcome, ReplyFailure):
        raise ModelError(
            f"fold {plan.fold}: the proposals were not consolidated ({exchange.outcome.kind}); "
            "try again, or another model"
        )
    merged: Rubric = exchange.outcome  # type: ignore[assignment]
    dimensions, lost = canonical(merged.dimensions, proposals, plan)
    if not dimensions:
        raise ModelError(f"fold {plan.fold}: no dimension rests on a proposal ({_told(lost)})")
    return dimensions, lost, exchange


def training_of(
    training: Sequence[Comparison], held_out: Collection[str], plan: InductionPlan
) -> Provenance:
    """Who is trained on and who is not; also what `fixed_rubric` is told.

    Raises UsageError where they overlap.
    """
    people = tuple(dict.fromkeys(one.participant for one in training))
    both = sorted(set(people) & set(held_out))
    if both:
        raise UsageError(
            f"fold {plan.fold}: {len(both)} held-out participants are among the training "
            f"comparisons ({both[0]!r} first): a rubric must not see whom it is tested on"
        )
    return Provenance(
        fold=plan.fold,
        seed=plan.seed,
        training=people,
        held_out=tuple(sorted(held_out)),
        content=digest_of(list(training)),
    )


def _labelled(training: Sequence[Comparison]) -> list[Comparison]:
    """Strict preferences, without attention items and repeats, in the order of their ids."""
    kept = [
        one
        for one in training
        if one.prefers_memory is not None and one.attention is None and one.repeat_of is None
    ]
    return sorted(kept, key=lambda one: one.id)


def _generator(plan: InductionPlan, number: int) -> np.random.Generator:
    return np.random.default_rng(int(digest_of([plan.fold, plan.seed, number]), 16))


def _drawn(labelled: list[Comparison], plan: InductionPlan, number: int) -> list[Comparison]:
    places = _generator(plan, number).choice(len(labelled), plan.examples, replace=False)
    return [labelled[place] for place in places]


def _propose(examples: Sequence[Comparison], plan: InductionPlan, number: int) -> Request:
    """Which response stands first is drawn, so that neither the place nor the order of display
    goes with the preference."""
    first = _generator(plan, number).random(len(examples)) < 0.5
    shown = [
        _example(place, one, bool(memory_first))
        for place, (one, memory_first) in enumerate(zip(examples, first, strict=True), start=1)
    ]
    system = prompt("induce_propose", PACKAGE).filled(number=str(plan.proposals))
    return Request(
        system=system,
        user="\n\n".join(shown),
        max_tokens=plan.max_tokens,
        seed=plan.seed + number,
    )


def _example(place: int, comparison: Comparison, memory_first: bool) -> str:
    pair = comparison.pair if memory_first else comparison.pair.swapped
    preferred = "first" if comparison.prefers_memory == memory_first else "second"
    written = "first" if memory_first else "second"
    return "\n\n".join(
        (
            f"Example {place}",
            occasion(pair, memories=True),
            quoted(pair.with_memory, "first_response"),
            quoted(pair.without_memory, "second_response"),
            f"The user preferred the {preferred} response. The {written} one was written with the "
            "memories.",
        )
    )


def _consolidate(proposals: Sequence[Proposal], plan: InductionPlan) -> Request:
    lines = "\n".join(f"{p.id} {_line(p.title)}: {_line(p.definition)}" for p in proposals)
    return Request(
        system=prompt("induce_consolidate", PACKAGE).filled(most=str(plan.most)),
        user=quoted(lines, "proposals"),
        max_tokens=plan.max_tokens,
        seed=plan.seed,
    )


def _line(text: str) -> str:
    """On one line, so that no proposal can pass for another."""
    return " ".join(text.split())


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in counts.items()) or "nothing"
