"""First-person sentences as third-person statements: "I love tea" said by Ana -> "Ana loves tea".

The speaker's gender is not known, so the first mention is the name and later ones are "they",
"them" and "their"; where the sentence speaks of other people in the plural, the name is repeated.
"We" becomes "Ana and others" at its first mention. A sentence whose verbs the rules cannot be sure
of gives None: a wrong statement is worse than none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.memory.agreement import agreeing_clause

__all__ = ["third_person"]

SPEAKER = re.compile(
    r"\b(?P<word>I|my|me|mine|myself|we|our|ours|us|ourselves)(?P<short>'m|'ve|'d|'ll|'re)?\b(?!['-])",
    re.IGNORECASE,
)
ADDRESSEE = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
OTHERS = re.compile(r"\b(?:they|them|their|theirs|themselves)\b", re.IGNORECASE)
WE = re.compile(r"\b(?:we|us|our|ours|ourselves)\b", re.IGNORECASE)
INVERTED = re.compile(
    r"\b(?:am|was|were|do|did|have|had|can|could|will|would|should|not)\s$", re.IGNORECASE
)
TOGETHER = re.compile(r"^My (?P<who>(?:[\w-]+ ){1,3})and I\b(?!')")
LATER = {"my": "their", "me": "them", "mine": "theirs", "myself": "themselves", "our": "their"}
LATER |= {"ours": "theirs", "us": "them", "ourselves": "themselves", "we": "they", "i": "they"}
POSSESSIVE = frozenset({"my", "mine", "our", "ours"})


@dataclass
class Naming:
    """How the speaker is named as the sentence goes on."""

    name: str
    repeat: bool  # the name again instead of "they", which others in the sentence bear
    mentioned: bool = False

    def subject(self, word: str) -> tuple[str, bool]:
        """The words for a subject, and whether they take a singular verb."""
        first, self.mentioned = not self.mentioned, True
        if word == "we":
            return (f"{self.name} and others" if first else "they"), False
        return (self.name, True) if first or self.repeat else ("they", False)

    def other(self, word: str) -> str:
        """The words for an object, a possessive or a reflexive."""
        first, self.mentioned = not self.mentioned, True
        if word in POSSESSIVE and (first or (self.repeat and word != "our")):
            return f"{self.name}'s"
        if word in ("me", "us") and (first or self.repeat):
            return self.name if word == "me" else f"{self.name} and others"
        return LATER[word]


def third_person(sentence: str, speaker: str) -> str | None:
    """The sentence as a statement about `speaker`, with a full stop, or None.

    `speaker` "user" is written "the user", because a chat's human has no name there.
    """
    name = "the user" if speaker == "user" else speaker
    naming = Naming(name, repeat=bool(OTHERS.search(sentence) or _mixes_i_and_we(sentence)))
    together = TOGETHER.match(sentence)
    if together:
        naming.mentioned = True
        done, rest = f"{name} and their {together['who'].strip()}", sentence[together.end() :]
    else:
        done, rest = "", sentence
    while match := SPEAKER.search(rest):
        before = done + rest[: match.start()]
        replaced = _replaced(match, before, rest[match.end() :], naming)
        if replaced is None:
            return None
        words, rest = replaced
        done = before + words
    statement = (done + rest).strip()
    if ADDRESSEE.search(statement) or not naming.mentioned:
        return None
    statement = re.sub(r"[\s.!,;:\u2013-]+$", "", statement)
    return statement[:1].upper() + statement[1:] + "."


def _replaced(
    match: re.Match[str], before: str, after: str, naming: Naming
) -> tuple[str, str] | None:
    """What stands for one mention of the speaker, and the rest with its verbs in agreement."""
    word = match["word"].lower()
    if word == "me" and re.search(r"\b(?:be|being|and) $", before):
        return None
    if word not in ("i", "we"):
        return (naming.other(word), after) if not match["short"] else None
    if INVERTED.search(before):
        return None
    joined = re.search(r"\band $", before) is not None and not after.startswith((" am", " was"))
    words, singular = naming.subject(word)
    clause = agreeing_clause(match["short"] or "", after, singular and not _is_pair(before, joined))
    return None if clause is None else (words, clause)


def _is_pair(before: str, joined: bool) -> bool:
    """Whether "and I" shares the verb with the noun before it ("Jo and I run")."""
    return joined and re.search(r"(?:^|\W)(?:[A-Z][\w-]*|my [\w ]+) and $", before) is not None


def _mixes_i_and_we(sentence: str) -> bool:
    return bool(WE.search(sentence)) and re.search(r"\b(?:I|me)\b", sentence) is not None
