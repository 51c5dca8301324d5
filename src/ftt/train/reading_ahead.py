"""Batches that a thread reads while the one before is trained on."""

from __future__ import annotations

import contextvars
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """The same items in the same order, each made by a thread while the one before is in use.

    What fails there is raised here, when its turn comes. At most one item is made that nobody asks for.

    Examples
    --------
    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    # Messages of the thread go where those of the caller go.
    context = contextvars.copy_context()

    def following() -> list[T]:
        """The next item in a list, which is empty after the last."""
        return list(islice(items, 1))

    with ThreadPoolExecutor(1, thread_name_prefix="ftt-reader") as reader:
        coming = reader.submit(context.run, following)
        while found := coming.result():
            coming = reader.submit(context.run, following)
            yield from found
