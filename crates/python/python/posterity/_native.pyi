"""The extension module. Import its names from ``posterity``."""

from collections.abc import Callable, Sequence
from typing import final

__all__ = [
    "Bounds",
    "Calibration",
    "Event",
    "Profile",
    "StepCount",
    "__version__",
    "accountants",
    "calibrate",
    "delta",
    "epsilon",
    "profile",
    "read_events",
    "steps",
]

__version__: str

@final
class Event:
    @staticmethod
    def gaussian(
        noise_multiplier: float,
        *,
        adjacency: str,
        steps: int = 1,
        rate: float | None = None,
        sampling: str | None = None,
        unit: str = "example",
    ) -> Event: ...
    @staticmethod
    def laplace(
        noise_multiplier: float,
        *,
        adjacency: str,
        steps: int = 1,
        rate: float | None = None,
        sampling: str | None = None,
        unit: str = "example",
    ) -> Event: ...
    @staticmethod
    def randomised_response(categories: int, gamma: float, *, steps: int = 1) -> Event: ...
    @staticmethod
    def shuffle_clones(users: int, local_epsilon: float, *, steps: int = 1, rate: float | None = None) -> Event: ...
    @staticmethod
    def shuffle_krr(
        users: int, categories: int, gamma: float, *, adversary: str, steps: int = 1, rate: float | None = None
    ) -> Event: ...
    @staticmethod
    def approximate(
        epsilon: float, delta: float, *, adjacency: str, steps: int = 1, unit: str = "example"
    ) -> Event: ...
    @staticmethod
    def barker(batch: int, rows: int, *, steps: int = 1) -> Event: ...
    def repeated(self, steps: int) -> Event: ...
    @property
    def mechanism(self) -> str: ...
    @property
    def steps(self) -> int: ...
    @property
    def adjacency(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def rate(self) -> float: ...
    @property
    def noise_multiplier(self) -> float | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    @staticmethod
    def _stored(text: str) -> Event: ...

@final
class Bounds:
    @property
    def lower(self) -> float: ...
    @property
    def upper(self) -> float: ...
    @property
    def accountant(self) -> str: ...
    @property
    def two_sided(self) -> bool: ...
    @property
    def verified(self) -> bool: ...
    def __float__(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Calibration:
    @property
    def noise_multiplier(self) -> float: ...
    @property
    def epsilon(self) -> Bounds: ...
    def __float__(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class StepCount:
    @property
    def steps(self) -> int: ...
    @property
    def epsilon(self) -> Bounds: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Profile:
    @property
    def epsilons(self) -> list[float]: ...
    @property
    def columns(self) -> list[tuple[str, list[float | None], list[float | None] | None]]: ...
    def words(self) -> str: ...
    def csv(self) -> str: ...
    def svg(self) -> str: ...

def read_events(text: str) -> list[Event]: ...
def epsilon(
    events: Event | Sequence[Event],
    *,
    delta: float,
    accountant: str = "pld",
    overlap: int = 1,
    group: int = 1,
    verify: bool = False,
) -> Bounds: ...
def delta(
    events: Event | Sequence[Event],
    *,
    epsilon: float,
    accountant: str = "pld",
    overlap: int = 1,
    group: int = 1,
    verify: bool = False,
) -> Bounds: ...
def calibrate(
    plan: Callable[[float], Event | Sequence[Event]],
    *,
    epsilon: float,
    delta: float,
    accountant: str = "pld",
    overlap: int = 1,
    group: int = 1,
    verify: bool = False,
) -> Calibration: ...
def steps(
    event: Event,
    *,
    epsilon: float,
    delta: float,
    accountant: str = "pld",
    overlap: int = 1,
    group: int = 1,
    verify: bool = False,
) -> StepCount: ...
def accountants() -> dict[str, str]: ...
def profile(
    events: Event | Sequence[Event], epsilons: Sequence[float], accountants: Sequence[str], overlap: int, group: int
) -> Profile: ...
