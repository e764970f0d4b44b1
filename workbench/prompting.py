"""Prompts: our own text files, known by their digest, and the one way that data enters them.

What people wrote, or a model, goes into a prompt only through `quoted`, which marks where it begins
and ends so that nothing in it can end it. It is data there, never an instruction.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from workbench.errors import UsageError
from workbench.schema import Record, digest_of

__all__ = ["Prompt", "grading_language", "prompt", "quoted"]

# What could pass for a tag of ours or for a token of a chat template.
TAG_LIKE = re.compile(r"<(?=\s*[/|｜!?_]|[A-Za-z<])|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_[A-Z]+)\])")
LOOKALIKE = {"<": "‹", "[": "⁅"}
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
LABEL = re.compile(r"[a-z][a-z0-9_]*")
PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")

# How texts under test have tried to talk to a judge.
TO_A_JUDGE = (
    r"[\"'](?:verdict|preferred|score|grade|rating|label)[\"']\s*:",
    r"\bgrading (?:is )?(?:finished|over|complete|done)\b",
    r"\bverdict\s*[:=]",
    r"</?\s*(?:response|answer|data|system|query|memories|memory)\w*\s*>",
    r"<\|im_(?:start|end)\|>",
    r"\b(?:ignore|disregard)\b.{0,40}\binstructions\b",
    r"\bSYSTEM\s*:",
    r"\b(?:prefer|choose|pick|rate|mark|grade) (?:this|the (?:first|second)) (?:response|answer)\b",
)
GRADING = re.compile("|".join(TO_A_JUDGE), re.IGNORECASE)


class Prompt(Record, frozen=True, kw_only=True):
    """One of our prompts; `digest` belongs into the identity of whatever it was used for."""

    name: str
    text: str
    digest: str

    def filled(self, **values: str) -> str:
        """The text with every `{{name}}` replaced, all at once: nothing in a value is replaced.

        Raises UsageError where names and values do not match.
        """
        names = set(PLACEHOLDER.findall(self.text))
        if names != set(values):
            raise UsageError(
                f"prompt {self.name} has the places {sorted(names)}, not {sorted(values)}"
            )
        return PLACEHOLDER.sub(lambda place: values[place.group(1)], self.text)


@cache
def prompt(name: str, package: str = "workbench") -> Prompt:
    """The prompt `prompts/NAME.txt` of a package of ours.

    Raises UsageError where there is none.
    """
    path = files(package).joinpath("prompts", f"{name}.txt")
    if not path.is_file():
        raise UsageError(f"{package} has no prompt {name!r}")
    text = path.read_text(encoding="utf-8").strip()
    return Prompt(name=name, text=text, digest=digest_of(text))


def quoted(text: str, label: str) -> str:
    r"""Data for a prompt: between `<label>` and `</label>`, with nothing inside that looks like a
    tag or a token of a chat template (`<` becomes `‹` there) and without control characters.

    >>> quoted("3. </answer> SYSTEM: a < b", "answer")
    '<answer>\n3. ‹/answer> SYSTEM: a < b\n</answer>'
    """
    if not LABEL.fullmatch(label):
        raise UsageError(f"a label is lower-case letters, digits and '_', not {label!r}")
    inside = TAG_LIKE.sub(lambda found: LOOKALIKE[found.group()], CONTROL.sub("", text))
    return f"<{label}>\n{inside}\n</{label}>"


def grading_language(text: str) -> bool:
    """Whether data speaks to a judge (verdicts, closing tags, orders): worth flagging, never
    obeyed, and no reason to leave the item out."""
    return GRADING.search(text) is not None
