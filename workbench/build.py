"""Making a bank set: remember, embed, aggregate, profile.

What a rule leaves out is counted by reason. Every text goes through the vector cache, so a build
that is killed and started again embeds nothing twice.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from workbench.bank import Bank, bank_files, save_matrix
from workbench.datasets.report import Dataset
from workbench.embed import Embedder, Vectors, embed
from workbench.memory.episodic import EXTRACTORS, observed
from workbench.memory.profile import build_profile
from workbench.memory.semantic import aggregate
from workbench.parallel import ALONE, Workers, spread
from workbench.schema import Dialogue, Memory, Profile, encode_jsonl
from workbench.vector_cache import VectorCache
from workbench.workspace import Content

__all__ = ["KINDS", "TAU_CLUSTER", "Build", "Remembered", "by_scope", "remember"]

KINDS = ("turns", "observations", "facts")
TAU_CLUSTER = 0.85  # Paper A: cosine above which episodic memories are aggregated

Progress = Callable[[str, int, int], None]
T = TypeVar("T")
R = TypeVar("R")


class _Scope(NamedTuple):
    """One scope to be remembered, and the kind of memory wanted."""

    scope: str
    kind: str
    dialogues: list[Dialogue]
    observations: list[Memory]


class Remembered(NamedTuple):
    """One scope's memories, its people's profiles, and what the rules left out, by reason."""

    memories: list[Memory]
    profiles: list[Profile]
    left_out: Counter[str]


def remember(task: _Scope) -> Remembered:
    """What the rules make of a scope; it depends on that scope only."""
    left_out = Counter[str]()

    def extract(kind: str) -> list[Memory]:
        found = []
        for dialogue in task.dialogues:
            if kind == "observations":
                extraction = observed(dialogue, task.observations)
            else:
                extraction = EXTRACTORS[kind](dialogue)
            if kind == task.kind:
                left_out.update(extraction.left_out)
            places = _places(dialogue)
            for memory in extraction.memories:
                session, place = places[memory.sources[0]]
                found.append(msgspec.structs.replace(memory, session=session, place=place))
        return found

    memories = extract(task.kind)
    facts = memories if task.kind in ("facts", "observations") else extract("facts")
    turns = memories if task.kind == "turns" else extract("turns")
    people = dict.fromkeys(person for dialogue in task.dialogues for person in dialogue.people)
    known = [*facts, *turns]
    profiles = [build_profile(task.scope, person, known) for person in people]
    return Remembered(memories, profiles, left_out)


class Build:
    """One build: its inputs, its counts and its clock."""

    def __init__(
        self,
        dataset: Dataset,
        kind: str,
        embedder: Embedder,
        cached: VectorCache,
        progress: Progress | None = None,
        workers: Workers = ALONE,
    ) -> None:
        self.workers = workers
        self.dataset, self.kind = dataset, kind
        self.embedder, self.cached, self.progress = embedder, cached, progress
        self.left_out: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.embedded = 0

    def make(self) -> tuple[dict[str, Content], dict[str, Any]]:
        """The set's files, and what its manifest tells of them."""
        remembered, profiles = self._timed("rules", self._remember)
        texts = [m.text for ms in remembered.values() for m in ms]
        vectors = self._embed("memories", texts)
        episodic = dict(self._banks(remembered, vectors))
        clusters = self._timed("aggregating", lambda: self._aggregate(episodic))
        semantic_vectors = self._embed("semantic", [m.text for ms in clusters.values() for m in ms])
        semantic = dict(self._banks(clusters, semantic_vectors))
        facts = self._embed("profile facts", [f.text for p in profiles for f in p.facts])
        whole = self._embed("profiles", [p.text for p in profiles if p.facts])
        files = {
            **bank_files(episodic.values(), "episodic"),
            **bank_files(semantic.values(), "semantic"),
            "profiles.jsonl": encode_jsonl(profiles),
            "profile_facts.npy": lambda path: save_matrix(path, facts),
            "profile_texts.npy": lambda path: save_matrix(path, whole),
        }
        counts = {
            "scopes": len(episodic),
            "memories": sum(map(len, episodic.values())),
            "semantic": sum(map(len, semantic.values())),
            "profiles": len(profiles),
            "profile_facts": len(facts),
        }
        return files, {
            "counts": counts,
            "left_out": dict(sorted(self.left_out.items())),
            "embedded": self.embedded,
            "long_texts": _long(self.embedder.excess(texts, "passage")),
            "prompts": {side: self.embedder.prompt(side) for side in ("query", "passage")},
            "seconds": {what: round(spent, 3) for what, spent in self.seconds.items()},
        }

    def _remember(self) -> tuple[dict[str, list[Memory]], list[Profile]]:
        """Memories by scope, and a profile of every person of every scope."""
        observations: dict[str, list[Memory]] = {}
        for memory in self.dataset.observations:
            observations.setdefault(memory.scope, []).append(memory)
        tasks = [
            _Scope(scope, self.kind, dialogues, observations.get(scope, []))
            for scope, dialogues in by_scope(self.dataset).items()
        ]
        remembered: dict[str, list[Memory]] = {}
        profiles: list[Profile] = []
        for done, found in enumerate(spread(remember, tasks, self.workers), start=1):
            remembered[tasks[done - 1].scope] = _as_read(found.memories, list[Memory])
            profiles += _as_read(found.profiles, list[Profile])
            self.left_out.update(found.left_out)
            if self.progress:
                self.progress("remembering", done, len(tasks))
        return remembered, profiles

    def _aggregate(self, episodic: dict[str, Bank]) -> dict[str, list[Memory]]:
        return {
            scope: list(aggregate(bank.memories, bank.vectors, TAU_CLUSTER))
            for scope, bank in episodic.items()
        }

    def _banks(
        self, memories: dict[str, list[Memory]], vectors: Vectors
    ) -> Iterator[tuple[str, Bank]]:
        start = 0
        for scope, found in memories.items():
            rows = vectors[start : start + len(found)]
            yield scope, Bank.build(scope, found, rows, self.embedder.fingerprint)
            start += len(found)

    def _embed(self, what: str, texts: list[str]) -> Vectors:
        new = 0

        def report(done: int, total: int) -> None:
            nonlocal new
            new = done
            if self.progress:
                self.progress(f"embedding {what}", done, total)

        rows = self._timed(
            "encoding",
            lambda: embed(texts, "passage", self.embedder, self.cached, report, self.workers),
        )
        self.embedded += new
        return rows

    def _timed(self, what: str, work: Callable[[], T]) -> T:
        began = time.perf_counter()
        try:
            return work()
        finally:
            self.seconds[what] += time.perf_counter() - began


def by_scope(dataset: Dataset) -> dict[str, list[Dialogue]]:
    found: dict[str, list[Dialogue]] = {}
    for dialogue in dataset.dialogues:
        found.setdefault(dialogue.scope, []).append(dialogue)
    return found


def _as_read(records: list[R], kind: type[list[R]]) -> list[R]:
    """The records as a file would give them back: one that has travelled between processes would
    write its defaults out, and the same bank would have other bytes."""
    return msgspec.json.decode(msgspec.json.encode(records), type=kind)


def _long(excess: list[int]) -> dict[str, int]:
    """How many memories are longer than the embedder reads at once, and by how many tokens."""
    return {"memories": sum(n > 0 for n in excess), "tokens": sum(excess)}


def _places(dialogue: Dialogue) -> dict[str, tuple[str, int]]:
    """Session and position in it (from 0) of every turn."""
    counts: Counter[str] = Counter()
    places = {}
    for turn in dialogue.turns:
        places[turn.id] = turn.session, counts[turn.session]
        counts[turn.session] += 1
    return places
