"""Judges of a run's answers: which there are, who they are, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from parts import data, model, show, state
from parts.show import literal
from views import run_classes, run_table
from workbench import run_answers
from workbench.figures.drawing import estimate
from workbench.runs import Run

__all__ = ["alike", "choose", "every", "identity", "like", "named", "prefer", "told", "verdict"]

NONE = (
    "No judge has looked at these answers yet. A language model says of each whether it is right; "
    "its verdicts are a model’s, and no truth. In a terminal (--sample 50 judges fifty of them):"
)
CHOSEN = "judge-of-run"
MARKS = {"right": "✓ right", "wrong": "✗ wrong"}


def choose(run: Run) -> Run | None:
    """One of the judges of a run's answers, the newest at first; None where there is none."""
    found = run_answers.judges_of(data.workspace(), run)
    if not found:
        return None
    names = {name: _line(name, manifest) for name, manifest in reversed(found.items())}
    newest = next(iter(names))
    held = state.kept_among(CHOSEN, names, newest)
    if len(names) > 1:
        hide = show.hiding()
        st.selectbox("Judge", list(names), format_func=lambda one: hide(names[one]), **held)
    return run_table.loaded(str(state.kept(CHOSEN, newest)))


def prefer(judge: Run) -> None:
    """Look at this judge's verdicts."""
    state.keep(CHOSEN, judge.id)


def every(run: Run) -> list[Run]:
    """All judges of a run's answers, the newest first."""
    found = run_answers.judges_of(data.workspace(), run)
    return [run_table.loaded(name) for name in reversed(found)]


def like(run: Run, judge: Run) -> Run | None:
    """The same judge's verdicts on another run; None where it has not judged it."""
    return next((one for one in every(run) if alike(one, judge)), None)


def alike(a: Run, b: Run) -> bool:
    """Whether two runs are verdicts of one judge."""
    return run_answers.same_judge(a.manifest, b.manifest)


def named(judge: Run) -> str:
    """The judge's model."""
    return _model(judge.manifest)


def told(run: Run, judge: Run | None) -> None:
    """Who judged, how well the answers did, what was not judged; else how to have it done."""
    st.subheader("What a judge holds of the answers")
    if judge is None:
        known = model.named()
        show.empty(NONE, f"workbench judge {_what(run)} --llm {known.spec if known else 'MODEL'}")
        return
    report = judge.manifest["report"]
    left = ", ".join(f"{n:,} {why}" for why, n in report["not_judged"].items()) or "none"
    show.text(
        f"Judge: {identity(judge)}; against the {report['gold']} gold; votes an answer: "
        f"{report['repeats']['repeats']}. Verdicts of a model, not the truth."
    )
    show.text(
        f"Accuracy {_share(report['accuracy'], report['interval'])} over questions, "
        f"{_share(report['task_averaged'], report['task_interval'])} averaged over categories; "
        f"judged {report['judged']:,} of {report['n']:,} answers; not judged: {left}."
    )


def identity(judge: Run) -> str:
    """The judge's model with all that tells it apart."""
    one = judge.manifest["identity"]["judge"]["model"]
    rest = ", ".join(f"{key} {value}" for key, value in one.items() if key != "model")
    return f"{_model(judge.manifest)} ({rest})"


def verdict(said: str | None, why: str | None) -> str:
    """A verdict as HTML: "✓ right", "✗ wrong", or why there is none."""
    if said is None:
        return "<span class=quiet>not asked</span>"
    return MARKS.get(said) or f"<span class=quiet>not judged: {literal(why or 'unknown')}</span>"


def _line(name: str, manifest: Mapping[str, Any]) -> str:
    report = manifest["report"]
    return f"{_model(manifest)}, {report['judged']:,} of {report['n']:,} judged · {name[:8]}"


def _model(manifest: Mapping[str, Any]) -> str:
    one = manifest["identity"]["judge"]["model"]
    return str(one.get("model", one.get("kind", "unknown")))


def _what(run: Run) -> str:
    """What the command judges: the run, or the file that it scored."""
    if run.manifest["kind"] != "score":
        return run.id[:8]
    return f"FILE --dataset {run_classes.dataset_of(run.manifest)}"


def _share(value: float | None, interval: list[float | None]) -> str:
    if value is None:
        return "not known"
    return estimate({"mean": value, "lo": interval[0], "hi": interval[1]})
