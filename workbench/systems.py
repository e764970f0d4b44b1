"""Other memory systems: anything that can remember a dialogue, retrieve for a question, and answer.

`System` is all that is asked of one. A new one is made for every scope, so nothing that one person
said can reach another's answer, and for every day on which questions of that scope were asked, so
nothing is known early. It is told the dialogues, then asked its questions; of these it sees what a
person would (`Posed`): no gold, no category, and no id, since ids of benchmarks tell the category.

    class Parrot:
        def remember(self, dialogue): self.last = dialogue.turns[-1]
        def retrieve(self, question): return [self.last.id]
        def answer(self, question): return self.last.text

    workbench evaluate sample --system parrot:Parrot

The answers become a run of kind "evaluate" like any other: scored, attributed, compared, a row of
the main table (`workbench table --also parrot=RUN`). What a system does is its own affair, and runs
with this process's rights: name only what you trust.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec

from workbench.errors import UsageError
from workbench.schema import Dialogue, Question, Record, digest_of

__all__ = ["OpenedSystem", "Posed", "System", "open_system", "posed", "told_until"]

NEEDS = ("remember", "retrieve", "answer")


class Posed(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A question as a system sees it: its words, whose it is, its day ("today"; None where nobody
    knows), and the choices of a multiple-choice question."""

    text: str
    people: tuple[str, ...] = ()
    today: datetime | None = None
    choices: tuple[str, ...] = ()


class System(Protocol):
    """A memory system. A dialogue is remembered whole, dialogues in reading order; only then are
    questions asked, for each `retrieve` and then `answer`. Whatever it raises is a failure of that
    question (of all questions of the scope, in `remember`), counted and tried again by the next
    run."""

    def remember(self, dialogue: Dialogue) -> None:
        """Take in a dialogue of the scope: turns with id, speaker, text and time."""
        ...

    def retrieve(self, question: Posed) -> Sequence[str]:
        """Ids of the turns behind what is retrieved, best first; empty where that isn't known."""
        ...

    def answer(self, question: Posed) -> str:
        """A short answer."""
        ...


class OpenedSystem(Record, frozen=True, kw_only=True):
    """How to make a system, and what its answers depend on: its name and the text of its module.
    What it reads besides (models, files, services) nobody here can know."""

    name: str
    make: Callable[[], System]
    source: str

    @property
    def identity(self) -> dict[str, Any]:
        return {"system": self.name, "source": self.source}


def open_system(spec: str) -> OpenedSystem:
    """The system that "MODULE:NAME" names: a class, or a function, that needs no arguments. Modules
    of the folder that the command runs in are found, too.

    Raises UsageError where there is no such thing.
    """
    module_name, colon, name = spec.partition(":")
    if not colon or not module_name.strip() or not name.strip():
        raise UsageError(f"--system names MODULE:NAME, as in my_memory:Memory, not {spec!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(f"--system {spec}: {error}") from error
    make = getattr(module, name, None)
    lacking = [one for one in NEEDS if isinstance(make, type) and not hasattr(make, one)]
    if not callable(make) or lacking:
        why = f"it has no {', '.join(lacking)}" if lacking else f"{module_name} has nothing of it"
        raise UsageError(f"--system {spec} is no memory system: {why}")
    path = getattr(module, "__file__", None)
    text = Path(path).read_bytes().decode("utf-8", "replace") if path else ""
    return OpenedSystem(name=spec, make=make, source=digest_of(text))


def posed(question: Question, today: datetime | None) -> Posed:
    """A question without anything of its gold."""
    return Posed(text=question.text, people=question.people, today=today, choices=question.choices)


def told_until(dialogues: Iterable[Dialogue], until: str | None) -> list[Dialogue]:
    """The dialogues of a scope up to and with turn `until` (None: all), without what was aside."""
    told: list[Dialogue] = []
    for dialogue in dialogues:
        ids = [turn.id for turn in dialogue.turns]
        end = ids.index(until) + 1 if until in ids else len(ids)
        turns = dialogue.turns[:end]
        told.append(msgspec.structs.replace(dialogue, turns=turns, aside=()))
        if until in ids:
            break
    return told
