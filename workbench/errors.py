"""The one exception family: a type per boundary, each with the exit code that the CLI returns."""

from __future__ import annotations

__all__ = ["DataError", "ModelError", "UsageError", "WorkbenchError", "WorkspaceError"]


class WorkbenchError(Exception):
    """Something a user can act on; its message names the file, record and field, and what to do."""

    exit_code = 70


class UsageError(WorkbenchError):
    """An argument, option or combination of them that cannot be meant."""

    exit_code = 2


class DataError(WorkbenchError):
    """A file, record or dataset that cannot be read as what it should be."""

    exit_code = 4


class WorkspaceError(DataError):
    """A workspace folder that is missing, locked, damaged or out of step with its manifest."""


class ModelError(WorkbenchError):
    """A model or network service that is missing, differs from its pinned hash, or fails."""

    exit_code = 5
