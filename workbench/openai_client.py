"""Any OpenAI-compatible endpoint, through the official `openai` package.

The package does the transport; when to ask again, how long in all, and what a reply means is
decided here. A failure that another try may mend (429, 5xx, a slow or broken connection, a body
that is no JSON) is tried again after the pause that the server asks for, or a growing one, as long
as the total time allows. A wrong key, model or address raises ModelError: no request would get
through.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from workbench.endpoint import Endpoint, Limits
from workbench.endpoint_reply import Outcome, fault, read_reply, unusable
from workbench.errors import ModelError
from workbench.llm import Reply, Request

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["EndpointModel"]

# The pause before the second try, in seconds; it doubles each time, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
# What the transport calls a connection that was never made.
UNREACHABLE = ("ConnectError", "ProxyError", "UnsupportedProtocol")

Done = Callable[[int, Reply], None]


class EndpointModel:
    """A model behind an endpoint."""

    def __init__(self, model: str, endpoint: Endpoint, limits: Limits | None = None) -> None:
        self.model = model
        self.endpoint = endpoint
        self.limits = limits or Limits()
        self._left_out: set[str] = set()  # options that this endpoint has refused
        self._reached = False
        self._resume = 0.0  # when a server that was asked too often wants to be asked again

    @property
    def identity(self) -> dict[str, Any]:
        return {"kind": "openai", "model": self.model, "server": self.endpoint.shown}

    def complete(self, requests: Sequence[Request], done: Done | None = None) -> list[Reply]:
        """One reply for each request; `done` is told of each as it comes, from another thread.

        Raises ModelError where the key, the model or the address is wrong; what had come by then
        has been told.
        """
        if not requests:
            return []
        stopped = threading.Event()
        # In a thread of its own: a notebook or an app has an event loop in this one already.
        with ThreadPoolExecutor(1, "llm") as pool:
            work = pool.submit(asyncio.run, self._all(requests, done, stopped))
            try:
                return work.result()
            except BaseException:
                stopped.set()
                raise

    async def _all(
        self, requests: Sequence[Request], done: Done | None, stopped: threading.Event
    ) -> list[Reply]:
        slots = asyncio.Semaphore(self.limits.concurrency)
        replies: list[Reply] = [Reply()] * len(requests)
        async with self._client() as client:

            async def one(row: int) -> None:
                async with slots:
                    replies[row] = await self._one(client, requests[row])
                if done is not None:
                    done(row, replies[row])

            work = [asyncio.ensure_future(one(row)) for row in range(len(requests))]
            left: set[asyncio.Future[None]] = set(work)
            try:
                while left and not stopped.is_set():
                    ended, left = await asyncio.wait(
                        left, timeout=0.2, return_when=asyncio.FIRST_EXCEPTION
                    )
                    for task in ended:
                        task.result()
            finally:
                for task in left:
                    task.cancel()
                await asyncio.gather(*left, return_exceptions=True)
        return replies

    def _client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        try:
            # A proxy of the environment is for the world outside, not for this machine.
            http = DefaultAsyncHttpxClient(trust_env=not self.endpoint.local)
        except (ImportError, ValueError) as error:
            raise ModelError(f"the proxy settings cannot be used: {error}") from None
        return AsyncOpenAI(
            base_url=self.endpoint.base_url,
            api_key=self.endpoint.key or "none",
            max_retries=0,
            timeout=self.limits.seconds,
            http_client=http,
        )

    async def _one(self, client: AsyncOpenAI, request: Request) -> Reply:
        """A request until it has a reply, or no try or time is left."""
        began = time.monotonic()
        outcome = Outcome(Reply(failure="timeout", detail="no time left for a try"))
        tried = 0
        while True:
            await self._wait(began)
            left = began + self.limits.total - time.monotonic()
            if left <= 0:
                break
            outcome = await self._try(client, request, min(left, self.limits.seconds))
            if outcome.leave_out and outcome.leave_out not in self._left_out:
                self._left_out.add(outcome.leave_out)
                continue
            tried += 1
            if not outcome.again or tried >= self.limits.tries:
                break
            pause = outcome.pause
            if pause is None:
                pause = min(FIRST_PAUSE * 2 ** (tried - 1), LONGEST_PAUSE)
                pause *= random.uniform(0.75, 1.0)
            if time.monotonic() + pause >= began + self.limits.total:
                break
            if outcome.reply.failure == "rate-limited":
                self._resume = max(self._resume, time.monotonic() + pause)
            else:
                await asyncio.sleep(pause)
        if outcome.unreachable and not self._reached:
            raise ModelError(
                f"nothing answers at {self.endpoint.shown} ({outcome.reply.detail}); check "
                "WORKBENCH_LLM_BASE_URL, and whether the server is running"
            )
        return _timed(outcome.reply, time.monotonic() - began)

    async def _wait(self, began: float) -> None:
        """Until the server wants to be asked again, but no longer than the total time."""
        until = min(self._resume, began + self.limits.total)
        await asyncio.sleep(max(0.0, until - time.monotonic()))

    async def _try(self, client: AsyncOpenAI, request: Request, seconds: float) -> Outcome:
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        asked = self._asked(request)
        try:
            # The client's own timeout is between two bytes: a server that drips never meets it.
            async with asyncio.timeout(seconds):
                raw = await client.chat.completions.with_raw_response.create(**asked)
            self._reached = True
            return read_reply(raw.content, self.endpoint.safe)
        except (TimeoutError, APITimeoutError):
            detail = f"no whole reply within {seconds:g} s"
            return Outcome(Reply(failure="timeout", detail=detail), again=True)
        except APIStatusError as error:
            self._reached = True
            unusable(error, self.model, self.endpoint.shown, self.endpoint.safe)
            return fault(error, asked, self.endpoint.safe)
        except APIConnectionError as error:
            kind = type(error.__cause__ or error).__name__
            failed = Reply(failure="network", detail=kind)
            return Outcome(failed, again=True, unreachable=kind in UNREACHABLE)

    def _asked(self, request: Request) -> dict[str, Any]:
        """The call's arguments, without what the endpoint has refused."""
        messages = [{"role": "user", "content": request.user}]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        wanted: dict[str, Any] = {
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "seed": request.seed,
        }
        if request.json_object:
            wanted["response_format"] = {"type": "json_object"}
        kept = {name: value for name, value in wanted.items() if name not in self._left_out}
        if "max_tokens" in self._left_out:  # the newer name of the same bound
            kept["max_completion_tokens"] = request.max_tokens
        return {"model": self.model, "messages": messages, **kept}


def _timed(reply: Reply, seconds: float) -> Reply:
    from msgspec.structs import replace

    return replace(reply, seconds=round(seconds, 3))
