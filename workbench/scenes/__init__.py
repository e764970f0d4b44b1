"""Figures as interfaces show them, each of which carries what it takes to draw it again.

A scene is drawn from a run, several runs, banks or a question that no run keeps. Interfaces call
the functions of these modules; `workbench reproduce` finds the kind and its arguments in the
figure's metadata, and calls the same functions. To add a scene: a function, and a line in `MAKERS`
of its module.
"""

from __future__ import annotations

from workbench.report.reproduction import Maker
from workbench.scenes import curves, lesson, memories, questions, sweeps

__all__ = ["MAKERS"]

MAKERS: dict[str, Maker] = {
    **curves.MAKERS,
    **lesson.MAKERS,
    **memories.MAKERS,
    **questions.MAKERS,
    **sweeps.MAKERS,
}
