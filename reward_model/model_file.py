"""A fitted reward model as a file: plain JSON, numbers and names only, nothing that can run.

    {"format": "recall-workbench reward model", "version": 1, "features": [{"name": "HEAD",
     "memory": false, "mean": .., "scale": .., "coef": .., ..}, ..], "intercept": .., "C": .., ..}

Everything that belongs to a feature stands in its record, so lists of unequal length cannot occur.
Numbers are written with as many digits as it takes to read the same ones back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from reward_model.coefficients import Coefficients
from reward_model.logistic import scale_of
from workbench import __version__
from workbench.errors import DataError, UsageError
from workbench.schema import Record

__all__ = [
    "FORMAT",
    "RESAMPLED",
    "FittedFeature",
    "ModelFile",
    "Origin",
    "decode",
    "encode",
    "of_fit",
    "read",
]

FORMAT: Literal["recall-workbench reward model"] = "recall-workbench reward model"
Vector = npt.NDArray[np.float64]

# What a table of coefficients and a saved model both say of the fit.
RESAMPLED = ("n", "participants", "interval", "level", "resamples", "failed", "notes")
LARGEST = 4_000_000  # bytes; a model of a dozen features has 3,000

# How files begin that run code on load, or hold one that does.
RUNNABLE = {
    b"\x80": "a pickle",
    b"PK\x03\x04": "an archive (as torch and NumPy write, with pickles inside)",
    b"\x93NUMPY": "a NumPy file",
    **dict.fromkeys(
        (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"BZh", b"\xfd7zXZ"),
        "a compressed file (as joblib writes, with a pickle inside)",
    ),
}


class FittedFeature(
    Record, frozen=True, kw_only=True, omit_defaults=False, forbid_unknown_fields=True
):
    """One feature of a fitted model: training mean and deviation, weight per deviation, interval.

    `memory` None: the rubric does not say. A constant column has the deviation 1 and the weight 0.
    """

    name: str
    memory: bool | None
    mean: float
    scale: float
    coef: float
    constant: bool = False
    lo: float | None = None
    hi: float | None = None


class Origin(Record, frozen=True, kw_only=True, omit_defaults=False, forbid_unknown_fields=True):
    """What a model was fitted to: the comparisons' name and digest (`data`), the identity of the
    scorer of their features, whether any were made up, and how many were left out, by reason."""

    dataset: str = ""
    data: str = ""
    scorer: dict[str, Any] = msgspec.field(default_factory=dict)
    synthetic: bool = False
    excluded: dict[str, int] = msgspec.field(default_factory=dict)

    def refuse_other(self, scorer: Mapping[str, Any]) -> None:
        """Raise UsageError where features come from another scorer than the model's.

        Versions of one scorer's rules may differ, and a model that names no scorer takes any.
        """
        differing = sorted(
            key
            for key in {*self.scorer, *scorer} - {"version"}
            if self.scorer.get(key) != scorer.get(key)
        )
        if self.scorer and differing:
            # Another scorer is named; of one scorer it is said what differs.
            said = ["name"] if "name" in differing else differing
            mine, theirs = (
                ", ".join(f"{key} {one.get(key)}" for key in said) for one in (self.scorer, scorer)
            )
            raise UsageError(
                f"the model was fitted to scores by another scorer ({mine}) than these ({theirs}): "
                "their scales differ; score with the model's scorer, or fit a model to these"
            )


class ModelFile(Record, frozen=True, kw_only=True, omit_defaults=False, forbid_unknown_fields=True):
    """A fitted model. `n` training comparisons, `preferring_memory` of them prefer memory;
    `participants` is 0 where no intervals were asked for, and then the rest of them is empty."""

    format: Literal["recall-workbench reward model"] = FORMAT
    version: Literal[1] = 1
    features: tuple[FittedFeature, ...]
    intercept: float
    C: float
    n: int
    preferring_memory: int
    participants: int = 0
    interval: str = ""
    level: float = 0.95
    resamples: int = 0
    failed: int = 0
    notes: tuple[str, ...] = ()
    origin: Origin = msgspec.field(default_factory=Origin)
    code: str = __version__


def of_fit(x: Vector, y: Vector, table: Coefficients) -> ModelFile:
    """A fit to x (n, d), y (n,) as it is saved: its standardisation and its coefficients."""
    scale, constant = scale_of(x), np.ptp(x, axis=0) == 0
    return ModelFile(
        features=tuple(
            FittedFeature(
                name=one.feature,
                memory=one.memory,
                mean=float(scale.mean[at]),
                scale=float(scale.deviation[at]),
                coef=one.beta or 0.0,
                constant=bool(constant[at]),
                lo=one.lo,
                hi=one.hi,
            )
            for at, one in enumerate(table.rows)
        ),
        intercept=table.intercept or 0.0,
        C=float(table.C or 0.0),
        preferring_memory=int(y.sum()),
        **{name: getattr(table, name) for name in RESAMPLED},
    )


def encode(file: ModelFile) -> str:
    """The model as JSON, indented for people. Raises DataError for numbers that JSON lacks."""
    _check(file, "the model")
    return msgspec.json.format(msgspec.json.encode(file), indent=1).decode()


def decode(text: str | bytes, name: str = "the model") -> ModelFile:
    """A model from its JSON; `name` is what messages call it.

    Raises DataError for what is no such model: pickles and archives, other JSON, other versions,
    missing or unknown fields, numbers that are none, features named twice.
    """
    data = text.encode() if isinstance(text, str) else text
    found = next((what for start, what in RUNNABLE.items() if data.startswith(start)), None)
    if found:
        raise DataError(
            f"{name} is {found}, which could run code when it is loaded, and was not opened; a "
            "reward model is JSON, as `MemoryAwareRewardModel.save` writes it"
        )
    if len(data) > LARGEST:
        raise DataError(f"{name} has {len(data):,} bytes; no reward model is over {LARGEST:,}")
    try:
        file = msgspec.json.decode(data, type=ModelFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(
            f"{name} is no reward model (format {FORMAT!r}, version 1): {error}"
        ) from error
    _check(file, name)
    return file


def read(path: Path | str) -> bytes:
    """A model file's bytes, of one over the limit only so many that `decode` refuses them.

    Raises DataError where there is no such file.
    """
    place = Path(path)
    try:
        with place.open("rb") as stream:
            return stream.read(LARGEST + 1)
    except OSError as error:
        raise DataError(f"{place} cannot be read: {error.strerror or error}") from error


def _check(file: ModelFile, name: str) -> None:
    names = [one.name for one in file.features]
    twice = [one for at, one in enumerate(names) if one in names[:at]]
    if not names or twice:
        what = f"names the feature {twice[0]!r} twice" if twice else "has no features"
        raise DataError(f"{name} {what}; fit it again")
    for one in file.features:
        numbers = {"mean": one.mean, "scale": one.scale, "coef": one.coef}
        numbers |= {key: end for key, end in (("lo", one.lo), ("hi", one.hi)) if end is not None}
        for field, value in numbers.items():
            if not math.isfinite(value) or (field == "scale" and value <= 0):
                wanted = "above 0" if field == "scale" else "a finite number"
                raise DataError(f"{name}, feature {one.name!r}: {field} must be {wanted}")
        if one.constant and one.coef:
            raise DataError(f"{name}, feature {one.name!r} is constant, so its coef must be 0")
    for field, value in (("intercept", file.intercept), ("C", file.C)):
        if not math.isfinite(value) or (field == "C" and value <= 0):
            raise DataError(f"{name}: {field} must be {'above 0' if field == 'C' else 'finite'}")
    if not 0 < file.preferring_memory < file.n:
        raise DataError(
            f"{name}: {file.preferring_memory} of n = {file.n} comparisons prefer memory, and a "
            "model is fitted to both classes"
        )
