"""Batches that are read ahead are the same batches, and what goes wrong in the thread is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from tests.heard import Heard

from ftt.backbones.tinyconv import TinyConv
from ftt.data import Roots
from ftt.data.digits import Digits
from ftt.progress import say, shown_on
from ftt.rows import InMemory
from ftt.spec import Training
from ftt.threads import limited_to
from ftt.train import batches
from ftt.train.batches import Batches, Frozen
from ftt.train.reading_ahead import ahead


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("ftt-reader")]


def test_the_next_item_is_made_while_one_is_in_use() -> None:
    made, second = [], threading.Event()

    def items() -> Iterator[int]:
        for number in range(3):
            made.append((number, threading.current_thread().name))
            if number == 1:
                second.set()
            yield number

    reading = ahead(items())
    assert next(reading) == 0
    assert second.wait(30)
    assert list(reading) == [1, 2]
    assert [number for number, _ in made] == [0, 1, 2]
    assert all(name.startswith("ftt-reader") for _, name in made)
    assert readers() == []


def test_a_failure_is_raised_when_its_turn_comes() -> None:
    def items() -> Iterator[int]:
        yield 0
        raise ValueError("damaged")

    reading = ahead(items())
    assert next(reading) == 0
    with pytest.raises(ValueError, match="damaged"):
        next(reading)
    assert readers() == []


def test_the_thread_ends_with_whoever_stops_early() -> None:
    reading = ahead(iter(range(100)))
    next(reading)
    reading.close()
    assert readers() == []


def test_messages_of_the_thread_reach_the_callers_display() -> None:
    def items() -> Iterator[int]:
        say("a file is damaged")
        yield 0

    heard = Heard()
    with shown_on(heard):
        assert list(ahead(items())) == [0]
    assert heard.said == ["a file is damaged"]


@pytest.mark.parametrize("augment", ["none", "crop-flip"])
def test_batches_are_the_same(augment: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    split = Digits().load(Roots(tmp_path, None))["train"]
    frozen = Frozen(InMemory(np.zeros((len(split), 0), dtype=np.float32)))
    used = []

    def counted(items: Iterator[Any]) -> Iterator[Any]:
        used.append(augment)
        return ahead(items)

    def load(threads: int) -> list[Any]:
        reading = Batches(split, TinyConv(), frozen, Training(augment=augment, batch_size=64))
        with limited_to(threads):
            return list(reading.load(reading.order(np.arange(len(split)), 0, 0), 0, 0))

    monkeypatch.setattr(batches, "ahead", counted)
    here = load(2)
    assert used == []
    there = load(1)
    assert used == ([] if augment == "none" else [augment])
    assert len(here) == len(there) > 1
    for one, other in zip(here, there, strict=True):
        assert torch.equal(one.x, other.x)
        assert torch.equal(one.y, other.y)
