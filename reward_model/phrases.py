"""Our own word lists, and counting their words and phrases in a text.

A list is `lexicon/NAME.txt`: entries between commas or line ends, each one or more lower-case
words; a line that begins with "#" is a comment. All lists are English: in a text of another
language they find nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

__all__ = ["Phrases", "phrases", "rules_version"]


class Phrases:
    """Words and phrases, found longest first and never overlapping."""

    def __init__(self, entries: Sequence[str]) -> None:
        self.entries = tuple(" ".join(entry.split()) for entry in entries)
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        for entry in sorted({tuple(e.split()) for e in entries}, key=lambda e: (-len(e), e)):
            self._by_first.setdefault(entry[0], []).append(entry)

    def at(self, words: Sequence[str], place: int) -> int:
        """Words of the longest entry that begins at a place; 0 where none does."""
        for entry in self._by_first.get(words[place], ()):
            if tuple(words[place : place + len(entry)]) == entry:
                return len(entry)
        return 0

    def count(self, words: Sequence[str]) -> int:
        """How many entries occur in lower-case words."""
        found = place = 0
        while place < len(words):
            length = self.at(words, place)
            found += length > 0
            place += length or 1
        return found

    def __contains__(self, word: object) -> bool:
        """Whether a single word is an entry."""
        return (word,) in self._by_first.get(str(word), ())


@cache
def phrases(name: str) -> Phrases:
    """The list `lexicon/NAME.txt`."""
    path = files("reward_model").joinpath("lexicon", f"{name}.txt")
    lines = path.read_text(encoding="utf-8").splitlines()
    entries = [e for line in lines if not line.startswith("#") for e in line.split(",")]
    return Phrases([entry for entry in entries if entry.strip()])


@cache
def rules_version(*modules: str) -> str:
    """Digest of modules of this package and of all word lists: other rules, other scores."""
    root = files("reward_model")
    found = hashlib.sha256()
    for module in modules:
        found.update(root.joinpath(f"{module}.py").read_bytes())
    lexicon = sorted(root.joinpath("lexicon").iterdir(), key=lambda path: path.name)
    for path in lexicon:
        if path.name.endswith(".txt"):
            found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]
