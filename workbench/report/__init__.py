"""Reports of a run: one offline HTML page, CSV, LaTeX, JSON, PNG or SVG, and figures made again."""

from __future__ import annotations

from workbench.report.findings import Findings, Table, findings, main_measure
from workbench.report.page import page
from workbench.report.pictures import png, svg
from workbench.report.reproduction import Reproduction, carried, remade, reproduce
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
    "main_measure",
    "page",
    "png",
    "remade",
    "reproduce",
    "svg",
]
