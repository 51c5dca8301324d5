"""The one exception users meet: what is wrong, what was given, what is allowed, what to do next."""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class FttError(ValueError):
    """A problem the caller can solve.

    Parameters
    ----------
    problem : str
        What is wrong, as a sentence without a full stop.
    given : object, optional
        The value that was given.
    allowed : object, optional
        What would have been accepted.
    hint : str, optional
        The next thing to do, a command where there is one.

    Examples
    --------
    >>> print(FttError("p is outside its range", given=1.5, allowed="0 <= p <= 1"))
    p is outside its range
      given:   1.5
      allowed: 0 <= p <= 1
    """

    def __init__(self, problem: str, *, given: object = None, allowed: object = None, hint: str | None = None) -> None:
        self.problem = problem
        self.given = given
        self.allowed = allowed
        self.hint = hint
        super().__init__(problem)

    def __str__(self) -> str:
        rows = [self.problem]
        for label, value in (("given", self.given), ("allowed", self.allowed), ("next", self.hint)):
            if value is not None:
                rows.append(f"  {label + ':':<9}{value}")
        return "\n".join(rows)

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default protocol between worker processes.
        return _rebuild, (type(self), self.problem, self.given, self.allowed, self.hint)


def _rebuild(cls: type[FttError], problem: str, given: object, allowed: object, hint: str | None) -> FttError:
    return cls(problem, given=given, allowed=allowed, hint=hint)


def unknown(kind: str, name: object, known: Iterable[str], *, hint: str | None = None) -> FttError:
    """The error for a name that is not in a list, with the nearest name that is.

    Examples
    --------
    >>> print(unknown("data set", "domino", ["digits", "dominoes"]))
    there is no data set called 'domino'
      given:   domino
      allowed: digits, dominoes
      next:    did you mean 'dominoes'?
    """
    known = sorted(known)
    near = difflib.get_close_matches(str(name), known, n=1)
    guess = f"did you mean {near[0]!r}?" if near else None
    steps = "; ".join(step for step in (guess, hint) if step)
    return FttError(
        f"there is no {kind} called {str(name)!r}",
        given=name,
        allowed=", ".join(known) or "nothing yet",
        hint=steps or None,
    )


@contextmanager
def described(what: str, allowed: str) -> Iterator[None]:
    """Around code that takes a description apart: parts that are missing or of another type are an `FttError`.

    Examples
    --------
    >>> with described("a recipe", "what Recipe.describe() returns"):
    ...     {}["join"]
    Traceback (most recent call last):
    ftt.errors.FttError: this does not describe a recipe
      given:   'join' is missing
      allowed: what Recipe.describe() returns
    """
    try:
        yield
    except KeyError as error:
        raise FttError(f"this does not describe {what}", given=f"{error} is missing", allowed=allowed) from None
    except (TypeError, AttributeError) as error:
        raise FttError(f"this does not describe {what}", given=str(error)[:120], allowed=allowed) from None


def as_ftt_error(error: BaseException) -> FttError:
    """An error of the system in words: what could not be done, and to which file.

    Examples
    --------
    >>> print(as_ftt_error(PermissionError(13, "Permission denied", "/home/x")))
    the file or folder cannot be used: permission denied
      given:   /home/x
    """
    if isinstance(error, FttError):
        return error
    if isinstance(error, OSError):
        reason = (error.strerror or str(error)).lower()
        hint = "free some space, or set FTT_HOME and FTT_CACHE to another disk" if error.errno == errno.ENOSPC else None
        return FttError(f"the file or folder cannot be used: {reason}", given=error.filename, hint=hint)
    if isinstance(error, MemoryError):
        return FttError("out of memory", given=str(error) or None, hint="fewer rows, smaller images or a smaller batch")
    return FttError(f"a value cannot be processed ({type(error).__name__})", given=str(error)[:200])
