"""Features of a kernel machine: standardised columns, or landmarks of an RBF kernel on these."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from varpu.tables import column_scales

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Features:
    """From rows to features.

    Attributes
    ----------
    mean, deviation : arrays of shape (d,)
        Of the columns.
    gamma : float
        Of the kernel ``exp(-gamma |x - x'|^2)``.
    landmarks : array of shape (m, d)
        Standardised rows; none of them for linear features.
    basis : array of shape (m, m)
        From similarities with the landmarks to coordinates (Nystroem).
    """

    mean: Floats
    deviation: Floats
    gamma: float
    landmarks: Floats
    basis: Floats

    def __call__(self, X: NDArray[Any]) -> Floats:
        """Features of rows, shape (n, d) or (n, m)."""
        view = (np.asarray(X, dtype=np.float64) - self.mean) / self.deviation
        if not len(self.landmarks):
            return np.asarray(view)
        return np.asarray(rbf_kernel(view, self.landmarks, gamma=self.gamma) @ self.basis.T)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything there is to them."""
        return {f.name: np.atleast_1d(getattr(self, f.name)) for f in fields(self)}


def from_arrays(arrays: dict[str, NDArray[Any]]) -> Features:
    """What :meth:`Features.to_arrays` gave."""
    rest = {name: array for name, array in arrays.items() if name != "gamma"}
    return Features(gamma=float(arrays["gamma"][0]), **rest)


def learn_features(
    X: NDArray[Any],
    kernel: str,
    gamma: float | None,
    n_components: int,
    random: np.random.RandomState,
) -> Features:
    """Read scales off the rows and, for ``kernel="rbf"``, draw landmarks from them."""
    mean, deviation = column_scales(X)
    n_columns = X.shape[1]
    width = 1.0 / n_columns if gamma is None else float(gamma)
    plain = Features(mean, deviation, width, np.empty((0, n_columns)), np.empty((0, 0)))
    if kernel == "linear":
        return plain
    machine = Nystroem(
        gamma=width, n_components=min(n_components, len(X)), random_state=random
    ).fit(plain(X))
    # In one order of memory, before it is stored and after: the bits of a product depend on it.
    landmarks = np.ascontiguousarray(machine.components_)
    return Features(mean, deviation, width, landmarks, np.ascontiguousarray(machine.normalization_))
