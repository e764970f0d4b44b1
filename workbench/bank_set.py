"""A bank set, loaded: everything made from one dataset with one kind of memory and one embedder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from workbench.bank import Bank, load_banks
from workbench.build import by_scope
from workbench.datasets.report import Dataset
from workbench.embed import Embedder, embed, is_blank
from workbench.errors import UsageError
from workbench.schema import Dialogue, Profile, decode_jsonl
from workbench.shelf import ProfileVectors, Shelf
from workbench.vector_cache import VectorCache
from workbench.workspace import read_manifest

__all__ = ["BankSet", "load_bank_set"]


@dataclass(frozen=True)
class BankSet:
    """A loaded bank set: banks by scope, people by scope, and the dataset they were made from."""

    id: str
    manifest: dict[str, Any]
    dataset: Dataset
    embedder: Embedder
    cache: VectorCache
    episodic: dict[str, Bank]
    semantic: dict[str, Bank]
    people: dict[str, dict[str, ProfileVectors]]

    def shelf(self, scope: str, sources: dict[str, BankSet] | None = None) -> Shelf:
        """What `scope` offers to a question; `sources` are further sets, for centroids.

        Raises UsageError for a scope that the dataset doesn't have: nothing is ever searched
        without one. A shelf is made once: what it keeps (a lexical index, say) serves every
        further question.
        """
        if scope not in self._dialogues:
            known = ", ".join(list(self._dialogues)[:12]) or "none"
            raise UsageError(f"{self.dataset.name} has no scope {scope!r}; it has: {known}")
        banks = {self.manifest["memories"]: self, **(sources or {})}
        key = (scope, *(f"{kind}={one.id}" for kind, one in banks.items()))
        if key not in self._shelves:
            self._shelves[key] = self._shelf(scope, banks)
        return self._shelves[key]

    def _shelf(self, scope: str, banks: dict[str, BankSet]) -> Shelf:
        turns = [turn for dialogue in self._dialogues[scope] for turn in dialogue.turns]
        return Shelf(
            scope=scope,
            bank=self._bank(self.episodic, scope),
            semantic=self._bank(self.semantic, scope),
            sources={kind: s._bank(s.episodic, scope) for kind, s in banks.items()},
            people=self.people.get(scope, {}),
            strangers=tuple(
                person
                for other, people in self.people.items()
                if other != scope
                for person in people.values()
            ),
            positions={turn.id: position for position, turn in enumerate(turns)},
            sessions={turn.id: turn.session for turn in turns},
        )

    def queries(self, texts: Iterable[str]) -> list[Any]:
        """The vector (d,) of each text as a query; None for a blank one."""
        asked = list(texts)
        real = [text for text in asked if not is_blank(text)]
        vectors = dict(zip(real, embed(real, "query", self.embedder, self.cache), strict=True))
        return [vectors.get(text) for text in asked]

    @cached_property
    def _dialogues(self) -> dict[str, list[Dialogue]]:
        return by_scope(self.dataset)

    @cached_property
    def _shelves(self) -> dict[tuple[str, ...], Shelf]:
        return {}

    def __getstate__(self) -> dict[str, Any]:  # what travels to another process
        made = ("_shelves", "_dialogues")
        return {key: value for key, value in self.__dict__.items() if key not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _bank(self, banks: dict[str, Bank], scope: str) -> Bank:
        empty = np.empty((0, self.embedder.dim), np.float32)
        return banks.get(scope) or Bank(scope, (), empty, self.embedder.fingerprint)


def load_bank_set(
    folder: Path, dataset: Dataset, embedder: Embedder, cached: VectorCache
) -> BankSet:
    """The set in a folder. Raises FileNotFoundError where it is removed meanwhile."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise FileNotFoundError(folder)
    facts = np.load(folder / "profile_facts.npy", allow_pickle=False)
    texts = np.load(folder / "profile_texts.npy", allow_pickle=False)
    people: dict[str, dict[str, ProfileVectors]] = {}
    fact, text = 0, 0
    for profile in decode_jsonl(folder / "profiles.jsonl", Profile):
        rows = facts[fact : fact + len(profile.facts)]
        whole = texts[text] if profile.facts else None
        people.setdefault(profile.scope, {})[profile.person] = ProfileVectors(profile, rows, whole)
        fact, text = fact + len(profile.facts), text + bool(profile.facts)
    return BankSet(
        manifest["id"],
        manifest,
        dataset,
        embedder,
        cached,
        load_banks(folder, "episodic", embedder.fingerprint),
        load_banks(folder, "semantic", embedder.fingerprint),
        people,
    )
