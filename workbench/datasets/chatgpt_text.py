"""The text of a ChatGPT message: strings as they are, pictures and recordings as placeholders."""

from __future__ import annotations

from collections import Counter
from typing import Any

__all__ = ["text_of"]

TRANSCRIPT = "audio_transcription"
RECORDINGS = frozenset({"audio_asset_pointer", "real_time_user_audio_video_asset_pointer"})
PLACEHOLDERS = {"image_asset_pointer": "[image]", **dict.fromkeys(RECORDINGS, "[audio]")}
# Where content types other than text keep what they say.
TEXT_FIELDS = ("text", "user_profile", "user_instructions", "result", "content")


def text_of(content: Any, unknown: Counter[str]) -> str:
    """The text of a message's `content`; "" where there is none.

    Strings of `parts` are joined by line breaks, and a placeholder to its neighbours by a space.
    Types that are not known are counted in `unknown`; parts of one appear as "[TYPE]".
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, dict):
        return ""
    parts = content.get("parts")
    if isinstance(parts, list):
        return _joined(parts, unknown)
    if parts is not None:
        unknown[f"parts: {type(parts).__name__}"] += 1
    return "\n".join(content[field] for field in TEXT_FIELDS if isinstance(content.get(field), str))


def _joined(parts: list[Any], unknown: Counter[str]) -> str:
    # A transcript says what its recording says.
    transcribed = any(_type(part) == TRANSCRIPT for part in parts)
    text = ""
    after_placeholder = False
    for part in parts:
        if transcribed and _type(part) in RECORDINGS:
            continue
        piece, is_placeholder = _piece(part, unknown)
        if piece and text:
            text += " " if is_placeholder or after_placeholder else "\n"
        text += piece
        after_placeholder = is_placeholder if piece else after_placeholder
    return text


def _piece(part: Any, unknown: Counter[str]) -> tuple[str, bool]:
    """A part's text, and whether it is a placeholder."""
    if part is None or isinstance(part, str):
        return part or "", False
    kind = _type(part)
    if kind == TRANSCRIPT and isinstance(part.get("text"), str):
        return part["text"], False
    if kind not in PLACEHOLDERS:
        unknown[kind] += 1
    return PLACEHOLDERS.get(kind, f"[{kind}]"), True


def _type(part: Any) -> str:
    """A part's content type, or the name of its JSON type where it states none."""
    kind = part.get("content_type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) and kind else type(part).__name__
