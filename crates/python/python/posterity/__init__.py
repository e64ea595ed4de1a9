"""Posterity: differentially private federated Bayesian learning.

What do events cost? :func:`epsilon`, :func:`delta`, :func:`calibrate`, :func:`steps` and :func:`profile` answer with certified
numbers.

>>> import posterity as ps
>>> event = ps.Event.gaussian(1.0, steps=10_000, rate=0.01, adjacency="add-remove")
>>> ps.epsilon(event, delta=1e-5)
Bounds(lower=6.18771, upper=6.18772, accountant='pld')
"""

from ._native import (
    Bounds,
    Calibration,
    Event,
    StepCount,
    __version__,
    accountants,
    calibrate,
    delta,
    epsilon,
    read_events,
    steps,
)
from .errors import (
    BudgetError,
    DataError,
    FileError,
    LedgerError,
    ParameterError,
    PosterityError,
    PrivacyError,
    RunError,
    Stopped,
    StudyError,
)
from .profiles import Profile, profile

__all__ = [
    "Bounds",
    "BudgetError",
    "Calibration",
    "DataError",
    "Event",
    "FileError",
    "LedgerError",
    "ParameterError",
    "PosterityError",
    "PrivacyError",
    "Profile",
    "RunError",
    "StepCount",
    "Stopped",
    "StudyError",
    "__version__",
    "accountants",
    "calibrate",
    "delta",
    "epsilon",
    "profile",
    "read_events",
    "steps",
]
