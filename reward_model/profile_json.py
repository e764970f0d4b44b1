"""A participant's memory profile in the paper's JSON shape: read, repaired within bounds, checked.

The participant gives their own assistant our prompt (`extraction_prompt`) and pastes the reply.
What the reply gets wrong in form is repaired and said; what it gets wrong in content is flagged
for the participant, who may edit or delete it; nothing is dropped without a finding. Shape and
rules: paper, section on data (its extraction prompt is not published; ours is in `prompts/`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from reward_model.profile_cues import cues
from reward_model.profile_shape import (
    INFERRED,
    LISTS,
    PARTS,
    SECTIONS,
    Finding,
    FindingKind,
    Note,
    arranged,
    pruned,
    texts,
    unwrapped,
)
from workbench.errors import DataError
from workbench.prompting import prompt
from workbench.reply_json import objects_in
from workbench.schema import Record

__all__ = [
    "TIMES_OF_DAY",
    "ImportedProfile",
    "content_findings",
    "extraction_prompt",
    "leaves",
    "marks",
    "read_profile",
]

TIMES_OF_DAY = (
    *("late night", "early morning", "morning", "noon", "afternoon", "dusk", "evening"),
    "midnight",
)
STATEMENTS = (8, 15)  # asked for in part_1 and in part_2
CHARACTERS, BRACKETS = 500_000, 3_000  # more is no profile; both bound the time of reading
TYPOGRAPHIC = str.maketrans("“”„‟", '""""')
QUERIES = 20  # accepted; our prompt asks for 30, and fewer is an honest answer

CUSTOM = re.compile(r"^\s*[\[(]\s*custom\s*[\])]\s*:?\s*", re.IGNORECASE)
CLOCK = re.compile(
    r"\b\d{1,2}[:.h]\d{2}(?: ?[ap]\.?m\b)|\b\d{1,2}[:h]\d{2}\b|\b\d{1,2} ?(?:[ap]\.?m\b|o'clock\b)",
    re.IGNORECASE,
)
OTHER_TIME = re.compile(
    r"\b(?:dawn|sunrise|sunset|midday|lunch ?time|bed ?time|(?<!late )night)\b", re.IGNORECASE
)
NOT_THIRD_PERSON = re.compile(r"(?:I|I['’]m|I['’]ve|My|You|Your|You['’]re)\b")
CALLED = {
    "person": "a person",
    "employer": "an employer",
    "school": "a school",
    "contact": "a way to reach somebody",
    "account": "an account",
}


class ImportedProfile(Record, frozen=True, kw_only=True):
    """The profile as it was read, missing values left out, and everything noticed on the way.

    `part_3` maps sections to texts, or nested objects and lists of texts.
    """

    part_1: tuple[str, ...] = ()
    part_2: tuple[str, ...] = ()
    part_3: dict[str, Any] = msgspec.field(default_factory=dict)
    recent_queries: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many texts each part has, and how many findings there are of each kind."""
        sizes = {name: len(getattr(self, name)) for name in LISTS}
        sizes["part_3"] = sum(path.startswith("part_3") for path, _ in leaves(self))
        kinds: tuple[FindingKind, ...] = ("repaired", "flagged", "dropped", "missing")
        return sizes | {kind: sum(one.kind == kind for one in self.findings) for kind in kinds}


def extraction_prompt() -> str:
    """The prompt that the participant pastes into their own assistant."""
    return prompt("profile_extraction", "reward_model").text


def read_profile(text: str) -> ImportedProfile:
    """A pasted reply as a profile.

    Raises DataError where no JSON object in it has a part of a profile, or it was cut off.
    """
    findings: dict[Finding, None] = {}  # each is said once

    def note(path: str, kind: FindingKind, reason: str) -> None:
        findings[Finding(path=path, kind=kind, reason=reason)] = None

    found = _objects(text, note)
    held = [inner for whole in found for inner in unwrapped(whole, note)]
    if not held:
        what = f"{len(found)} JSON objects with none of them" if found else "no JSON object"
        raise DataError(
            f"profile: expected {', '.join(PARTS)}, and the text holds {what}; paste the whole "
            "reply of the assistant to the extraction prompt"
        )
    whole = arranged(held, note)
    profile = ImportedProfile(
        part_1=texts(whole.get("part_1"), "part_1", note),
        part_2=texts(whole.get("part_2"), "part_2", note),
        part_3=pruned(whole["part_3"], "part_3", note) or {},
        recent_queries=texts(whole.get("recent_queries"), "recent_queries", note),
    )
    for one in _gaps(profile, whole):
        findings[one] = None
    for path, leaf in leaves(profile):
        findings |= dict.fromkeys(content_findings(path, leaf))
    return msgspec.structs.replace(profile, findings=tuple(findings))


def _objects(text: str, note: Note) -> tuple[dict[str, Any], ...]:
    """The JSON objects of a reply, with a note where there was more, or a slip, around them."""
    brackets = text.count("{") + text.count("[")
    if len(text) > CHARACTERS or brackets > BRACKETS:
        raise DataError(
            f"profile: {len(text):,} characters with {brackets:,} opening brackets; at most "
            f"{CHARACTERS:,} and {BRACKETS:,} are read"
        )
    text = text.strip().removeprefix("\ufeff")
    if '"' not in text and any(quote in text for quote in "“”"):
        text = text.translate(TYPOGRAPHIC)
        note("$", "repaired", "typographic quotes were made straight")
    found = objects_in(text)
    if found.cut or found.broken:
        what = "was cut off" if found.cut else "holds JSON that cannot be read"
        raise DataError(
            f"profile: the reply {what}; ask the assistant for the whole answer again, as one "
            "JSON object, and paste all of it"
        )
    if found.objects and found.sources != (text,):
        note("$", "repaired", "taken out of the thoughts, text or fences around it")
    for source in found.sources:
        try:
            msgspec.json.decode(source)
        except (msgspec.DecodeError, UnicodeEncodeError):
            note("$", "repaired", "slips such as commas before a closing bracket")
    return found.objects


def leaves(profile: ImportedProfile) -> Iterator[tuple[str, str]]:
    """Every text of a profile with its path: "part_1[0]", "part_3.food_preference.likes[2]"."""
    for name in ("part_1", "part_2"):
        yield from ((f"{name}[{i}]", text) for i, text in enumerate(getattr(profile, name)))
    yield from _walk(profile.part_3, "part_3")
    for i, text in enumerate(profile.recent_queries):
        yield f"recent_queries[{i}]", text


def marks(text: str) -> tuple[str, bool, bool]:
    """A text without its prefixes, whether it was inferred, and whether it is a custom tag."""
    inferred, custom = bool(INFERRED.match(text)), False
    text = INFERRED.sub("", text)
    if CUSTOM.match(text):
        custom, text = True, CUSTOM.sub("", text)
        inferred, text = inferred or bool(INFERRED.match(text)), INFERRED.sub("", text)
    return text.strip(), inferred, custom


def content_findings(path: str, text: str) -> list[Finding]:
    """What a participant should look at again in one text, wherever it came from."""
    reasons = [
        f"may name {CALLED[cue.kind]}: {text[cue.start : cue.end]!r}; say what it is instead"
        for cue in cues(text)
    ]
    if path.startswith("part_"):
        reasons += [f"{m.group()!r} is a clock time; {_words()}" for m in CLOCK.finditer(text)]
    if path.startswith("part_3.daily_routine"):
        reasons += [f"{m.group()!r} is another word; {_words()}" for m in OTHER_TIME.finditer(text)]
    bare, _, custom = marks(text)
    if path.startswith(("part_1", "part_2")) and NOT_THIRD_PERSON.match(bare):
        reasons.append("not in the third person")
    if custom and not 2 <= len(bare.split()) <= 6:
        reasons.append("a custom tag has two to six words")
    return [Finding(path=path, kind="flagged", reason=reason) for reason in reasons]


def _words() -> str:
    return f"times of day are {', '.join(TIMES_OF_DAY)}"


def _gaps(profile: ImportedProfile, whole: dict[str, Any]) -> Iterator[Finding]:
    """Parts and sections that are not there, and numbers of texts that were not asked for."""
    for name in ("part_1", "part_2"):
        number, (least, most) = len(getattr(profile, name)), STATEMENTS
        if not least <= number <= most:
            said = f"{number} statements; {least} to {most} were asked for"
            yield Finding(path=name, kind="flagged", reason=said)
    if len(profile.recent_queries) < QUERIES:
        said = (
            f"{len(profile.recent_queries)} queries; {QUERIES} are wanted, and fewer are accepted "
            "where there are no more"
        )
        yield Finding(path="recent_queries", kind="flagged", reason=said)
    for section in SECTIONS:
        if section not in whole["part_3"]:
            yield Finding(path=f"part_3.{section}", kind="missing", reason="the section is absent")


def _walk(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _walk(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, f"{path}[{index}]")
    else:
        yield path, value
