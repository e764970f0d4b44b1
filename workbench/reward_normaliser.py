"""Rewards on one scale: an exponential moving mean and variance of each (SPEC A.5).

GRPO takes the spread of a group's rewards out, and with it any scale that all rewards share; what
is left in is the scale of one reward against the other, and that is what α weighs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from workbench.errors import UsageError
from workbench.schema import Record

__all__ = ["RHO", "Ema"]

RHO = 0.99
TINY = 1e-6


class Ema(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Running mean and variance of a reward; `batches` (so far) is 0 before the first.

    It is a record: `msgspec.to_builtins` saves it, `msgspec.convert` brings it back, and training
    that goes on with it goes on as if it had never stopped.
    """

    rho: float = RHO
    mean: float = 0.0
    variance: float = 0.0
    batches: int = 0

    def updated(self, values: Sequence[float | None]) -> Ema:
        """After one more batch (reconstructed): mu <- rho mu + (1 - rho) mean(batch), likewise the
        variance (of the batch, divided by n); the first batch gives both. A batch without any
        value, where nothing was scorable, changes nothing.

        Raises UsageError for values that are no finite numbers.
        """
        known = [value for value in values if value is not None]
        if not all(math.isfinite(value) for value in known):
            raise UsageError("a reward is infinite or no number: it cannot be averaged")
        if not known:
            return self
        mean = sum(known) / len(known)
        variance = sum((value - mean) ** 2 for value in known) / len(known)
        kept = self.rho if self.batches else 0.0
        return Ema(
            rho=self.rho,
            mean=kept * self.mean + (1 - kept) * mean,
            variance=kept * self.variance + (1 - kept) * variance,
            batches=self.batches + 1,
        )

    def normalised(self, values: Sequence[float | None]) -> list[float | None]:
        """(r - mu) / (sqrt(var) + 1e-6) of each; None stays None."""
        scale = math.sqrt(self.variance) + TINY
        return [None if value is None else (value - self.mean) / scale for value in values]
