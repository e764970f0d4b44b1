"""A model whose replies stand in a file: for tests across processes, and for teaching.

A line of the JSONL file is one rule; the first that fits a request answers it:

    {"when": ["Jo", "memories"], "reply": "Tea."}     every text of `when` is in system or user
    {"pattern": "likes (\\w+)", "reply": "\\1"}       a regular expression finds something; groups
                                                      enter the reply
    {"when": ["slow"], "failure": "timeout"}          the call fails
    {"reply": {"facts": []}}                          no condition: always fits; JSON is written out
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from workbench.errors import DataError, UsageError
from workbench.llm import CallFailure, Reply, Request
from workbench.schema import digest_of

__all__ = ["ScriptedFile", "scripted_file"]


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the file."""

    when: tuple[str, ...] | str = ()
    pattern: str | None = None
    reply: Any = ""
    failure: CallFailure | None = None

    def answer(self, text: str) -> str | None:
        """The reply to a request of that text; None where the rule does not fit."""
        wanted = (self.when,) if isinstance(self.when, str) else self.when
        if not all(piece in text for piece in wanted):
            return None
        reply = self.reply
        written = reply if isinstance(reply, str) else msgspec.json.encode(reply).decode()
        if self.pattern is None:
            return written
        found = re.search(self.pattern, text)
        return found.expand(written) if found else None


class ScriptedFile:
    """The rules of one file. Tokens are counted as words, so that accounts can be tried too."""

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        self.name = name
        self.rules = tuple(rules)

    @property
    def identity(self) -> dict[str, Any]:
        rules = msgspec.to_builtins(self.rules)
        return {"kind": "scripted", "model": self.name, "answers": digest_of(rules)}

    def complete(
        self, requests: Sequence[Request], done: Callable[[int, Reply], None] | None = None
    ) -> list[Reply]:
        """Raises UsageError for a request that no rule fits."""
        replies = []
        for row, request in enumerate(requests):
            replies.append(self._reply(request))
            if done is not None:
                done(row, replies[row])
        return replies

    def _reply(self, request: Request) -> Reply:
        text = f"{request.system}\n{request.user}"
        for rule in self.rules:
            said = rule.answer(text)
            if said is not None:
                return Reply(
                    text=said,
                    failure=rule.failure,
                    tokens_in=len(text.split()),
                    tokens_out=len(said.split()),
                )
        raise UsageError(
            f"no rule of {self.name} fits a request; a last line without `when` and `pattern`, "
            'such as {"reply": "I do not know"}, fits all'
        )


def scripted_file(path: Path) -> ScriptedFile:
    """The rules of a file. Raises DataError naming the line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as a script: {error}") from error
    rules = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            rule = msgspec.json.decode(line, type=Rule)
            re.compile(rule.pattern or "")
        except (msgspec.DecodeError, msgspec.ValidationError, re.error) as error:
            raise DataError(f"{path}, line {number}: {error}") from error
        rules.append(rule)
    if not rules:
        raise DataError(f"{path} holds no rules")
    return ScriptedFile(path.name, rules)
