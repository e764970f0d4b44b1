"""De-identified copies of comparisons, what was withheld and why, and what masking cannot find.

Placeholders are typed and consistent within a participant's records (`reward_model.placeholders`);
days and places are generalised. A comparison is withheld where redaction would change what the
preference rests on (paper, section on data; the rule is ours, see `WithholdingRules`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from reward_model.known_names import Known, SpanType, normal
from reward_model.left_over import MISSES, capitals_left
from reward_model.placeholders import Masked, Masker
from reward_model.recognisers import require_presidio
from reward_model.schema import Comparison
from workbench.schema import Record

__all__ = ["EVERYBODY", "Deidentified", "WithholdingRules", "deidentify", "withheld_because"]

EVERYBODY = "*"  # names to mask for every participant
DAY_ONE = datetime(2000, 1, 1)
SAME = "the difference between the responses was masked away"
ONE_SIDED = "a masked detail of the memories or the query is in one response only"


class WithholdingRules(Record, frozen=True, kw_only=True, omit_defaults=False):
    """When a comparison is withheld.

    `share`: more than this part of a response's words would be masked. `one_sided`: something
    masked stands in the memories or the query and in just one of the responses, so the preference
    may rest on it. Always withheld: pairs whose responses say the same once they are masked, and
    repeats of what is withheld. Attention checks are ours, and never are.
    """

    share: float = 0.15
    one_sided: bool = True


DEFAULT_RULES = WithholdingRules()


class Deidentified(Record, frozen=True, kw_only=True):
    """What may be passed on, `comparisons` and `texts` (by participant pseudonym); and, only for
    whoever holds the originals, `withheld` (reason -> original ids) and the `report`."""

    comparisons: tuple[Comparison, ...]
    texts: dict[str, tuple[str, ...]]
    withheld: dict[str, tuple[str, ...]]
    report: dict[str, Any]


class _Fields(Record, frozen=True, kw_only=True):
    """A comparison's texts after masking."""

    query: Masked
    memories: tuple[Masked, ...]
    with_memory: Masked
    without_memory: Masked
    note: Masked

    @property
    def all(self) -> tuple[Masked, ...]:
        return (self.query, *self.memories, self.with_memory, self.without_memory, self.note)


def deidentify(
    comparisons: Sequence[Comparison],
    known: Mapping[str, Known] | None = None,
    texts: Mapping[str, Sequence[str]] | None = None,
    rules: WithholdingRules = DEFAULT_RULES,
) -> Deidentified:
    """De-identify comparisons, and other `texts` of their participants (memories), together.

    `known` maps participants, and `EVERYBODY`, to what they list. Participants become P01, P02, ..
    in order of appearance, and comparisons P01-001, ..; times keep their distances, counted from
    the participant's first. Raises ModelError where Presidio is not installed.
    """
    require_presidio()
    known, texts = known or {}, texts or {}
    people = tuple(dict.fromkeys([*(one.participant for one in comparisons), *texts]))
    kept: list[Comparison] = []
    others: dict[str, tuple[str, ...]] = {}
    withheld: dict[str, list[str]] = {}
    masked: list[Masked] = []
    for number, person in enumerate(people, start=1):
        own = [one for one in comparisons if one.participant == person]
        masker = Masker(_all_texts(own, texts.get(person, ())), _joined(known, person))
        fields = {one.id: _fields(one, masker) for one in own}
        reasons = _reasons(own, fields, rules)
        for id, reason in reasons.items():
            withheld.setdefault(reason, []).append(id)
        pseudonym = f"P{number:02d}"
        kept += _renamed([one for one in own if one.id not in reasons], fields, pseudonym)
        more = [masker.mask(text) for text in texts.get(person, ())]
        others |= {pseudonym: tuple(one.text for one in more)} if more else {}
        masked += [*(part for one in fields.values() for part in one.all), *more]
    listed = sum(_joined(known, person) != Known() for person in people)
    return Deidentified(
        comparisons=tuple(kept),
        texts=others,
        withheld={reason: tuple(ids) for reason, ids in withheld.items()},
        report=_report(masked, len(comparisons), withheld, (len(people), listed)),
    )


def withheld_because(
    comparison: Comparison, fields: _Fields, rules: WithholdingRules
) -> str | None:
    """Why a comparison is withheld after masking; None where it need not be."""
    if comparison.attention is not None:
        return None
    sides = (
        (comparison.with_memory, fields.with_memory),
        (comparison.without_memory, fields.without_memory),
    )
    if any(after.words > rules.share * max(1, len(before.split())) for before, after in sides):
        return f"more than {rules.share:.0%} of a response's words are masked"
    (one, one_masked), (other, other_masked) = sides
    if normal(one) != normal(other) and one_masked.text == other_masked.text:
        return SAME
    context = {thing for part in (fields.query, *fields.memories) for thing in part.things}
    only_one = set(one_masked.things) ^ set(other_masked.things)
    return ONE_SIDED if rules.one_sided and context & only_one else None


def _reasons(
    own: Sequence[Comparison], fields: Mapping[str, _Fields], rules: WithholdingRules
) -> dict[str, str]:
    """Comparison id -> why it is withheld; repeats share the fate of what they repeat."""
    found = {one.id: withheld_because(one, fields[one.id], rules) for one in own}
    reasons = {id: reason for id, reason in found.items() if reason is not None}
    for one in own:
        if one.id in reasons or one.repeat_of is None:
            continue
        if one.repeat_of in reasons:
            reasons[one.id] = "repeats a comparison that is withheld"
        elif one.repeat_of not in fields:
            reasons[one.id] = "repeats a comparison that is not here"
    return reasons


def _renamed(
    kept: Sequence[Comparison], fields: Mapping[str, _Fields], pseudonym: str
) -> list[Comparison]:
    ids = {one.id: f"{pseudonym}-{place:03d}" for place, one in enumerate(kept, start=1)}
    times = [_plain(time) for one in kept for time in (one.shown, one.judged) if time]
    first = min(times, default=DAY_ONE)

    def moved(time: datetime | None) -> datetime | None:
        return None if time is None else DAY_ONE + (_plain(time) - first)

    return [
        msgspec.structs.replace(
            one,
            id=ids[one.id],
            participant=pseudonym,
            query=fields[one.id].query.text,
            memories=tuple(memory.text for memory in fields[one.id].memories),
            with_memory=fields[one.id].with_memory.text,
            without_memory=fields[one.id].without_memory.text,
            note=fields[one.id].note.text,
            repeat_of=ids[one.repeat_of] if one.repeat_of else None,
            shown=moved(one.shown),
            judged=moved(one.judged),
        )
        for one in kept
    ]


def _plain(time: datetime) -> datetime:
    """In universal time and without a zone, so that all can be subtracted."""
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def _all_texts(own: Sequence[Comparison], others: Sequence[str]) -> list[str]:
    found = list(others)
    for one in own:
        found += [one.query, *one.memories, one.with_memory, one.without_memory, one.note]
    return list(dict.fromkeys(found))


def _fields(one: Comparison, masker: Masker) -> _Fields:
    return _Fields(
        query=masker.mask(one.query),
        memories=tuple(masker.mask(memory) for memory in one.memories),
        with_memory=masker.mask(one.with_memory),
        without_memory=masker.mask(one.without_memory),
        note=masker.mask(one.note),
    )


def _joined(known: Mapping[str, Known], person: str) -> Known:
    own, all_of_them = known.get(person, Known()), known.get(EVERYBODY, Known())
    return Known(
        people=own.people + all_of_them.people,
        places=all_of_them.places | own.places,
        organisations=own.organisations + all_of_them.organisations,
    )


def _report(
    masked: Sequence[Masked],
    number: int,
    withheld: Mapping[str, Sequence[str]],
    people: tuple[int, int],
) -> dict[str, Any]:
    """What was done, in numbers, and what a person must still look for."""
    out = sum(len(ids) for ids in withheld.values())
    types: Counter[SpanType] = Counter(kind for one in masked for kind, _ in one.things)
    sources = Counter(source for one in masked for source in one.sources)
    return {
        "participants": people[0],
        "participants_without_listed_names": people[0] - people[1],
        "comparisons": number,
        "kept": number - out,
        "withheld": {reason: len(ids) for reason, ids in withheld.items()},
        "masked": dict(sorted(types.items())),
        "found_by": dict(sorted(sources.items())),
        "look_again": capitals_left(one.text for one in masked),
        "misses": list(MISSES),
    }
