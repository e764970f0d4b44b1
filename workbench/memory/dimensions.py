from __future__ import annotations
from workbench.schema import Dimensions
def of_statement(text: str) -> Dimensions:
    return Dimensions()
