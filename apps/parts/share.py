"""Taking a view elsewhere: its link, its file, the same view in a notebook."""

from __future__ import annotations

import re

import streamlit as st

from parts import state
from workbench.view import encode_view

__all__ = ["sidebar"]

# Which notebook shows what a page shows.
NOTEBOOKS = {
    "retrieval": "case_studies",
    "user": "memory_inspection",
    "reward": "reward_coefficients",
    "runs": "evidence_recall",
}


def sidebar(page: str) -> None:
    """Save, open and share what is looked at."""
    with st.sidebar, st.expander("Share or save this view"):
        view = state.current().but(page=page)
        st.caption(
            "The address of this page is a link to exactly what you see: copy it. "
            "A saved view is the same as a small file; the notebooks open it too."
        )
        st.download_button(
            "Save this view",
            encode_view(view),
            file_name=f"view-{page}-{re.sub('[^A-Za-z0-9_-]', '-', view.dataset)}.json",
            mime="application/json",
            on_click="ignore",
            width="stretch",
        )
        st.file_uploader(
            "Open a saved view",
            type="json",
            max_upload_size=1,
            key="_opened_view",
            on_change=_open,
        )
        if page in NOTEBOOKS:
            # What became of each question is told case by case there.
            lost = page == "runs" and view.section == "errors"
            notebook = "case_studies" if lost else NOTEBOOKS[page]
            st.caption("In the notebook, with the saved file:")
            st.code(f"workbench notebooks {notebook} --view FILE", language=None)


def _open() -> None:
    given = st.session_state["_opened_view"]
    if given is not None:
        state.take_file(given.getvalue(), given.name)
