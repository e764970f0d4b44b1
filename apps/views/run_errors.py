"""Where a run's answers were lost, and each beside the gold and what a judge holds of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl
import streamlit as st

from parts import show, state
from views import run_classes, run_judges, run_questions, run_table
from views.run_questions import page_of
from workbench import run_answers
from workbench.attribution import CLASSES, Attribution
from workbench.datasets.store import SAMPLE
from workbench.library import build_command
from workbench.report import csv_text
from workbench.runs import Run

__all__ = ["errors"]

WHAT = """
Why is a question answered wrongly? Either what answers it was **never remembered**; or it is
remembered, and was **not retrieved**; or it was **retrieved, and not used**; or the answer is right
and the **gold is disputed**. A question needs *all* turns of its evidence, and the first class that
holds is its class.
"""
NOT_MADE = (
    "Not made yet: {kind} runs say nothing of single answers. This answers the questions and says "
    "where answers were lost (with --answerer llm --llm MODEL, a language model answers them):"
)
OF_REWARD = (
    "Errors are looked into for runs that answer questions, and this one is of a reward model: it "
    "predicts which of two answers a person prefers. Which pairs it got wrong is under Reward "
    "model, One pair. Choose another run above, or make one that answers:"
)
UNBUILT = (
    "What this run searched is not built any more (another version of the data, or of the rules), "
    "so nobody can say what was remembered. This builds it; then load the page again:"
)
OF_FILE = (
    "These verdicts are on a file of answers of another system. Its errors are those of the run "
    "that scored it, if it was scored:"
)
ROWS = 10
PAGE, VERDICT, BY = "errors-page", "errors-verdict", "errors-right-by"
VERDICTS = {"": "all", "right": "right", "wrong": "wrong", "none": "not judged"}


def errors(known: Mapping[str, Any]) -> None:
    """The classes of a run by category, its judges, and its questions by class."""
    st.subheader("Why answers are wrong")
    run = _answered(run_table.loaded(state.current().run))
    if run is None or not _can_tell(run):
        return
    st.markdown(WHAT)
    judge = run_judges.choose(run)
    found = _classes(run, judge)
    if found is None:
        _unbuilt(run)
        return
    _table(found)
    if not run_answers.remembers(run.manifest):
        run_judges.told(run, judge)
    frame = _questions(run, judge, found)
    _listed(run, frame)


def _answered(run: Run) -> Run | None:
    """The run whose answers are looked at: of verdicts, the one that they are on."""
    if run.manifest["kind"] != "judge":
        return run
    base = run_answers.judged_run(run)
    if base is None:
        show.empty(OF_FILE, f"workbench score {run_classes.dataset_of(run.manifest)} FILE")
        return None
    show.text(f"Verdicts on the answers of run {base[:8]}, whose errors these are.")
    run_judges.prefer(run)
    return run_table.loaded(base)


def _can_tell(run: Run) -> bool:
    """Whether a run has classes of error; a word, and how to get some, where it has none."""
    if run_answers.keeps_classes(run.manifest):
        return True
    kind = str(run.manifest["kind"])
    if kind.startswith("reward-"):
        show.empty(OF_REWARD, f"workbench evaluate {SAMPLE}")
    else:
        dataset = run_classes.dataset_of(run.manifest) or SAMPLE
        show.empty(NOT_MADE.format(kind=kind), f"workbench evaluate {dataset}")
    return False


def _unbuilt(run: Run) -> None:
    view = run_classes.recipe_view(run.manifest)
    show.empty(UNBUILT, build_command(view.dataset, view.memories, view.embedder))


def _classes(run: Run, judge: Run | None) -> Attribution | None:
    """The classes by the official F1, or by the judge where that is asked for and can be told."""
    by_f1 = run_classes.classes(run.id)
    if judge is None or by_f1 is None:
        return by_f1
    options = {
        "f1": "official F1 of 0.5 and more",
        "judge": f"the judge, {run_judges.named(judge)}",
    }
    hide = show.hiding()
    st.segmented_control(
        "An answer is right by",
        list(options),
        format_func=lambda one: show.plain(hide(options[one])),
        help="What the judge did not judge is right by its F1.",
        **state.kept_among(BY, list(options), "f1"),
    )
    if state.kept(BY) != "judge":
        return by_f1
    by_judge = run_classes.by_judge(run, judge.id)
    if by_judge is None:
        st.caption("By the judge that cannot be told: what the run searched is not built any more.")
    return by_judge or by_f1


def _table(found: Attribution) -> None:
    """How many questions are of each class, in all and by category."""
    report = found.report
    apart = report["by_category"]
    n = report["n"]
    body = "".join(
        f"<tr><td>{show.literal(name)}<div class=quiet>{run_classes.SAID[name]}</div></td>"
        f'<td class="number">{count:,}<div class=quiet>{count / n:.0%}</div></td>'
        + "".join(f'<td class="number">{counts[name]:,}</td>' for counts in apart.values())
        + "</tr>"
        for name, count in report["classes"].items()
    )
    heads = ["class", "all", *apart]
    left = ", ".join(f"{count:,} {why}" for why, count in report["excluded"].items()) or "none"
    right = f"; right: {report['right']}" if report["right"] else ""
    title = f"Where {n:,} questions were lost, by category (left out: {left}{right})"
    run_table.drawn(heads, body, title, heads[1:])


def _questions(run: Run, judge: Run | None, found: Attribution) -> pl.DataFrame:
    """`workbench.run_answers.by_question` of the run."""
    verdicts = None if judge is None else run_classes.verdicts(judge.id)
    gold = run.manifest["identity"].get("gold", "original")
    asked = run_questions.asked(run)
    return run_answers.by_question(run_classes.answers(run.id), found, verdicts, asked, gold)


def _listed(run: Run, frame: pl.DataFrame) -> None:
    """The questions of a class, each with what was said, and a way to the Retrieval page."""
    st.subheader("Question by question")
    kept = _narrowed(frame)
    if not len(kept):
        st.info("No question is of this kind.")
        return
    page = page_of(PAGE, len(kept), ROWS)
    rows = kept.slice(page * ROWS, ROWS)
    answers = bool(len(frame.drop_nulls("answer")))
    judged = bool(len(frame.drop_nulls("verdict")))
    heads = ["question", "gold", *(["answer"] if answers else []), "class"]
    heads += ["judge"] if judged else []
    body = "".join(_row(row, answers, judged) for row in rows.iter_rows(named=True))
    run_table.drawn(heads, body, f"{len(kept):,} of {len(frame):,} questions")
    texts = {q: text for q, text in rows.select("question", "text").iter_rows() if text}
    if texts:
        run_questions.opening("errors", run, rows["question"].to_list(), texts)
    st.download_button(
        "CSV: questions",
        partial(csv_text, kept),
        file_name=f"errors-{run.id[:8]}.csv",
        mime="text/csv",
        on_click="ignore",
    )


def _narrowed(frame: pl.DataFrame) -> pl.DataFrame:
    """Those of the class, and with the verdict, that are asked for."""
    counts = {name: len(frame.filter(pl.col("class") == name)) for name in CLASSES}
    lost = state.current().lost
    st.segmented_control(
        "Class",
        ["", *(name for name in CLASSES if counts[name] or name == lost)],
        format_func=lambda name: f"{name or 'all'} {counts.get(name, len(frame)):,}",
        **state.bound("lost"),
    )
    kept = frame if not lost else frame.filter(pl.col("class") == lost)
    if not len(frame.drop_nulls("verdict")):
        return kept
    told = {name: len(kept.filter(pl.col("verdict") == name)) for name in VERDICTS if name}
    st.segmented_control(
        "The judge says",
        list(VERDICTS),
        format_func=lambda name: f"{VERDICTS[name]} {told.get(name, len(kept)):,}",
        **state.kept_as(VERDICT),
    )
    verdict = state.kept(VERDICT)
    return kept.filter(pl.col("verdict") == verdict) if verdict else kept


def _row(row: Mapping[str, Any], answers: bool, judged: bool) -> str:
    about = " · ".join(filter(None, (row["question"], row["category"])))
    cells = [f"{show.literal(row['text'] or '', 240)}<div class=quiet>{show.literal(about)}</div>"]
    cells.append(show.literal(row["gold"] or "–", 160))
    if answers:
        cells.append(f"{_said(row)}{_f1(row)}")
    cells.append(show.literal(row["class"] or "no class"))
    if judged:
        cells.append(run_judges.verdict(row["verdict"], row["why"]))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _said(row: Mapping[str, Any]) -> str:
    if row["answer"] is None:
        return f"<i>no answer: {show.literal(row['failure'] or 'not asked')}</i>"
    return show.literal(row["answer"], 240)


def _f1(row: Mapping[str, Any]) -> str:
    declined = "declined · " if row["abstained"] else ""
    f1 = "not scored" if row["f1"] is None else f"F1 {row['f1']:.2f}"
    return f"<div class=quiet>{declined}{f1}</div>"
