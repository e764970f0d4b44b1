"""The nouns of the workbench: immutable records, validated where they enter, trusted afterwards.

Every record is a frozen `msgspec.Struct`, so one declaration gives the type, the validation and the
JSON form. Collections are tuples. Times are datetimes exactly as the source states them: without a
zone where the source names none, because inventing one would move "yesterday" to another day.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from workbench.errors import DataError

__all__ = [
    "Certainty",
    "Dialogue",
    "Dimensions",
    "Gold",
    "Hit",
    "Memory",
    "MemoryKind",
    "Profile",
    "Question",
    "Recipe",
    "Record",
    "Role",
    "Subjectivity",
    "Tense",
    "Turn",
    "decode_jsonl",
    "digest_of",
    "encode_jsonl",
]

Role = Literal["person", "user", "assistant", "tool"]
MemoryKind = Literal["turn", "observation", "fact", "semantic"]
Tense = Literal["past", "present", "future", "unknown"]
Subjectivity = Literal["objective", "subjective", "unknown"]
Certainty = Literal["certain", "speculative", "unknown"]


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of every noun: immutable, comparable by value, written without its default fields."""


class Turn(Record, frozen=True, kw_only=True):
    """One utterance.

    `id` is unique within its scope. `role` is "person" where peers talk, else who speaks to the
    assistant; a "tool" turn is kept but never remembered. `caption` is a *machine* caption of a
    shared picture, `attachment` the text of a shared file. `aside` says why a record of the source
    is kept but is not part of the conversation ("hidden", "other branch", "system", "tool").
    """

    id: str
    session: str
    speaker: str
    text: str
    role: Role = "person"
    time: datetime | None = None
    caption: str | None = None
    attachment: str | None = None
    aside: str | None = None


class Dialogue(Record, frozen=True, kw_only=True):
    """Timestamped turns in reading order. `scope` names the bank that they are remembered in:
    the conversation itself (LoCoMo) or one user's whole history (chat exports)."""

    id: str
    scope: str
    title: str = ""
    turns: tuple[Turn, ...] = ()
    aside: tuple[Turn, ...] = ()

    @property
    def sessions(self) -> tuple[str, ...]:
        """Session ids in reading order."""
        return tuple(dict.fromkeys(turn.session for turn in self.turns))

    @property
    def people(self) -> tuple[str, ...]:
        """Speakers in order of appearance, without the assistant and its tools."""
        return tuple(dict.fromkeys(t.speaker for t in self.turns if t.role in ("person", "user")))


class Gold(Record, frozen=True, kw_only=True):
    """What a question should find and say. It never reaches retriever, rewriter or answerer.

    `evidence` holds ids of turns that exist, `sessions` ids of sessions that exist, `unresolved`
    the raw text of references to neither.
    """

    answer: str | None = None
    evidence: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()


class Question(Record, frozen=True, kw_only=True):
    """A question about one scope. `people` are the users whose profile may enter the ranking.

    `audited` is the gold as an audit corrects it, `audit` the kind of error it found. `asked` is
    "today" for the answerer. `until` is the last turn that existed when the question was asked
    (all turns where None). `abstention` marks questions whose right answer is to decline.
    """

    id: str
    scope: str
    text: str
    category: str = "uncategorised"
    people: tuple[str, ...] = ()
    gold: Gold = msgspec.field(default_factory=Gold)
    audited: Gold | None = None
    audit: str | None = None
    asked: datetime | None = None
    until: str | None = None
    abstention: bool = False
    choices: tuple[str, ...] = ()


class Dimensions(Record, frozen=True, kw_only=True):
    """Retrieval dimensions (SPEC A.2). "unknown" never matches anything."""

    tense: Tense = "unknown"
    subjectivity: Subjectivity = "unknown"
    certainty: Certainty = "unknown"


class Memory(Record, frozen=True, kw_only=True):
    """One remembered statement with its provenance.

    `owner` said it, `subject` is whom it is about ("" where unknown), `role` is the owner's role,
    `sources` are turn ids of the scope, never empty. `time` is when it was said, `place` the
    first source's position in its session, counted from 0: what makes two memories neighbours.
    """

    id: str
    scope: str
    kind: MemoryKind
    text: str
    sources: tuple[str, ...]
    owner: str = ""
    subject: str = ""
    role: Role = "person"
    session: str = ""
    place: int = 0
    time: datetime | None = None
    dimensions: Dimensions = msgspec.field(default_factory=Dimensions)


class Profile(Record, frozen=True, kw_only=True):
    """Stable attributes, preferences and relationships of one person, each with its sources."""

    scope: str
    person: str
    facts: tuple[Memory, ...] = ()

    @property
    def text(self) -> str:
        """The profile as one text, a fact a line: what the `profile` prior embeds."""
        return "\n".join(fact.text for fact in self.facts)


class Hit(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One retrieved memory. `parts` are weighted contributions that add up to `score`;
    `raw` are the cosines and counts that they were made from. Ranks count from 1."""

    memory: Memory
    rank: int
    score: float
    parts: dict[str, float]
    raw: dict[str, float]


class Recipe(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Every knob of a retrieval run; its digest names the run. Defaults are Paper A's.

    `threshold` None means off, unless the embedder has a known one of its own. `centred` takes
    the bank's mean off all vectors; `neighbours`, `neighbours_far` (two turns away), `speaker` and
    `lend` (from the `lend_from` memories of the same turns) are weights of what a memory is lent.
    """

    memories: str = "turns"
    embedder: str = "minilm"
    retriever: str = "dense"
    prior: str = "profile"
    lam: float = 0.8
    k: int = 25
    k_semantic: int = 7
    threshold: float | None = None
    boost: float = 0.05
    lexical_weight: float = 0.5
    neighbours: float = 0.0
    neighbours_far: float = 0.0
    speaker: float = 0.0
    lend: float = 0.0
    lend_from: str = "observations"
    centred: bool = False
    seed: int = 0


R = TypeVar("R")


def digest_of(value: Any, length: int = 16) -> str:
    """First `length` hex digits of the sha256 of a value's canonical JSON (keys sorted)."""
    data = msgspec.json.encode(msgspec.to_builtins(value), order="sorted")
    return hashlib.sha256(data).hexdigest()[:length]


def encode_jsonl(records: Iterable[Any]) -> Iterator[bytes]:
    """One JSON line a record, with its newline."""
    encoder = msgspec.json.Encoder()
    for record in records:
        yield encoder.encode(record) + b"\n"


def decode_jsonl(path: Path, record_type: type[R]) -> list[R]:
    """Read a JSONL file that the workbench wrote.

    Raises DataError naming file, line and field where a line is not such a record.
    """
    decoder = msgspec.json.Decoder(record_type)
    records: list[R] = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                records.append(decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise DataError(f"{path}, line {number}: {error}") from error
    return records
