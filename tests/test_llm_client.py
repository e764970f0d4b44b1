"""The client of endpoints against a real server that misbehaves, the reply cache, and accounts."""

from __future__ import annotations

import email.utils
import json
import pickle
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pydantic
import pytest

from server import Bad, Turn, completion, failure, serving
from shell import ended, environment, started, workbench, write_rows
from workbench.chat_models import llm_spec, open_llm
from workbench.endpoint import Endpoint, Limits, endpoint_of
from workbench.errors import DataError, ModelError, UsageError, WorkspaceError
from workbench.llm import Reply, Request
from workbench.openai_client import EndpointModel
from workbench.replies import ReplyFailure, ask_structured
from workbench.reply_cache import ReplyCache, reply_key
from workbench.workspace import Workspace

KEY = "sk-very-secret-0123456789"
QUICK = Limits(seconds=0.6, total=4.0, tries=3, concurrency=4)
ASK = Request(system="Be brief.", user="Who likes tea?")


def one(url: str, limits: Limits = QUICK, request: Request = ASK, key: str = KEY) -> Reply:
    return EndpointModel("m", Endpoint(url, key), limits).complete([request])[0]


def refused_port() -> int:
    """A port of this machine that nothing listens at."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


# ---------------------------------------------------------------- what one reply means

BODIES: list[tuple[str, str, str | None, str]] = [
    ("plain", completion("Ana."), None, "Ana."),
    ("parts", completion([{"type": "text", "text": "An"}, {"text": "a."}]), None, "Ana."),
    ("empty", completion(""), "empty", ""),
    ("null", completion(None), "empty", ""),
    ("blank", completion(" \n"), "empty", " \n"),
    ("reasoning alone", completion("", reasoning_content="Ana, I think"), "empty", ""),
    ("reasoning field", completion("", reasoning="Ana"), "empty", ""),
    ("a thought alone", completion("<think>Ana</think>"), "empty", "<think>Ana</think>"),
    ("a thought, then", completion("<think>Bo?</think>Ana"), None, "<think>Bo?</think>Ana"),
    ("an open thought", completion("<think>Ana, for"), "truncated", "<think>Ana, for"),
    ("cut by length", completion("Ana is", "length"), "truncated", "Ana is"),
    ("cut in thought", completion("", "length", reasoning_content="A"), "truncated", ""),
    ("filtered", completion("", "content_filter"), "refusal", ""),
    ("refusal field", completion(None, refusal="I can't."), "refusal", "I can't."),
    ("null refusal", completion("Ana.", refusal=None), None, "Ana."),
]


@pytest.mark.parametrize(("body", "failed", "text"), [b[1:] for b in BODIES], ids=lambda v: None)
def test_a_body_is_read(body: str, failed: str | None, text: str) -> None:
    with serving(Bad(body=body)) as server:
        reply = one(server.url)
    assert (reply.failure, reply.text) == (failed, text)
    assert (reply.tokens_in, reply.tokens_out) == (7, 3)
    assert server.hits == 1  # what the model said is not asked for again here


def test_a_missing_usage_counts_nothing() -> None:
    choices = [{"message": {"content": "Ana"}}]
    body = {"choices": choices, "usage": {"prompt_tokens": "x"}}
    with serving(Bad(body=json.dumps(body))) as server:
        reply = one(server.url)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("Ana", 0, 0)


def test_the_request_is_sent_as_it_is() -> None:
    asked = Request(system="S", user="U", max_tokens=9, temperature=0.5, seed=4, json_object=True)
    with serving("yes") as server:
        one(server.url, request=asked)
        one(server.url, request=Request(system="", user="U"))
    assert server.paths == ["/v1/chat/completions"] * 2
    assert server.asked[0] == {
        "model": "m",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
        "max_tokens": 9,
        "temperature": 0.5,
        "seed": 4,
        "response_format": {"type": "json_object"},
    }
    assert [m["role"] for m in server.asked[1]["messages"]] == ["user"]
    assert "response_format" not in server.asked[1]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


# ---------------------------------------------------------------- failures that may pass

PASSING: list[tuple[str, Turn, str]] = [
    ("429", Bad(429, failure("slow down")), "rate-limited"),
    ("500", Bad(500, "<html>oops</html>"), "network"),
    ("503", Bad(503, ""), "network"),
    ("529", Bad(529, failure("overloaded")), "network"),
    ("408", Bad(408, failure("late")), "network"),
    ("no JSON", Bad(200, "<html>hello</html>"), "invalid"),
    ("half a JSON", Bad(200, completion("Ana")[:-9]), "invalid"),
    ("a list", Bad(200, "[]"), "invalid"),
    ("no choices", Bad(200, '{"choices": []}'), "invalid"),
    ("odd choices", Bad(200, '{"choices": [{"message": null}]}'), "invalid"),
    ("cut off", Bad(200, completion("Ana"), cut=20), "network"),
    ("hung up", Bad(200, completion("Ana"), cut=len(completion("Ana"))), "network"),
    ("slow", Bad(200, completion("Ana"), wait=1.5), "timeout"),
    ("dripping", Bad(200, completion("Ana"), drip=0.05), "timeout"),
    ("error in 200", Bad(200, failure("no provider", "502")), "network"),
    ("429 in 200", Bad(200, failure("too many", "429")), "rate-limited"),
]


@pytest.mark.parametrize(("turn", "failed"), [p[1:] for p in PASSING], ids=[p[0] for p in PASSING])
def test_a_passing_failure_is_tried_again(turn: Turn, failed: str) -> None:
    with serving(turn, "Ana.") as server:
        assert one(server.url).text == "Ana."
        assert server.hits == 2
    with serving(turn) as server:
        reply = one(server.url, Limits(seconds=0.3, total=5.0, tries=2))
    assert (reply.failure, reply.text, server.hits) == (failed, "", 2)
    assert reply.detail


def test_retry_after_in_seconds_is_kept() -> None:
    with serving(Bad(429, failure("x"), (("Retry-After", "1.2"),)), "Ana.") as server:
        assert one(server.url).failure is None
    assert 1.1 < server.times[1] - server.times[0] < 3


def test_retry_after_as_a_date_is_kept() -> None:
    # Made when it is asked; dates have whole seconds.
    def late(asked: dict[str, Any]) -> Bad:
        date = email.utils.formatdate(time.time() + 2, usegmt=True)
        return Bad(503, "{}", (("Retry-After", date),)) if server.hits == 1 else Bad(body=body)

    body = completion("Ana.")
    with serving(late) as server:
        assert one(server.url, Limits(seconds=2, total=6)).failure is None
    assert 0.9 < server.times[1] - server.times[0] < 4


@pytest.mark.parametrize("asked", ["3600", "inf", "Fri, 31 Dec 2100 00:00:00 GMT"])
def test_a_pause_beyond_the_total_time_is_not_begun(asked: str) -> None:
    began = time.monotonic()
    with serving(Bad(429, failure("x"), (("Retry-After", asked),))) as server:
        assert one(server.url).failure == "rate-limited"
    assert server.hits == 1
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("asked", ["", "soon", "-5", "nan"])
def test_a_senseless_retry_after_is_a_growing_pause(asked: str) -> None:
    with serving(Bad(429, failure("x"), (("Retry-After", asked),)), "Ana.") as server:
        assert one(server.url).text == "Ana."


def test_a_busy_server_is_left_alone_by_all_requests() -> None:
    turns: list[Turn] = [Bad(429, failure("x"), (("Retry-After", "1"),)), "a"]
    with serving(*turns) as server:
        model = EndpointModel("m", Endpoint(server.url), Limits(total=9, concurrency=1))
        model.complete([Request(system="", user=str(n)) for n in range(3)])
        assert server.times[1] - server.times[0] > 0.9
        assert server.hits == 4


def test_the_total_time_bounds_everything() -> None:
    began = time.monotonic()
    with serving(Bad(500, "{}", wait=0.3)) as server:
        reply = one(server.url, Limits(seconds=5, total=1.5, tries=100))
    assert reply.failure == "network"
    assert time.monotonic() - began < 4
    assert 2 <= server.hits <= 5


def test_no_more_requests_at_once_than_allowed() -> None:
    with serving(Bad(200, completion("a"), wait=0.1)) as server:
        model = EndpointModel("m", Endpoint(server.url), Limits(concurrency=3))
        replies = model.complete([Request(system="", user=str(n)) for n in range(9)])
    assert [reply.text for reply in replies] == ["a"] * 9
    assert 2 <= server.most_busy <= 3


def test_replies_stand_in_the_order_of_their_requests() -> None:
    def echo(asked: dict[str, Any]) -> str:
        said = asked["messages"][-1]["content"]
        time.sleep(0.1 if said == "0" else 0)
        return said

    with serving(echo) as server:
        model = EndpointModel("m", Endpoint(server.url), Limits(concurrency=5))
        replies = model.complete([Request(system="", user=str(n)) for n in range(9)])
    assert [reply.text for reply in replies] == [str(n) for n in range(9)]


# ---------------------------------------------------------------- what an endpoint cannot do


@pytest.mark.parametrize("status", [400, 422])
def test_options_that_are_refused_are_left_out(status: int) -> None:
    def picky(asked: dict[str, Any]) -> str | Bad:
        for name in ("seed", "response_format", "max_tokens", "temperature"):
            if name in asked:
                return Bad(status, failure(f"Unsupported parameter: '{name}'"))
        return "Ana."

    with serving(picky) as server:
        model = EndpointModel("m", Endpoint(server.url), Limits(tries=1, total=9))
        asked = Request(system="", user="U", max_tokens=9, json_object=True)
        assert model.complete([asked])[0].text == "Ana."
        assert model.complete([asked])[0].text == "Ana."
    assert server.hits == 6  # four refusals, then none any more
    assert server.asked[-1]["max_completion_tokens"] == 9


def test_a_bad_request_is_a_failure_of_that_request_alone() -> None:
    def picky(asked: dict[str, Any]) -> str | Bad:
        long = "long" in asked["messages"][-1]["content"]
        return Bad(400, failure("maximum context length is 8", "context_length")) if long else "a"

    with serving(picky) as server:
        model = EndpointModel("m", Endpoint(server.url), QUICK)
        long, short = model.complete([Request(system="", user=u) for u in ("long", "short")])
    assert (long.failure, short.text, server.hits) == ("invalid", "a", 2)
    assert "maximum context length" in long.detail


def test_a_filtered_prompt_is_a_refusal() -> None:
    with serving(Bad(400, failure("the content management policy", "content_filter"))) as server:
        assert one(server.url).failure == "refusal"
    assert server.hits == 1


class Facts(pydantic.BaseModel):
    facts: list[str]


STRUCTURED: list[tuple[Any, str | list[str]]] = [
    ('Here you go:\n```json\n{"facts":["likes tea"]}\n```', ["likes tea"]),
    ('<think>{"facts":["WRONG"]}</think>{"facts":["likes tea"]}', ["likes tea"]),
    ('{"facts":["writes ```json in notes"]}', ["writes ```json in notes"]),
    ('{"facts":["likes tea",],}', ["likes tea"]),
    ("", "empty"),
    ("I can't help with that.", "refusal"),
    ('{"memory":["likes tea"]}', "wrong schema"),
    ('{"facts":"likes tea"}', "wrong schema"),
    ('{"facts":["likes', "truncated"),
]


@pytest.mark.parametrize(("content", "outcome"), STRUCTURED)
def test_structured_replies_through_the_client(content: Any, outcome: str | list[str]) -> None:
    with serving(content) as server:
        model = EndpointModel("m", Endpoint(server.url), QUICK)
        [answer] = ask_structured(model, [ASK], Facts)
    if isinstance(outcome, str):
        assert isinstance(answer, ReplyFailure) and answer.kind == outcome
        assert server.hits == 2  # asked again once, in other words
    else:
        assert isinstance(answer, Facts) and answer.facts == outcome


# ---------------------------------------------------------------- what nothing would mend

HOPELESS: list[tuple[Bad, str]] = [
    (Bad(401, failure(f"Incorrect API key provided: {KEY}")), "refused the key"),
    (Bad(403, failure(f"{KEY} may not")), "refused the key"),
    (Bad(404, failure(f"model m not found for {KEY}")), "does not know the model"),
    (Bad(402, failure("pay")), "nothing left"),
    (Bad(429, failure("You exceeded it", "insufficient_quota")), "nothing left"),
]


@pytest.mark.parametrize(("bad", "said"), HOPELESS)
def test_a_hopeless_call_ends_at_once_without_showing_the_key(bad: Bad, said: str) -> None:
    with serving(bad) as server:
        try:
            one(server.url)
            raise AssertionError("nothing was raised")
        except ModelError as error:
            shown = "".join(traceback.format_exception(error))
    assert said in shown and server.hits == 1
    assert KEY not in shown
    assert ModelError.exit_code == 5


def test_a_key_that_a_server_repeats_is_in_no_reply() -> None:
    with serving(Bad(400, failure(f"bad header {KEY}"))) as server:
        assert KEY not in repr(one(server.url))
    model = EndpointModel("m", Endpoint(f"http://user:{KEY}@127.0.0.1:9/v1?k={KEY}", KEY))
    assert model.identity["server"] == "http://127.0.0.1:9/v1"
    assert KEY not in repr(vars(model)) + repr(model.identity)


def test_nobody_there_is_told_so() -> None:
    began = time.monotonic()
    with pytest.raises(ModelError, match="nothing answers at http://127"):
        one(f"http://127.0.0.1:{refused_port()}/v1")
    assert time.monotonic() - began < 6


def test_a_server_that_goes_away_is_a_failure_of_the_requests() -> None:
    with serving("Ana.") as server:
        model = EndpointModel("m", Endpoint(server.url), Limits(tries=2, total=5))
        assert model.complete([ASK])[0].text == "Ana."
    assert model.complete([ASK])[0].failure == "network"


def test_a_proxy_is_for_the_world_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    dead = f"http://127.0.0.1:{refused_port()}"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, dead)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving("Ana.") as server:
        assert one(server.url).text == "Ana."
    with pytest.raises(ModelError, match="nothing answers at http://models"):
        one("http://models.invalid/v1", Limits(tries=1, total=4))


def test_a_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving("Ana.") as server:
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
        assert one("http://models.invalid/v1").text == "Ana."
    assert server.paths == ["http://models.invalid/v1/chat/completions"]


def test_it_works_where_an_event_loop_runs() -> None:
    import asyncio

    async def cell() -> Reply:
        return one(server.url)

    with serving("Ana.") as server:
        assert asyncio.run(cell()).text == "Ana."


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("BASE_URL", "localhost:11434", UsageError),
        ("API_KEY", "sk-€", ModelError),
        ("TIMEOUT", "soon", UsageError),
        ("TOTAL", "-1", UsageError),
        ("TRIES", "0.5", UsageError),
        ("CONCURRENCY", "0", UsageError),
        ("TIMEOUT", "nan", UsageError),
    ],
)
def test_settings_that_cannot_be_meant(name: str, value: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=f"WORKBENCH_LLM_{name}") as raised:
        endpoint_of({f"WORKBENCH_LLM_{name}": value})
    assert "sk-" not in str(raised.value)


def test_a_key_for_openai_goes_nowhere_else() -> None:
    elsewhere = {"OPENAI_API_KEY": KEY, "WORKBENCH_LLM_BASE_URL": "http://127.0.0.1:1/v1"}
    assert endpoint_of(elsewhere)[0].key == ""
    assert endpoint_of({"OPENAI_API_KEY": KEY})[0].key == KEY
    assert endpoint_of({"WORKBENCH_LLM_TOTAL": "30"})[1].total == 30


# ---------------------------------------------------------------- cache and accounts


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Point the environment at a server."""

    def point(url: str) -> None:
        monkeypatch.setenv("WORKBENCH_LLM_BASE_URL", url)
        monkeypatch.setenv("WORKBENCH_LLM_API_KEY", KEY)

    return point


def test_a_second_run_makes_no_call(workspace: Workspace, at: Any) -> None:
    asked = [Request(system="", user=text) for text in ("a", "b", "a")]
    with serving("x") as server:
        at(server.url)
        first = open_llm("openai:m", workspace)
        told = first.complete(asked)
        assert server.hits == 2  # equal requests are one
        assert first.usage.record["calls"] == 2 and first.usage.cached == 1
        second = open_llm("openai:m", workspace)
        assert second.complete(asked) == told
        assert server.hits == 2
        assert (second.usage.calls, second.usage.cached, second.usage.tokens_in) == (0, 3, 0)
        for other in (
            Request(system="s", user="a"),
            Request(system="", user="a", max_tokens=9),
            Request(system="", user="a", temperature=0.1),
            Request(system="", user="a", seed=1),
            Request(system="", user="a", json_object=True),
        ):
            second.complete([other])
        open_llm("openai:n", workspace).complete(asked[:1])
        assert server.hits == 8  # each of them is another question


def test_failures_are_not_kept(workspace: Workspace, at: Any) -> None:
    with serving(Bad(body=completion("")), Bad(body=completion("", "length")), "Ana.") as server:
        at(server.url)
        model = open_llm("openai:m", workspace)
        got = [model.complete([ASK])[0] for _ in range(4)]
    assert [reply.failure for reply in got] == ["empty", "truncated", None, None]
    assert server.hits == 3
    assert model.usage.failures == {"empty": 1, "truncated": 1}
    assert model.usage.tokens_in == 21


def test_what_came_before_a_stop_is_kept(workspace: Workspace, at: Any) -> None:
    def then_refuse(asked: dict[str, Any]) -> str | Bad:
        if asked["messages"][-1]["content"] == "last":
            return Bad(401, "{}", wait=0.5)
        return "x"

    asked = [Request(system="", user=text) for text in ("a", "b", "last")]
    with serving(then_refuse) as server:
        at(server.url)
        with pytest.raises(ModelError, match="refused the key"):
            open_llm("openai:m", workspace).complete(asked)
        hits = server.hits
        assert open_llm("openai:m", workspace).complete(asked[:2])[1].text == "x"
        assert server.hits == hits == 3


def test_cost_and_no_cost(workspace: Workspace, at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("x") as server:
        at(server.url)
        model = open_llm("openai:m", workspace)
        model.complete([ASK])
        assert model.usage.record["cost"] is None
        monkeypatch.setenv("WORKBENCH_LLM_PRICES", "1000000, 2000000")
        paid = open_llm("openai:other", workspace)
        paid.complete([ASK])
    assert paid.usage.cost == 7 * 1 + 3 * 2
    for wrong in ("1", "1,2,3", "-1,2", "a,b", "nan,1"):
        monkeypatch.setenv("WORKBENCH_LLM_PRICES", wrong)
        with pytest.raises(UsageError, match="WORKBENCH_LLM_PRICES"):
            open_llm("openai:m", workspace)


@pytest.mark.parametrize(
    "damage",
    ["reply = 'x'", "reply = x'7b'", "checksum = 1", "reply = NULL", "reply = substr(reply, 3)"],
)
def test_a_damaged_row_is_a_miss(workspace: Workspace, damage: str) -> None:
    cache = ReplyCache(workspace.folder("cache"))
    key = reply_key({"m": 1}, ASK)
    assert cache.keep(key, Reply(text="Ana.")) == Reply(text="Ana.")
    with sqlite3.connect(cache.path) as database:
        if "NULL" in damage:
            database.execute("DELETE FROM replies")
        else:
            database.execute(f"UPDATE replies SET {damage}")
    database.close()
    assert cache.read([key]) == {}
    assert cache.keep(key, Reply(text="Bo.")) == Reply(text="Bo.")
    assert cache.read([key]) == {key: Reply(text="Bo.")}
    cache.close()


def test_a_damaged_file_is_named(workspace: Workspace) -> None:
    workspace.folder("cache").mkdir(parents=True)
    (workspace.folder("cache") / "replies.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(WorkspaceError, match=r"replies\.sqlite is unusable"):
        ReplyCache(workspace.folder("cache"))


def test_reading_only_keeps_nothing(workspace: Workspace) -> None:
    folder = workspace.folder("cache")
    assert ReplyCache(folder, read_only=True).read(["x"]) == {}
    assert not folder.exists()
    kept = ReplyCache(folder)
    kept.keep("x", Reply(text="Ana."))
    kept.close()
    reading = ReplyCache(folder, read_only=True)
    assert reading.read(["x"]) == {"x": Reply(text="Ana.")}
    assert reading.keep("y", Reply(text="Bo.")).text == "Bo."
    assert len(reading) == 1
    reading.close()


def test_the_first_reply_counts_among_threads(workspace: Workspace) -> None:
    cache, other = ReplyCache(workspace.folder("cache")), ReplyCache(workspace.folder("cache"))
    with ThreadPoolExecutor(8) as pool:
        kept = list(
            pool.map(lambda n: (cache, other)[n % 2].keep("x", Reply(text=str(n))), range(40))
        )
    assert len({reply.text for reply in kept}) == 1
    assert len(cache) == 1
    cache.close()
    other.close()


def test_nothing_asked_is_stored_and_no_key(workspace: Workspace, at: Any) -> None:
    with serving("Ana.") as server:
        at(server.url)
        model = open_llm("openai:m", workspace)
        model.complete([Request(system="", user="Ana wants a hamster")])
        copy = pickle.loads(pickle.dumps(model))
        assert copy.identity == model.identity
        assert KEY.encode() not in pickle.dumps(model)
        model.cache.close()
        copy.cache.close()
    stored = b"".join(p.read_bytes() for p in workspace.root.rglob("*") if p.is_file())
    assert b"Ana." in stored
    assert b"hamster" not in stored and KEY.encode() not in stored


# ---------------------------------------------------------------- names


def test_what_a_spec_names(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> None:
    monkeypatch.delenv("WORKBENCH_LLM_MODEL", raising=False)
    with pytest.raises(UsageError, match="WORKBENCH_LLM_MODEL"):
        llm_spec(None)
    monkeypatch.setenv("WORKBENCH_LLM_MODEL", "qwen2.5:0.5b")
    assert llm_spec(None) == "openai:qwen2.5:0.5b"
    monkeypatch.setenv("WORKBENCH_LLM_MODEL", "hf:x")
    assert llm_spec(None) == "hf:x"
    for wrong in ("gpt-4o-mini", "openai:", "openai: ", "ollama:x", ""):
        with pytest.raises(UsageError, match="openai:MODEL"):
            open_llm(wrong, workspace)


def test_a_script(tmp_path: Path, workspace: Workspace) -> None:
    script = tmp_path / "script.jsonl"
    lines = [
        {"when": ["Jo", "tea"], "reply": {"facts": ["Jo likes tea"]}},
        {"pattern": r"likes (\w+)", "reply": r"\1!"},
        {"when": "slow", "failure": "timeout"},
        {"reply": "I do not know"},
    ]
    script.write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    model = open_llm(f"scripted:{script}", workspace)
    users = ("Does Jo like tea?", "Bo likes cats", "slow", "What?")
    got = model.complete([Request(system="", user=user) for user in users])
    assert [reply.text for reply in got] == [
        '{"facts":["Jo likes tea"]}',
        "cats!",
        "",
        "I do not know",
    ]
    assert [reply.failure for reply in got] == [None, None, "timeout", None]
    assert open_llm(f"scripted:{script}", workspace).complete([ASK])[0].text == "tea!"
    before = model.identity
    script.write_text(json.dumps(lines[0]), encoding="utf-8")
    changed = open_llm(f"scripted:{script}", workspace)
    assert changed.identity != before
    with pytest.raises(UsageError, match="no rule of script"):
        changed.complete([ASK])
    for wrong in ("", "{}x", '{"reply": 1, "wen": []}', '{"pattern": "("}', '{"failure": "late"}'):
        script.write_text(wrong, encoding="utf-8")
        with pytest.raises(DataError, match="script"):
            open_llm(f"scripted:{script}", workspace)


# ---------------------------------------------------------------- the command line


ASKING = """
from workbench.chat_models import open_llm
from workbench.llm import Request
from workbench.workspace import Workspace
model = open_llm(None, Workspace())
print([model.complete([Request(system="", user=str(n))])[0].text for n in range(20)])
"""


def test_two_processes_at_once_go_on_with_the_same_replies(tmp_path: Path) -> None:
    number = iter(range(1000))
    with serving(lambda asked: str(next(number))) as server:
        given = environment(
            WORKBENCH_HOME=str(tmp_path),
            WORKBENCH_LLM_BASE_URL=server.url,
            WORKBENCH_LLM_MODEL="m",
        )
        run = [sys.executable, "-c", ASKING]
        running = [subprocess.Popen(run, env=given, stdout=subprocess.PIPE) for _ in range(2)]
        first, second = (process.communicate(timeout=30)[0] for process in running)
    assert first == second
    assert first.count(b"'") == 40


def test_checking_a_model(tmp_path: Path) -> None:
    with serving("ready") as server:
        given = {"WORKBENCH_LLM_BASE_URL": server.url, "WORKBENCH_LLM_API_KEY": KEY}
        home = tmp_path / "home"
        done = workbench(home, "model", "check", "--llm", "openai:m", "--json", **given)
        assert done.code == 0 and done.json["works"] is True
        assert done.json["identity"]["server"] == server.url
        assert KEY not in done.out + done.err
    with serving(Bad(401, failure(f"no {KEY}"))) as server:
        given["WORKBENCH_LLM_BASE_URL"] = server.url
        failed = workbench(home, "model", "check", "--llm", "openai:m", "--json", **given)
        assert failed.code == 5
        assert failed.json["error"]["kind"] == "ModelError"
        assert KEY not in failed.out + failed.err


def test_ctrl_c_stops_a_waiting_client(tmp_path: Path) -> None:
    import signal

    with serving(Bad(body=completion("late"), wait=30)) as server:
        given = {"WORKBENCH_LLM_BASE_URL": server.url}
        process = started(tmp_path / "home", "model", "check", "--llm", "openai:m", **given)
        waited = threading.Event()
        while not server.hits and process.poll() is None:
            waited.wait(0.1)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        outcome = ended(process)
    assert outcome.code == 130 and "Traceback" not in outcome.err
    assert time.monotonic() - began < 10


def test_forgetting_empties_the_reply_cache(tmp_path: Path) -> None:
    home = tmp_path / "home"
    rows = [{"id": "m1", "speaker": "Ana", "text": "I love tea"}]
    path = write_rows(tmp_path / "notes.jsonl", rows)
    assert workbench(home, "import", str(path)).code == 0
    cache = ReplyCache(Workspace(home).folder("cache"))
    cache.keep("x", Reply(text="Ana loves tea"))
    done = workbench(home, "forget", "notes", "m1")
    assert done.code == 0, done.err
    assert len(cache) == 0
    cache.close()
    for path in (home / "cache").iterdir():
        assert b"loves tea" not in path.read_bytes()
