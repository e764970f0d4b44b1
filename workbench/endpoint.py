"""Where a language model is asked, with which key, and how patiently: from the environment."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from workbench.errors import ModelError, UsageError
from workbench.schema import Record

__all__ = ["Endpoint", "Limits", "endpoint_of"]

OPENAI = "https://api.openai.com/v1"
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Limits(Record, frozen=True, kw_only=True):
    """How patient the client is: `seconds` for one try, `total` for a request with all its tries
    and pauses, `tries` in all, `concurrency` requests at a time."""

    seconds: float = 120.0
    total: float = 600.0
    tries: int = 5
    concurrency: int = 4


class Endpoint:
    """An address and the key for it. The key is in no text that this object gives of itself."""

    def __init__(self, base_url: str, key: str = "") -> None:
        self.base_url = base_url.strip()
        self.key = key.strip()
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                "WORKBENCH_LLM_BASE_URL is no address: write it like http://127.0.0.1:11434/v1"
            )
        if not (self.key.isascii() and self.key.isprintable()):
            raise ModelError("WORKBENCH_LLM_API_KEY holds characters that are in no key")
        self.local = parts.hostname in LOOPBACK
        port = f":{parts.port}" if parts.port else ""
        # Without user, password and query, where secrets may be.
        self.shown = self.safe(f"{parts.scheme}://{parts.hostname}{port}{parts.path}".rstrip("/"))

    def safe(self, text: str) -> str:
        """A text without the key, should a server have repeated it."""
        return text.replace(self.key, "***") if self.key else text


def endpoint_of(environment: dict[str, str] | None = None) -> tuple[Endpoint, Limits]:
    """The endpoint and limits that the environment names.

    `WORKBENCH_LLM_BASE_URL` (default: OpenAI's own), `WORKBENCH_LLM_API_KEY` (none is needed by
    most local servers; `OPENAI_API_KEY` only for OpenAI's own address), `WORKBENCH_LLM_TIMEOUT`,
    `_TOTAL` (seconds), `_TRIES`, `_CONCURRENCY`.
    """
    given = dict(os.environ) if environment is None else environment
    url = given.get("WORKBENCH_LLM_BASE_URL") or OPENAI
    key = given.get("WORKBENCH_LLM_API_KEY") or ""
    if not key and url == OPENAI:
        key = given.get("OPENAI_API_KEY") or ""
    return Endpoint(url, key), Limits(
        seconds=_number(given, "TIMEOUT", Limits().seconds),
        total=_number(given, "TOTAL", Limits().total),
        tries=int(_number(given, "TRIES", Limits().tries)),
        concurrency=int(_number(given, "CONCURRENCY", Limits().concurrency)),
    )


def _number(given: dict[str, str], name: str, default: float) -> float:
    text = given.get(f"WORKBENCH_LLM_{name}", "").strip()
    try:
        number = float(text) if text else default
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf") or (name in ("TRIES", "CONCURRENCY") and number < 1):
        raise UsageError(f"WORKBENCH_LLM_{name}={text!r} is no positive number")
    return number
