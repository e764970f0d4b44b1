"""About the data: what is loaded and under which licence, what is stored where, hidden names."""

from __future__ import annotations

import platform
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import streamlit as st

from parts import data, redaction, show, state
from parts.show import literal
from views import privacy, run_table
from workbench import __version__
from workbench.datasets import store
from workbench.datasets.versions import current
from workbench.embedders import EMBEDDERS
from workbench.holdings import holdings
from workbench.provenance import code_digest
from workbench.usable import dataset_names
from workbench.workspace import Workspace

WHAT = """
What this explorer shows you, where it comes from, who may use it, and where it lies on this
machine.
"""
HIDING = """
For sharing your screen: names of people are replaced, the same person by the same number on every
page, in texts, lists and figures. Searching, ranking and files are not changed by it.
"""
PAPERS = """
The methods are those of two papers, restated in our own words: **PPRO**, “Learning User-Aware
Recall: Personalized Retrieval in Long-Term Conversational Memory”, and **MARM**, “Memory-Aware
Reward Modeling: Learning Human Preferences for LLM Memory Use”. Neither has published code,
memory banks or checkpoints. What you see here is measured by this workbench on the data named
beside it; where a figure of a paper stands next to it, it is a reference.
"""
PACKAGES = (
    *("streamlit", "marimo", "plotly", "polars", "numpy", "scipy", "scikit-learn", "usearch"),
    *("sentence-transformers", "torch"),
)


def page() -> None:
    st.title("About the data")
    st.markdown(WHAT)
    privacy.badge()
    _hiding()
    _data()
    _made()
    _stored()
    _software()


def _hiding() -> None:
    """Names hidden on the screen, and what that misses."""
    st.subheader("Hide names")
    st.markdown(HIDING)
    st.toggle("Hide the names of people", **state.kept_as(redaction.ON, False))
    st.text_input(
        "Hide these names too",
        placeholder="with commas: Bingo, Aunt Ewa",
        max_chars=2_000,
        **state.kept_as(redaction.FURTHER),
    )
    if redaction.on():
        count = len(redaction.hidden_names())
        st.success(
            f"{count:,} names are hidden: those who speak in {show.plain(state.current().dataset)}"
            ", and those that you listed. This lasts until the page is loaded anew."
        )
    with st.expander("What this misses"):
        st.markdown(redaction.MISSES)


def _data() -> None:
    """Every data set: how large, under which licence, from which file."""
    st.subheader("Data sets")
    home = data.workspace()
    rows = [_described(home, name) for name in dataset_names(home)]
    heads = ("name", "licence", "conversations", "turns", "questions", "version", "from")
    body = "".join(
        f"<tr><td>{literal(row['name'])}</td><td>{literal(row['licence'])}</td>"
        f'<td class="number">{row["dialogues"]:,}</td><td class="number">{row["turns"]:,}</td>'
        f'<td class="number">{row["questions"]:,}</td><td><code>{literal(row["version"])}</code>'
        f'<div class="quiet">{literal(row["made"])}</div></td><td>{_sources(row["sources"])}</td>'
        "</tr>"
        for row in rows
    )
    run_table.drawn(
        heads, body, "Data sets, and the sha256 of the files that they came from", heads[2:5]
    )
    st.caption(
        "A data set keeps its own licence; none but the sample is part of this software. The "
        "sample’s people and conversations are invented. A version is named by its content: "
        "another text is another version."
    )
    st.code("workbench import FILE", language=None)


def _described(home: Workspace, name: str) -> dict[str, Any]:
    if name not in store.names(home):  # the bundled sample, before anything is kept of it
        known = data.dataset(name)
        made = {"licence": known.licence, "version": "bundled", "made": "", "sources": {}}
        return {"name": name, **made, **store.sizes(known)}
    info = store.info(home, name)
    return {
        "name": name,
        "licence": info["licence"],
        "version": str(current(home, name) or ""),
        "made": time.strftime("%d %b %Y, %H:%M", time.localtime(info["made"])),
        "sources": info["sources"],
        **info["counts"],
    }


def _sources(sources: dict[str, str]) -> str:
    """The files, each with its digest; shown whole, since it is there to be compared."""
    if not sources:
        return "part of this software"
    return "".join(
        f'<div>{literal(file)}<div class="quiet digest">{literal(sha256)}</div></div>'
        for file, sha256 in sources.items()
    )


def _made() -> None:
    """The memories made of them, by whom."""
    st.subheader("Memories made from them")
    banks = data.workspace().manifests("banks")
    if not banks:
        show.empty(
            "No memories have been made yet. The first question makes the sample’s; or:",
            "workbench build sample",
        )
        return
    body = "".join(
        f"<tr><td>{literal(str(one.get('dataset', '')))}</td>"
        f"<td>{literal(str(one.get('memories', '')))}</td>"
        f'<td class="number">{int((one.get("counts") or {}).get("memories", 0)):,}</td>'
        f"<td>{literal(_embedder(str(one.get('embedder', ''))))}"
        f'<div class="quiet digest">{literal(str(one.get("fingerprint", "")))}</div></td>'
        f"<td>{time.strftime('%d %b %Y, %H:%M', time.localtime(one.get('made', 0)))}</td>"
        f"<td><code>{literal(name[:8])}</code></td></tr>"
        for name, one in reversed(banks.items())
    )
    heads = ("data set", "a memory is", "memories", "embedder, fingerprint", "made", "id")
    run_table.drawn(heads, body, "Banks of memories, the newest first", ("memories",))


def _embedder(name: str) -> str:
    """The embedder with the model that it stands for."""
    known = EMBEDDERS.get(name.split("+", maxsplit=1)[0])
    return f"{name}: {known.hub}" if known else name


def _stored() -> None:
    """What lies where."""
    st.subheader("What is stored where")
    home = data.workspace()
    show.text(
        f"Everything lies in one folder: {home.root.resolve()}. Delete it, and all is gone except "
        "what you exported yourself."
    )
    rows = holdings(home)
    if not rows:
        st.info("There is nothing in it yet.")
        return
    body = "".join(
        f"<tr><td><code>{literal(row.folder)}</code></td><td>{literal(row.what)}</td>"
        f"<td>{'yes' if row.words else 'no'}</td>"
        f'<td class="number">{row.files:,}</td>'
        f'<td class="number">{row.bytes / 2**20:,.1f}</td></tr>'
        for row in rows
    )
    heads = ("folder", "what it is", "holds people’s words", "files", "MiB")
    run_table.drawn(heads, body, "Folders of the workspace", ("files", "MiB"))
    st.caption(
        "To take something out of everything at once (data, memories, caches, results that rest on "
        "it), so that no import brings it back:"
    )
    st.code("workbench forget NAME ID", language=None)


def _software() -> None:
    """Versions, licences, papers."""
    st.subheader("Software and papers")
    st.markdown(PAPERS)
    show.text(
        f"recall-workbench {__version__} (code {code_digest()}), MIT licence. Python "
        f"{platform.python_version()}. {', '.join(_versions())}."
    )


def _versions() -> list[str]:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} is absent")
    return found
