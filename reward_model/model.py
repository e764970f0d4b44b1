"""The memory-aware reward model: a logistic regression on rubric features, as a scikit-learn
estimator (SPEC B.2).

    p = sigmoid(w . z + b),   w, b = argmin  sum logloss + |w|^2 / 2C

z are the features standardised on the training set; p is the probability that the memory response
is preferred. The orientation is fixed, memory minus no memory, so the intercept means something:
the log odds of preferring memory where every feature is at its training mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from reward_model.coefficients import (
    Coefficient,
    Coefficients,
    Resampling,
    bootstrap_coefficients,
)
from reward_model.explanation import Explanation, explained
from reward_model.model_file import RESAMPLED, ModelFile, Origin, decode, encode, of_fit, read
from workbench.errors import DataError
from workbench.workspace import write_atomically

__all__ = ["MemoryAwareRewardModel", "UnfitError"]

Vector = npt.NDArray[np.float64]


class UnfitError(DataError, ValueError):
    """Training data or settings that no model can be fitted to: ours, and scikit-learn's kind."""


class MemoryAwareRewardModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc,unused-ignore]
    """L2 logistic regression on standardised features, readable and saved as plain JSON.

    Parameters
    ----------
    C : inverse strength of the penalty (default 0.1, the middle of the paper's grid).
    features : names of the columns; None takes a data frame's, or x0, x1, ..
    random_state : seed of the intervals (None: 0); the fit itself draws nothing.

    Attributes after `fit`
    ----------------------
    `classes_` (2,), the larger one stands for "memory preferred"; `mean_`, `scale_`, `coef_` (d,),
    `intercept_`, `features_` (names), `constant_` (names of columns that were the same in every
    row: coefficient 0), `file_` (all of it, as it is saved).
    """

    def __init__(
        self,
        C: float = 0.1,  # noqa: N803 - scikit-learn's name, and the paper's
        features: Sequence[str] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.C = C
        self.features = features
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(
        self,
        X: npt.ArrayLike,  # noqa: N803
        y: npt.ArrayLike,
        participants: Sequence[str] | None = None,
    ) -> MemoryAwareRewardModel:
        """Fit to X (n, d) and y (n,) of two classes, usually 0 and 1.

        With `participants` (n,) the coefficients get intervals by resampling participants. Raises
        UnfitError (a DataError and a ValueError) naming counts where there is one class only, the
        names do not fit the columns, or C is not above 0.
        """
        matrix, labels = validate_data(self, X, y, dtype=np.float64)
        self.classes_, target = _classes(labels)
        names = self._names(matrix.shape[1])
        if not (isinstance(self.C, Real) and 0 < self.C < math.inf):
            raise UnfitError(f"C must be a number above 0, not {self.C!r}")
        how = Resampling(seed=self.random_state or 0)
        table = bootstrap_coefficients(matrix, target, participants, names, float(self.C), how)
        self._take(of_fit(matrix, target, table))
        return self

    def _names(self, columns: int) -> tuple[str, ...]:
        given = self.features
        if given is None:
            given = getattr(self, "feature_names_in_", [f"x{at}" for at in range(columns)])
        names = tuple(map(str, given))
        if len(names) != columns or len(set(names)) != len(names):
            raise UnfitError(
                f"{len(names)} feature names ({len(set(names))} of them different) for {columns} "
                "columns; give each column its own"
            )
        return names

    def _take(self, file: ModelFile) -> None:
        """Make a file's numbers those of this model."""
        self.file_ = file
        self.features_ = tuple(one.name for one in file.features)
        self.constant_ = tuple(one.name for one in file.features if one.constant)
        for name in ("mean", "scale", "coef"):
            setattr(self, f"{name}_", np.array([getattr(one, name) for one in file.features]))
        self.intercept_ = file.intercept

    def contributions(self, X: npt.ArrayLike) -> Vector:  # noqa: N803
        """What each feature adds to the log odds of each row: (n, d)."""
        check_is_fitted(self)
        matrix = validate_data(self, X, dtype=np.float64, reset=False)
        added: Vector = (matrix - self.mean_) / self.scale_ * self.coef_
        return added

    def decision_function(self, X: npt.ArrayLike) -> Vector:  # noqa: N803
        """Log odds (n,) of preferring memory."""
        added = self.contributions(X)
        total = np.full(len(added), self.intercept_)
        # Feature by feature, so that the sum is the same to the last bit in any batch and on any
        # machine, and is that of `explain`.
        for column in added.T:
            total = total + column
        return total

    def predict_proba(self, X: npt.ArrayLike) -> Vector:  # noqa: N803
        """Probabilities (n, 2), in the order of `classes_`."""
        logit = self.decision_function(X)
        return np.column_stack([expit(-logit), expit(logit)])

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:  # noqa: N803
        """Classes (n,): the one that stands for memory where the log odds are above 0."""
        preferred = self.decision_function(X) > 0
        chosen: npt.NDArray[Any] = self.classes_[preferred.astype(int)]
        return chosen

    def explain(self, x: npt.ArrayLike) -> Explanation:
        """Why one pair's features x (d,) have the log odds that they have."""
        row = np.asarray(x, np.float64).reshape(1, -1)
        logit = float(self.decision_function(row)[0])
        return explained(self.file_, row[0], self.contributions(row)[0], logit)

    def coefficients(self) -> Coefficients:
        """The weights, shrunken by the penalty, with intervals where `fit` knew participants."""
        check_is_fitted(self)
        file = self.file_
        rows = tuple(
            Coefficient(feature=o.name, beta=o.coef, lo=o.lo, hi=o.hi, memory=o.memory)
            for o in file.features
        )
        same = {name: getattr(file, name) for name in ("intercept", "C", *RESAMPLED)}
        return Coefficients(rows=rows, **same)

    def signed(self, origin: Origin) -> MemoryAwareRewardModel:
        """This fitted model, saying what it was fitted to."""
        check_is_fitted(self)
        self.file_ = msgspec.structs.replace(self.file_, origin=origin)
        return self

    def to_json(self) -> str:
        """The fitted model as JSON (`model_file`). Raises UnfitError for labels other than 0, 1."""
        check_is_fitted(self)
        if set(self.classes_.tolist()) != {0, 1}:
            raise UnfitError(
                f"labels {self.classes_.tolist()}: a model is saved with labels 0 (no memory "
                "preferred) and 1 (memory preferred); fit it with these"
            )
        return encode(self.file_)

    @classmethod
    def from_json(cls, text: str | bytes, name: str = "the model") -> MemoryAwareRewardModel:
        """The model that `to_json` wrote, equal to the last bit. Raises DataError for all else."""
        file = decode(text, name)
        names = tuple(one.name for one in file.features)
        model = cls(C=file.C, features=names)
        model.classes_, model.n_features_in_ = np.array([0, 1]), len(names)
        model._take(file)
        return model

    def save(self, path: Path | str) -> None:
        """Write the model's JSON to a file, at once or not at all."""
        write_atomically(Path(path), self.to_json().encode() + b"\n")

    @classmethod
    def load(cls, path: Path | str) -> MemoryAwareRewardModel:
        """Read a saved model. Raises DataError, naming the file, where it is none."""
        return cls.from_json(read(path), str(path))


def _classes(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Vector]:
    """The two classes, sorted, and which labels are the second: 1.0 and 0.0 (n,)."""
    check_classification_targets(labels)
    kind = type_of_target(labels)
    if kind == "multiclass":
        raise UnfitError(
            "Only binary classification is supported. The type of the target is multiclass: leave "
            "ties out, or see `quality.clear_preferences`"
        )
    classes = np.unique(labels)
    if len(classes) < 2:
        raise UnfitError(
            f"only one class: all {len(labels)} comparisons have the label {classes[0]}, and a "
            "model is fitted to preferences of both kinds"
        )
    return classes, (labels == classes[1]).astype(np.float64)
