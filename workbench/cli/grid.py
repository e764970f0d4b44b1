"""Grids as they are written on the command line."""

from __future__ import annotations

from workbench.errors import UsageError

__all__ = ["grid_of"]


def grid_of(text: str, option: str) -> list[float]:
    """The numbers of "0:1:0.05" or "0,0.5,1", at six decimals.

    Raises UsageError naming the option.
    """
    try:
        if ":" not in text:
            return [round(float(piece), 6) for piece in text.split(",") if piece.strip()]
        first, last, step = map(float, text.split(":"))
        steps = int((last - first) / step + 1e-9)
    except (ValueError, ZeroDivisionError, OverflowError):
        steps = -1
    if not 0 <= steps <= 10_000:
        raise UsageError(f"{option} takes FIRST:LAST:STEP or numbers with commas, not {text!r}")
    return [round(first + step * number, 6) for number in range(steps + 1)]
