"""Bringing a profile: the request for one's own assistant, and what was read from its answer."""

from __future__ import annotations

import streamlit as st

from parts import data, show, state
from reward_model import profile_store
from reward_model.profile_draft import Draft
from reward_model.profile_json import extraction_prompt
from reward_model.profile_shape import Finding
from workbench.errors import WorkbenchError

__all__ = ["brought"]

KINDS = {
    "repaired": "Put right in form",
    "flagged": "Please look at these again",
    "dropped": "Left out",
    "missing": "Not known, or not given",
}
LONGEST = 500_000


def brought(who: str, draft: Draft) -> None:
    """The prompt, and where its answer goes."""
    held = [entry for entry in draft.entries if entry.kind != "event"]
    text, replace = state.mine(who, "profile-text"), _replace(who, draft)
    with st.expander("1. Bring your profile", expanded=not held):
        st.markdown(
            "Copy this request into the assistant that knows you, and paste its whole answer "
            "below. Slips in its form are put right; what may name a person, an employer, a school "
            "or a way to reach you is flagged."
        )
        with st.popover("The request to copy"):
            st.code(extraction_prompt(), language=None, wrap_lines=True)
        _answer(who, text)
        if held:
            st.checkbox(
                f"Replace the {len(held)} entries of the profile that is here",
                **state.kept_as(replace, False),
            )
        st.button(
            "Read it",
            type="primary",
            disabled=not state.kept(text).strip(),
            on_click=_import,
            args=(who, draft),
        )
        if trouble := state.kept(state.mine(who, "profile-trouble")):
            st.error(show.plain(trouble))
        _findings(who)


def _answer(who: str, text: str) -> None:
    """Where the answer is pasted or its file brought; `text` is the name it is kept under."""
    st.text_area(
        "The assistant’s answer",
        height=160,
        max_chars=LONGEST,
        placeholder='{"part_1": ["The user …"], …}',
        **state.kept_as(text),
    )
    st.file_uploader(
        "… or a file that holds it",
        type=["json", "txt", "md"],
        max_upload_size=1,
        key=state.mine(who, "profile-file"),
        on_change=_from_file,
        args=(who,),
    )


def _replace(who: str, draft: Draft) -> str:
    """The name of the leave to replace a profile: this one as it stands, and no other."""
    return state.mine(who, f"profile-replace {draft.content}")


def _from_file(who: str) -> None:
    given = st.session_state[state.mine(who, "profile-file")]
    if given is None:
        return
    text = given.getvalue().decode("utf-8-sig", "replace")
    if text.strip():
        state.keep(state.mine(who, "profile-text"), text)
        state.keep(state.mine(who, "profile-trouble"), "")
    else:
        said = f"The file {given.name} is empty: there is nothing in it that could be read."
        state.keep(state.mine(who, "profile-trouble"), said)


def _import(who: str, draft: Draft) -> None:
    text, trouble = state.mine(who, "profile-text"), state.mine(who, "profile-trouble")
    replace = bool(state.kept(_replace(who, draft), False))
    try:
        draft, profile = profile_store.import_profile(
            data.workspace(), who, state.kept(text), replace
        )
    except WorkbenchError as error:
        state.keep(trouble, str(error))
        return
    kept = sum(entry.kind != "event" for entry in draft.entries)
    state.keep(trouble, "")
    state.forget(state.mine(who, "profile-replace"))
    state.keep(text, "")
    state.keep(state.mine(who, "profile-found"), profile.findings)
    state.keep("memories-said", f"{kept} entries were read. Please look through them below.")


def _findings(who: str) -> None:
    """What the last reading noticed."""
    found = state.kept(state.mine(who, "profile-found"), ())
    for kind, title in KINDS.items():
        some: list[Finding] = [one for one in found if one.kind == kind]
        if some:
            with st.expander(f"{title}: {len(some)}"):
                for one in some:
                    show.text(f"{one.path}: {one.reason}")
