"""Whether classes are separated: then a fit without penalty has no finite coefficients."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["undetermined"]

Vector = npt.NDArray[np.float64]

MARGIN = 1e-7  # of standardised columns under weights of at most 1; less is rounding


def undetermined(z: Vector, y: Vector) -> str:
    """Why the unpenalised fit of standardised columns z (n, d) to y (n,) of 0 and 1 does not exist
    or is not unique; "" where it does and is.

    Classes are separated where some weights put every row on its own side, or on the border but
    not all of them: found by a linear programme (Konis 2007), which, unlike watching a fit
    diverge, is exact.
    """
    from scipy.optimize import linprog

    n, d = z.shape
    rank = int(np.linalg.matrix_rank(np.column_stack([z, np.ones(n)])))
    if rank <= d:
        return (
            f"{d} columns and an intercept have rank {rank} over {n} comparisons: some columns "
            "follow from others, and no fit without penalty is the only one"
        )
    signed = np.column_stack([z, np.ones(n)]) * (2 * y - 1)[:, None]
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(n), bounds=(-1, 1))
    if (signed @ found.x).max() < MARGIN:
        return ""
    # The widest border between the classes: none where some rows must lie on it.
    width = np.zeros(d + 2)
    width[-1] = -1
    rows = np.column_stack([-signed, np.ones(n)])
    widest = linprog(width, A_ub=rows, b_ub=np.zeros(n), bounds=(-1, 1))
    kind = "separated" if -widest.fun > MARGIN else "separated but for ties on the border"
    return (
        f"the classes are {kind} by the features (n = {n}, {int(y.sum())} of them prefer memory): "
        "coefficients without penalty are infinite, with one their size is the penalty's; they are "
        "not to be read as effects"
    )
