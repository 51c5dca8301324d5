"""The one exception users meet: what is wrong, what was given, what is allowed, what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    guess = f"did you mean {near[0]!r}?" if near else None
    steps = "; ".join(step for step in (guess, hint) if step)
    return FttError(
        f"there is no {kind} called {str(name)!r}",
        given=name,
        allowed=", ".join(known) or "nothing yet",
        hint=steps or None,
    )
