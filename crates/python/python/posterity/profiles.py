"""Privacy profiles: δ as a function of ε, as arrays, tables and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import numpy


class Profile:
    """δ of events at every ε, by one or several accountants. :func:`profile` makes it.

    ``epsilons`` is an array; ``upper`` and ``lower`` have an array of δ for each accountant, with NaN where nothing can be
    certified. An accountant that proves no lower bounds is not in ``lower``.
    """

    epsilons: numpy.ndarray
    upper: dict[str, numpy.ndarray]
    lower: dict[str, numpy.ndarray]

    def __init__(self, native: _native.Profile) -> None:
        import numpy as np

        self._native = native
        self.epsilons = np.asarray(native.epsilons)
        self.upper = {name: np.asarray(upper, dtype=float) for name, upper, _ in native.columns}
        self.lower = {name: np.asarray(lower, dtype=float) for name, _, lower in native.columns if lower is not None}

    def __repr__(self) -> str:
        return f"<Profile: {self._native.words()}; {len(self.epsilons)} values of ε; {', '.join(self.upper)}>"

    def _repr_html_(self) -> str:
        return self.to_svg()

    def to_csv(self) -> str:
        """One line for each ε; numbers read back exactly."""
        return self._native.csv()

    def to_svg(self) -> str:
        """A picture, as in ``posterity account profile --svg``."""
        return self._native.svg()

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each ε, and columns of bounds."""
        import pandas as pd

        columns = {"epsilon": self.epsilons}
        for name, upper in self.upper.items():
            columns[f"{name}_upper"] = upper
            if name in self.lower:
                columns[f"{name}_lower"] = self.lower[name]
        return pd.DataFrame(columns)

    def plot(self, ax: Any = None) -> Any:
        """Draws δ against ε with matplotlib, and returns the axes. Lower bounds are shaded."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        for name, upper in self.upper.items():
            (line,) = ax.plot(self.epsilons, upper, label=name)
            if name in self.lower:
                ax.fill_between(self.epsilons, self.lower[name], upper, color=line.get_color(), alpha=0.3)
        ax.set(xlabel="ε", ylabel="δ", yscale="log")
        ax.legend()
        return ax


def profile(
    events: _native.Event | Sequence[_native.Event],
    *,
    epsilons: Iterable[float],
    accountants: Sequence[str] = ("pld",),
    overlap: int = 1,
    group: int = 1,
) -> Profile:
    """δ of an event, or of a list of events, at every ε.

    >>> import posterity as ps
    >>> event = ps.Event.gaussian(2.0, steps=4, adjacency="substitute")
    >>> curve = ps.profile(event, epsilons=[0.5, 1, 2], accountants=["pld", "rdp"])
    >>> bool((curve.upper["pld"] <= curve.upper["rdp"]).all())
    True
    """
    values = [float(epsilon) for epsilon in epsilons]
    return Profile(_native.profile(events, values, list(accountants), overlap, group))
