"""The language model that may be asked, where one is named: by a button, and never before.

What it is asked goes through the workspace's cache of replies: the same is never paid for twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import streamlit as st

from parts import data, given, show
from workbench.chat_models import ChatModel, llm_spec, open_llm
from workbench.endpoint import endpoint_of
from workbench.errors import WorkbenchError

__all__ = ["HERE", "Model", "named", "open_model", "spent", "unnamed"]

HERE = "this machine"
COMMAND = "workbench explore --llm openai:MODEL"


class Model(NamedTuple):
    """What is known of the model before it is opened: its spec, its name for people, and where
    what it reads is sent."""

    spec: str
    name: str
    place: str

    @property
    def where(self) -> str:
        """ "on this machine", "at https://…"."""
        return f"{'on' if self.place == HERE else 'at'} {self.place}"


def named() -> Model | None:
    """The model that the explorer was started with; None, with a word, where its name means
    nothing, and None where there is none."""
    if not given.has_llm():
        return None
    try:
        spec = llm_spec(given.llm())
        kind, _, name = spec.partition(":")
        if kind == "openai":
            return Model(spec, name, endpoint_of()[0].shown)
    except WorkbenchError as error:
        show.trouble(error)
        return None
    return Model(spec, Path(name).name, HERE)


def open_model(model: Model) -> ChatModel:
    """The model with accounts of its own: what is spent from here on. Raises ModelError where it
    is not here, UsageError where its settings cannot be meant."""
    home = data.workspace()
    shared = _opened(model.spec, str(home.root), home.read_only)
    return ChatModel(model.spec, home, shared.source, shared.usage.prices)


def unnamed(what: str) -> None:
    """How to have a model here, where there is none; `what` says what it would do."""
    show.empty(
        f"{what} No language model is set up. Start the explorer with one (any endpoint that "
        "speaks OpenAI’s protocol, a local model, a file of written replies): it is asked only "
        "when you press a button that says so.",
        COMMAND,
    )


def spent(chat: ChatModel) -> str:
    """What asking came to: "2 calls, 1 from the cache, 812 tokens in, 14 out, 3.2 s"."""
    usage = chat.usage
    if not usage.calls:
        return f"{usage.cached:,} replies, all from the cache: nothing was asked anew"
    said = [f"{usage.calls:,} calls"]
    said += [f"{usage.cached:,} from the cache"] if usage.cached else []
    said += [
        f"{usage.tokens_in:,} tokens in",
        f"{usage.tokens_out:,} out",
        f"{usage.seconds:.1f} s",
    ]
    said += [f"cost {usage.cost:.4f}"] if usage.cost is not None else []
    return ", ".join(said)


@st.cache_resource(max_entries=2, show_spinner="Opening the model …")
def _opened(spec: str, root: str, read_only: bool) -> ChatModel:
    return open_llm(spec, data.workspace())
