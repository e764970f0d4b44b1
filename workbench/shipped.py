"""Where the notebooks and the explorer lie: in a checkout, or inside an installed wheel."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import UsageError

__all__ = ["explorer", "installed", "notebook", "notebooks"]

PACKAGE = Path(__file__).resolve().parent


def notebooks() -> dict[str, Path]:
    """The notebooks by name, in the order of their file names."""
    return {path.stem: path for path in sorted(_folder("notebooks").glob("[a-z]*.py"))}


def notebook(name: str) -> Path:
    """A notebook's file. Raises UsageError with the names that there are."""
    found = notebooks()
    if name not in found:
        raise UsageError(f"there is no notebook {name!r}; there are: {', '.join(found)}")
    return found[name]


def explorer() -> Path:
    """The explorer's script."""
    return _folder("apps") / "explorer.py"


def installed() -> bool:
    """Whether they lie inside an installed wheel, and not in a checkout."""
    return (PACKAGE / "_shipped").is_dir()


def _folder(name: str) -> Path:
    """A folder of the project: beside the package in a checkout, in it when installed."""
    for place in (PACKAGE / "_shipped" / name, PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise UsageError(f"this installation has no {name}; install the wheel, or use a checkout")
