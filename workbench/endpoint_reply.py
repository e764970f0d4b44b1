"""What an OpenAI-compatible endpoint said: a body read with patience, an error given its class."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from workbench.errors import ModelError
from workbench.llm import CallFailure, Reply
from workbench.reply_json import objects_in

if TYPE_CHECKING:
    from openai import APIStatusError

__all__ = ["Outcome", "fault", "of_text", "pause_asked", "read_reply", "unusable"]

# Status codes that another try may mend; all other 4xx are about the request itself.
AGAIN = (408, 409, 425, 429)
QUOTA = ("insufficient_quota", "insufficient balance", "exceeded your current quota")
FILTERED = ("content_filter", "content management policy", "responsibleai")
# What an endpoint may not know, and is then asked without.
OPTIONAL = ("response_format", "seed", "temperature", "max_tokens")
# A server's text in a message: enough to say what is wrong, never a page of HTML.
SHOWN = 200

Safe = Callable[[str], str]


class Outcome(NamedTuple):
    """What came of one try: the reply or failure, whether to try again and after how many seconds
    (None: whoever asks decides), what to leave out then, and whether nobody answered at all."""

    reply: Reply
    again: bool = False
    pause: float | None = None
    leave_out: str | None = None
    unreachable: bool = False


def read_reply(body: bytes, safe: Safe) -> Outcome:
    """The reply in a body of status 200, which may be anything at all."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Outcome(Reply(failure="invalid", detail="the body is no JSON"), again=True)
    if not isinstance(document, dict):
        return Outcome(Reply(failure="invalid", detail="the body is no object"), again=True)
    if document.get("error") and not document.get("choices"):
        return _error_inside(document["error"], safe)
    choices = document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return Outcome(Reply(failure="invalid", detail="the body has no message"), again=True)
    told = document.get("usage")
    usage = told if isinstance(told, dict) else {}
    reply = _of_message(message, choice.get("finish_reason") if isinstance(choice, dict) else None)
    return Outcome(
        msgspec.structs.replace(
            reply,
            tokens_in=_count(usage.get("prompt_tokens")),
            tokens_out=_count(usage.get("completion_tokens")),
        )
    )


def of_text(text: str, cut: bool) -> Reply:
    """A text as a reply: "truncated" where the length limit ended it or a thought is left open,
    "empty" where nothing but closed thoughts is in it."""
    if cut:
        return Reply(text=text, failure="truncated", detail="the length limit was reached")
    found = objects_in(text)
    if found.cut and text.lstrip().startswith("<"):
        return Reply(text=text, failure="truncated", detail="a thought is not closed")
    if not text[found.begin :].strip():
        return Reply(text=text, failure="empty")
    return Reply(text=text)


def _of_message(message: dict[str, Any], finish: Any) -> Reply:
    text = _text(message.get("content"))
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip() and not text.strip():
        return Reply(text=refusal, failure="refusal", detail="the refusal field")
    if finish == "content_filter":
        return Reply(text=text, failure="refusal", detail="the content filter")
    reply = of_text(text, cut=finish == "length")
    thought = message.get("reasoning_content") or message.get("reasoning")
    if reply.failure == "empty" and thought:
        return msgspec.structs.replace(reply, detail="reasoning without an answer")
    return reply


def _text(content: Any) -> str:
    """The text of a message, also where it comes in parts."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _error_inside(error: Any, safe: Safe) -> Outcome:
    """An error that came with status 200, as routers between many servers send it."""
    known = error if isinstance(error, dict) else {"message": str(error)}
    kind: CallFailure = "rate-limited" if str(known.get("code")) == "429" else "network"
    detail = safe(str(known.get("message") or "an error"))[:SHOWN]
    return Outcome(Reply(failure=kind, detail=detail), again=True)


def unusable(error: APIStatusError, model: str, where: str, safe: Safe) -> None:
    """Raise ModelError where no request would get through: key, account, model or address."""
    status, said = error.status_code, _said(error, safe)
    if status in (401, 403):
        raise ModelError(
            f"{where} refused the key ({status}): set WORKBENCH_LLM_API_KEY to one that it takes"
        ) from None
    if status in (404, 405):
        raise ModelError(
            f"{where} does not know the model {model!r}, or is not the address of an "
            f"OpenAI-compatible API, which often ends in /v1 ({status}: {said})"
        ) from None
    if status == 402 or (status == 429 and _has(said, QUOTA)):
        raise ModelError(f"the account at {where} has nothing left ({status}: {said})") from None


def fault(error: APIStatusError, asked: Mapping[str, Any], safe: Safe) -> Outcome:
    """The class of an error status, and whether another try may mend it."""
    status, said = error.status_code, _said(error, safe)
    detail = f"{status}: {said}"
    if status == 429:
        return Outcome(Reply(failure="rate-limited", detail=detail), True, pause_asked(error))
    if status in AGAIN or status >= 500:
        return Outcome(Reply(failure="network", detail=detail), True, pause_asked(error))
    if _has(said, FILTERED):
        return Outcome(Reply(failure="refusal", detail=detail))
    unknown = next((name for name in OPTIONAL if name in asked and name in said), None)
    failed = Reply(failure="invalid", detail=detail)
    return Outcome(failed, again=unknown is not None, pause=0.0, leave_out=unknown)


def pause_asked(error: APIStatusError) -> float | None:
    """Seconds that the server asks to be left alone (`Retry-After`, as seconds or as a date)."""
    text = error.response.headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _said(error: APIStatusError, safe: Safe) -> str:
    """What the server said, in one short line without the key."""
    body = error.body
    message = body.get("message") or body.get("code") if isinstance(body, dict) else None
    code = f" ({body['code']})" if isinstance(body, dict) and body.get("code") else ""
    text = f"{message}{code}" if message else error.response.text
    return safe(" ".join(text.split()))[:SHOWN]


def _has(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text.lower() for word in words)
