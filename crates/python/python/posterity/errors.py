"""What can go wrong: every error has a code, a message, and a hint that says what to do."""

from __future__ import annotations

from typing import Any


class PosterityError(Exception):
    """Posterity refused, or could not go on.

    ``code`` is stable, and ``posterity explain CODE`` has a paragraph about it. ``hint`` says what to do next. ``place`` is
    the file, line and column in a study, where there is one.

    >>> import posterity as ps
    >>> try:
    ...     ps.Event.gaussian(-1.0, adjacency="substitute")
    ... except ps.PosterityError as error:
    ...     print(error.code)
    P001
    """

    code: str
    message: str
    hint: str
    place: str | None

    def __init__(self, message: str, *, code: str = "", hint: str = "", place: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.place = code, message, hint, place

    def __str__(self) -> str:
        code = f" ({self.code})" if self.code else ""
        hint = f"\nhint: {self.hint}" if self.hint else ""
        return f"{self.message}{code}{hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.message, self.code, self.hint, self.place)


class ParameterError(PosterityError, ValueError):
    """An argument has a value that it cannot have."""


class PrivacyError(PosterityError):
    """No theorem, accountant or gate covers what was asked."""


class BudgetError(PrivacyError):
    """What was asked costs more than was granted. Nothing was spent."""


class StudyError(PosterityError, ValueError):
    """A study cannot be read, or its parts do not fit together."""


class DataError(PosterityError, ValueError):
    """A table, a schema, or what a study wants of them."""


class RunError(PosterityError):
    """A run cannot begin or go on."""


class Stopped(RunError):
    """The run was stopped between two rounds. What was finished is kept."""


class LedgerError(PosterityError):
    """A ledger cannot be read, is not sound, or is in use."""


class FileError(PosterityError, OSError):
    """A file cannot be read or written."""


#: Exceptions by code; the longest prefix that fits counts.
_BY_CODE: dict[str, type[PosterityError]] = {
    "C0": ParameterError,
    "C003": FileError,
    "C004": FileError,
    "C02": FileError,
    "D": DataError,
    "L": LedgerError,
    "P": PrivacyError,
    "P001": ParameterError,
    "P006": BudgetError,
    "P007": BudgetError,
    "R": RunError,
    "R003": Stopped,
    "S": StudyError,
}


def exception_of(code: str, message: str, hint: str, place: str | None) -> PosterityError:
    """The exception of a code. The extension module calls this."""
    prefixes = (code[:length] for length in range(len(code), 0, -1))
    kind = next((_BY_CODE[prefix] for prefix in prefixes if prefix in _BY_CODE), PosterityError)
    return kind(message, code=code, hint=hint, place=place)


def _again(kind: type[PosterityError], message: str, code: str, hint: str, place: str | None) -> PosterityError:
    """An error from its pickle."""
    return kind(message, code=code, hint=hint, place=place)
