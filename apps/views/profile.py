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
    with st.expander("1. Bring your profile", expanded=not held):
        st.markdown(
            "Copy this request into the assistant that knows you, and paste its whole answer "
            "below. Slips in its form are put right; what may name a person, an employer, a school "
            "or a way to reach you is flagged."
        )
        with st.popover("The request to copy"):
            st.code(extraction_prompt(), language=None, wrap_lines=True)
        st.text_area(
            "The assistant’s answer",
            height=160,
            max_chars=LONGEST,
            placeholder='{"part_1": ["The user …"], …}',
            **state.kept_as("profile-text"),
        )
        st.file_uploader(
            "… or a file that holds it",
            type=["json", "txt", "md"],
            max_upload_size=1,
            key="_profile_file",
            on_change=_from_file,
        )
        if held:
            st.checkbox(
                f"Replace the {len(held)} entries of the profile that is here",
                **state.kept_as("profile-replace", False),
            )
        st.button(
            "Read it",
            type="primary",
            disabled=not state.kept("profile-text").strip(),
            on_click=_import,
            args=(who,),
        )
        if trouble := state.kept("profile-trouble"):
            st.error(show.plain(trouble))
        _findings(who)


def _from_file() -> None:
    given = st.session_state["_profile_file"]
    if given is not None:
        state.keep("profile-text", given.getvalue().decode("utf-8-sig", "replace"))


def _import(who: str) -> None:
    replace = bool(state.kept("profile-replace", False))
    try:
        draft, profile = profile_store.import_profile(
            data.workspace(), who, state.kept("profile-text"), replace
        )
    except WorkbenchError as error:
        state.keep("profile-trouble", str(error))
        return
    kept = sum(entry.kind != "event" for entry in draft.entries)
    state.keep("profile-trouble", "")
    state.keep("profile-replace", False)
    state.keep("profile-text", "")
    state.keep("profile-found", (who, profile.findings))
    state.keep("memories-said", f"{kept} entries were read. Please look through them below.")


def _findings(who: str) -> None:
    """What the last reading noticed."""
    whose, found = state.kept("profile-found", ("", ()))
    if whose != who or not found:
        return
    for kind, title in KINDS.items():
        some: list[Finding] = [one for one in found if one.kind == kind]
        if some:
            with st.expander(f"{title}: {len(some)}"):
                for one in some:
                    show.text(f"{one.path}: {one.reason}")
