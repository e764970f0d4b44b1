"""Reading a page of the explorer that AppTest has run."""

from __future__ import annotations

from typing import Any

__all__ = ["fine", "html", "widget"]


def fine(app: Any) -> Any:
    """The same page, once it is sure that it shows no exception and no error."""
    assert not app.exception, app.exception[0].value
    assert not app.error, app.error[0].value
    return app


def widget(app: Any, kind: str, label: str) -> Any:
    """The first widget of a kind whose label begins so."""
    return next(one for one in getattr(app, kind) if one.label.startswith(label))


def html(app: Any) -> str:
    """All HTML that the page shows."""
    return "\n".join(block.proto.body for block in app.get("html"))
