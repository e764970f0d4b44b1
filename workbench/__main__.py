"""`python -m workbench`."""

from workbench.cli import run

run()
