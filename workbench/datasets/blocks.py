"""Content blocks of a chat message, as Claude and LibreChat write them."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

__all__ = ["Blocks", "listed", "read_blocks", "spoken"]

THOUGHTS = frozenset({"think", "thinking", "redacted_thinking"})
TOOLS = {"tool_use": "tool", "tool_call": "tool", "tool_result": "tool result"}


class Blocks(NamedTuple):
    """What the blocks hold: text, placeholders of tools, placeholders of anything unknown."""

    text: str
    tools: str
    unknown: str


def read_blocks(content: Any, unknown: Counter[str]) -> Blocks:
    """Sort the blocks of a message; unknown types are counted in `unknown`, thoughts left out."""
    texts, tools, others = [], [], []
    for block in listed(content):
        kind = _type(block)
        if kind == "text" and (text := _text(block)) is not None:
            texts.append(text)
        elif kind in TOOLS:
            tools.append(f"[{_tool(block, TOOLS[kind])}]")
        elif kind not in THOUGHTS:
            unknown[kind] += 1
            others.append(f"[{kind}]")
    return Blocks("\n".join(filter(None, texts)), " ".join(tools), " ".join(others))


def spoken(text: object, blocks: Blocks) -> str:
    """A message's text: its own where it has any, else that of its blocks."""
    return text if isinstance(text, str) and text.strip() else blocks.text


def listed(value: Any) -> list[Any]:
    """A list as it is, and anything else as an empty one."""
    return value if isinstance(value, list) else []


def _type(block: Any) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) and kind else type(block).__name__


def _text(block: dict[str, Any]) -> str | None:
    text = block.get("text")
    value = text.get("value") if isinstance(text, dict) else text
    return value if isinstance(value, str) else None


def _tool(block: dict[str, Any], label: str) -> str:
    """The label with the name of the tool, where the block states one: "tool search"."""
    call = block.get("tool_call")
    name = (call if isinstance(call, dict) else block).get("name")
    return f"{label} {name}" if isinstance(name, str) and name else label
