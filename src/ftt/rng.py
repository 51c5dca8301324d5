"""Randomness as a function of names: every draw comes from (seed, what for, when), so nothing has to be remembered.

A resumed run asks for the same numbers by the same names and gets the same bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


def derive(seed: int, *names: object) -> int:
    """A 63-bit seed for one purpose."""
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: object) -> np.random.Generator:
    """A NumPy generator for one purpose."""
    return np.random.default_rng(derive(seed, *names))


@contextmanager
def torch_seeded(seed: int, *names: object) -> Iterator[None]:
    """Seed torch inside the block only (initialisation, dropout); the caller's state is put back."""
    import torch

    number = derive(seed, *names)
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        # `torch.manual_seed` would remember for devices that are not there where in the program it was called.
        torch.default_generator.manual_seed(number)
        if devices:
            torch.cuda.manual_seed_all(number)
        yield
