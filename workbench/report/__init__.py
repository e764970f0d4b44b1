"""Reports of a run: one offline HTML page, CSV, LaTeX, JSON or PNG, and figures made again."""

from __future__ import annotations

from workbench.report.findings import Findings, Table, findings
from workbench.report.page import page
from workbench.report.pictures import png
from workbench.report.reproduction import Reproduction, carried, reproduce
from workbench.report.sheets import csv_text, json_text, latex_text

__all__ = [
    "Findings",
    "Reproduction",
    "Table",
    "carried",
    "csv_text",
    "findings",
    "json_text",
    "latex_text",
    "page",
    "png",
    "reproduce",
]
