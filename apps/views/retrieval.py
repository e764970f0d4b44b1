"""Retrieval: one question ranked without and with its person's profile, beside each other."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

from parts import data, exports, picking, show, state
from views import answers, dialogue, knobs, questions, rankings, wording
from workbench.ask import Asking, asking, told
from workbench.report.asked import findings_of_question, hits_table
from workbench.rewriters import question_of
from workbench.view import View

WHAT = """
Somebody asks about their own past. Every remembered sentence is compared with the **question**;
a **profile prior** also compares it with what is known of the person, and mixes both by a weight
**λ** (1: the question alone, 0: the profile alone). The two rankings below show what that changes.
A ★ marks *evidence*: the sentences that the data set's authors say hold the answer. Find a question
that the profile *helped*, and one that it *hurt*.
"""


def page() -> None:
    st.title("Retrieval")
    st.markdown(WHAT)
    left, right = st.columns([1, 2.3], gap="large")
    with left:
        picking.choose_dataset()
        picking.choose_user("everybody")
    view = state.current()
    if picking.unbuilt():
        with left:
            knobs.memories(view, data.kinds(view))  # the way back to what is there
        return
    # The rankings are drawn before the list, whose effects may take a second the first time.
    with left:
        _own_question()
        below = st.container()
    asked = questions.settle()
    view = state.current()
    with right:
        knobs.draw()
        one = _ready(view, asked)
        found = _found(one) if one is not None else None
        if one is not None and found is not None:
            _head(one, found, view)
            answers.of_the_run(one, view)
            answers.draw(one, view)
            rankings.side_by_side(found)
    if one is not None and found is not None:
        _further(one, found, view)
    with below:
        questions.listed(questions.questions(), view)


def _own_question() -> None:
    """Free text, asked as the person chosen."""
    view = state.current()
    known = data.dataset(view.dataset)
    own = "" if any(q.id == view.question for q in known.questions) else view.question
    state.hold("_own", own)

    def typed() -> None:
        state.change(question=st.session_state["_own"].strip(), turn="")

    st.text_input(
        "Ask your own question",
        key="_own",
        on_change=typed,
        placeholder="What am I training for?",
        max_chars=2_000,
        help="Asked as the person chosen above, over that person’s conversation.",
    )


def _further(one: Asking, found: dict[str, Any], view: View) -> None:
    """Below the rankings: how they move, where hits were said, exports."""
    findings = findings_of_question(found, view.dataset)
    st.subheader("How the ranking moves")
    show.figure(findings.figures["movement"], "movement", least=760)
    _in_the_dialogue(one, found, view)
    st.subheader("Take it along")
    name = one.question.id if one.question is not None else "question"
    exports.downloads(findings, _stem(view.dataset, name), hits_table(found))


def _ready(view: View, asked: str) -> Asking | None:
    """The question made ready; None, with a word, where there is none or nobody to ask it."""
    if not asked:
        st.info("Choose a question on the left, or type one of your own.")
        return None
    known = data.dataset(view.dataset)
    own = next((q for q in known.questions if q.id == asked), None)
    if own is None and not view.user:
        st.info("Choose a person first: a question of your own is asked as somebody.")
        return None
    user = None if own is not None else f"{view.scope}/{view.user}"
    banks = data.banks(view)
    words = wording.words(view, banks, question_of(banks, asked, user))
    return asking(banks, asked, view.recipe(), user, data.sources(view), words)


def _found(one: Asking) -> dict[str, Any]:
    """Both rankings, with the words of a rewriter where they are made of those."""
    words = one.query.text
    if words == one.text:
        return told(one)
    who = data.rewriters()[state.current().rewriter]
    return told(one) | {"searched_with": words, "rewriter": who}


def _head(one: Asking, found: dict[str, Any], view: View) -> None:
    """The question, who asks it, and what the prior does to its evidence."""
    st.html(f'<div class="asked" role="heading" aria-level="2">{show.escaped(one.text)}</div>')
    about = [f"asked as {' & '.join(one.people)} in {one.scope}"]
    if one.question is not None:
        about += [one.question.category, f"question {one.question.id}"]
        if one.question.gold.answer:
            about.append(f"the data set’s answer: {one.question.gold.answer}")
    show.text(" · ".join(about))
    if "searched_with" in found:
        said = show.escaped(found["searched_with"])
        st.html(f'<div class="searched"><span class="quiet">searched with:</span> {said}</div>')
    kind, said = rankings.summary(found, view.k)
    lines = "; ".join(rankings.evidence_lines(found))
    st.html(
        f'<div class="verdict {kind}">{show.escaped(said)}'
        f'<div class="quiet">{show.escaped(lines)}</div></div>'
    )
    for note in found["notes"]:
        st.caption(show.plain(f"Note: {note}"))


def _in_the_dialogue(one: Asking, found: dict[str, Any], view: View) -> None:
    """Open the evidence, or any hit, where it was said."""
    st.subheader("In the dialogue")
    evidence = list(found["evidence"] or ())
    labels = {turn: f"evidence {turn}" for turn in evidence}
    for name, title in (("with", "with the prior"), ("without", "question alone")):
        for hit in found["rankings"][name]:
            for turn in hit["sources"][:1]:
                labels.setdefault(turn, f"{turn}: rank {hit['rank']} {title}")
    if not labels:
        st.caption("Nothing was found that could be opened.")
        return
    opened = view.turn if view.turn in labels else next(iter(labels))
    key = "_turn_opened"
    state.hold(key, opened)
    st.selectbox(
        "Open",
        list(labels),
        format_func=labels.__getitem__,
        key=key,
        on_change=lambda: state.change(turn=st.session_state[key]),
    )
    answer = one.question.gold.answer if one.question is not None else None
    dialogue.read(one.scope, opened, evidence, [answer] if answer else [])


def _stem(dataset: str, name: str) -> str:
    """The beginning of a file's name: only what is safe in one."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", f"{dataset}-{name}")[:60].strip("-") or "question"
