"""The privacy badge: what is so in this process, and not what should be."""

from __future__ import annotations

import streamlit as st

from parts import data, model, show, state

__all__ = ["badge"]

PRIVACY = """
The explorer is a program on your computer that your browser talks to. It has no account, and sends
no statistics. Otherwise only these commands use a network at all, and only when you run them:
`workbench data get` and `workbench model get`; any command that is given an embedder by the name of
a model that is not on this machine yet; and any command with `--llm openai:MODEL` (or
`$WORKBENCH_LLM_MODEL` set so), which sends what the model is to read to the endpoint that
`$WORKBENCH_LLM_BASE_URL` names.
"""
NOTHING = "**Nothing leaves this machine.** No language model is set up, so none is asked."
MODEL_HERE = (
    "**Nothing leaves this machine.** The language model {name} runs on it, and is asked only when "
    "you press a button that says so."
)
MODEL_THERE = (
    "**What the language model {name} is to read leaves this process for {place}**, when you press "
    "a button that says so (*Ask …* and *Put it into the rewriter’s words* on the Retrieval page, "
    "*Score it* under Reward model), and nothing else does. Its replies are kept in the workspace "
    "folder."
)
TRAINED = (
    "What was trained here (*Searched with*, on the Retrieval page) runs on this machine, and is "
    "asked only when you press a button that says so."
)
LOCAL = (
    "It listens on {where}: other machines cannot reach it. Whoever is logged in to this one can."
)
OPEN = (
    "It listens on {where}, so **other machines may reach it**, and whoever does sees all of this "
    "without a password. Start it without `--address` to keep it to this machine."
)
COUNTED = (
    "Streamlit’s usage statistics are **on** in this process. Start the explorer with "
    "`workbench explore`, which switches them off."
)
HERE = ("127.0.0.1", "localhost", "::1")


def badge() -> None:
    """The badge: what is so in this process, and not what should be."""
    address = st.get_option("server.address")
    where = f"`{address or 'all addresses of this machine'}`"
    with st.container(border=True):
        st.subheader(":material/lock: Privacy")
        st.markdown(_leaves())
        if any(name.startswith("trained:") for name in data.rewriters()):
            st.markdown(TRAINED)
        st.markdown(PRIVACY)
        if address in HERE:
            st.markdown(LOCAL.format(where=where))
        else:
            st.warning(OPEN.format(where=where))
        if st.get_option("browser.gatherUsageStats"):
            st.warning(COUNTED)
        if state.read_only():
            st.markdown("This explorer is **read-only**: it writes nothing, not even a cache.")


def _leaves() -> str:
    """Whether anything can leave this machine, and what."""
    known = model.named()
    if known is None:
        return NOTHING
    told = MODEL_HERE if known.place == model.HERE else MODEL_THERE
    return told.format(name=show.plain(known.name), place=show.plain(known.place))
