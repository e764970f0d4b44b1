"""The README's three pictures, made by the code: `make pictures`.

They show the bundled sample and the simulated judgments, so that anybody can make them again. Each
figure carries its passport: `workbench reproduce .pictures/lambda.png`. The explorer's page is a
photograph, as Chromium shows it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # as pytest has it

from app import chromium, explorer, opened, settled

from notebooks import warm
from shell import PROJECT, report
from workbench.demo import QUESTION

FOLDER = PROJECT / ".pictures"
# Figures: the command that makes the run, and the one of its figures that is shown.
FIGURES = {
    "lambda.png": (("sweep", "lambda", "sample", "--prior", "facts"), "lambda_25"),
    "reward.png": (("reward", "evaluate", "simulated"), "coefficients"),
}
HEIGHT = 1320  # of the photograph: down to the end of both rankings


def main() -> None:
    home = warm(Path(tempfile.mkdtemp(prefix="pictures-")))
    FOLDER.mkdir(exist_ok=True)
    report(home, "reward", "simulate")
    for name, (command, figure) in FIGURES.items():
        run = report(home, *command)["run"]
        target = str(FOLDER / name)
        report(home, "export", run, "--to", target, "--figure", figure, "--force")
        sys.stderr.write(f"{target}\n")
    photograph(home, FOLDER / "explorer.png")
    sys.stderr.write(f"{FOLDER / 'explorer.png'}\n")


def photograph(home: Path, target: Path) -> None:
    """The explorer's first page on the question of the demonstration."""
    with explorer(home) as address, chromium() as browser:
        page = opened(browser, address, dataset="sample", question=QUESTION, k=3).page
        page.set_viewport_size({"width": 1440, "height": HEIGHT})
        settled(page)
        page.screenshot(path=target)


if __name__ == "__main__":
    main()
