"""What a run is called: two runs that differ are told apart in the list."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from workbench.run_list import apart, settings
from workbench.schema import Recipe

RECIPE = msgspec.to_builtins(Recipe(prior="none", lam=1.0, k=25))
QWEN = {"kind": "transformers", "model": "qwen"}


def manifest(**identity: Any) -> dict[str, Any]:
    return {"kind": "evaluate", "identity": {"recipe": RECIPE, "split": "validation", **identity}}


@pytest.mark.parametrize(
    ("identity", "said"),
    [
        ({"answerer": "extractive", "context": ""}, "extractive answers"),
        ({"answerer": "llm", "llm": QWEN, "context": "oracle"}, "qwen answers (oracle context)"),
        ({"answerer": "llm", "llm": QWEN, "context": "empty"}, "qwen answers (empty context)"),
        ({"rewriter": "prompted"}, "rewriter prompted"),
        ({"rewriter": {"name": "trained", "identity": {}}}, "rewriter trained"),  # of recall
        ({"rewriter": {"kind": "untrained", "model": "qwen"}}, "rewriter untrained"),  # of evaluate
    ],
)
def test_who_answered_from_what_and_in_whose_words(identity: dict[str, Any], said: str) -> None:
    assert settings(manifest(**identity)).split(", ")[-1] == said


def test_the_questions_own_words_are_not_mentioned() -> None:
    for rewriter in ("identity", {"name": "identity"}, None):
        assert "rewriter" not in settings(manifest(rewriter=rewriter))


def test_two_contexts_are_told_apart() -> None:
    one, other = (
        manifest(answerer="llm", llm=QWEN, context=context) for context in ("oracle", "empty")
    )
    assert apart(one, other) == ("qwen answers (oracle context)", "qwen answers (empty context)")
