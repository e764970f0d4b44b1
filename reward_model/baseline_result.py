"""What every baseline gives, whatever it is made of."""

from __future__ import annotations

from typing import Any

import msgspec

from workbench.schema import Record

__all__ = ["BaselineResult"]


class BaselineResult(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Probabilities that the memory response is preferred, by comparison id.

    None where the baseline gave no usable answer: never a wrong one, and `failed` counts why (kind
    of failure -> comparisons). A `probability` of exactly 1/2 chooses neither. `note` says what was
    done, `facts` what else was measured (JSON), `not_run` why there are no probabilities at all.
    """

    name: str
    probability: dict[str, float | None]
    failed: dict[str, int]
    note: str = ""
    not_run: str = ""
    facts: dict[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def missing(cls, name: str, why: str) -> BaselineResult:
        """A baseline that was not run, and why."""
        return cls(name=name, probability={}, failed={}, not_run=why)
