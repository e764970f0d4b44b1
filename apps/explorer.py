"""The explorer: `workbench explore`, or `streamlit run apps/explorer.py`.

One page a view; what is looked at (`workbench.view.View`) is the session's, and in the address.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

import streamlit as st

from parts import data, share, show, state
from workbench.errors import WorkbenchError

TITLES = {
    "retrieval": "Retrieval",
    "user": "User",
    "reward": "Reward model",
    "memories": "My memories",
    "annotate": "Annotate",
    "study": "Study",
    "runs": "Runs",
    "about": "About the data",
}

ROOT = "start"  # the first page's own name, which Streamlit shows as "/"


def page_of(name: str) -> Callable[[], None]:
    """A page that imports its module when it is opened: the first one should not wait for all."""

    def page() -> None:
        try:
            import_module(f"views.{name}").page()
        except WorkbenchError as error:
            show.trouble(error)

    page.__name__ = name
    return page


def main() -> None:
    st.set_page_config(page_title="recall-workbench", layout="wide")
    names = [name for name in TITLES if find_spec(f"views.{name}")]
    pages = {
        name: st.Page(
            page_of(name), title=TITLES[name], url_path=name if place else ROOT, default=not place
        )
        for place, name in enumerate(names)
    }
    # The first page lives at "/", and is found by its name too.
    first = st.Page(
        page_of(names[0]), title=TITLES[names[0]], url_path=names[0], visibility="hidden"
    )
    page = st.navigation([*pages.values(), first])
    wanted = state.begin()
    if wanted in pages and pages[wanted] != page:
        st.switch_page(pages[wanted])
    data.mend()
    here = next((name for name, one in pages.items() if one == page), names[0])
    show.chrome()
    page.run()
    share.sidebar(here)
    state.end(here)


main()
