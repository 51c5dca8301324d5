"""PACS, Office-Home and VLCS: one class, three data sets of four domains, as a folder of folders.

One domain is held out. Training sees the other three, but for the share that DomainBed keeps away from training in
order to choose among models; the final step is used here as in the paper, so nothing is chosen and these rows are left
out altogether. Half of the held-out domain is for probing (val), half is reported on (test); the paper does not say how
it divides them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ftt.arrays import BoolArray, IntArray
from ftt.data.checksums import Checksums
from ftt.data.dataset import Dataset, NotPlacedError
from ftt.data.decoded import image_inputs
from ftt.data.grouped import DatasetInfo, GroupedData
from ftt.data.published import check_counts, find_folder
from ftt.data.roots import Roots
from ftt.errors import FttError, unknown
from ftt.params import Json, param
from ftt.rng import generator

IMAGES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")
HOW = "unpack it as $FTT_DATA/{folder} (<domain>/<class>/<image>), and check with: ftt data show {name}"

OFFICE_HOME = """
Alarm_Clock Backpack Batteries Bed Bike Bottle Bucket Calculator Calendar Candles Chair Clipboards Computer Couch
Curtains Desk_Lamp Drill Eraser Exit_Sign Fan File_Cabinet Flipflops Flowers Folder Fork Glasses Hammer Helmet Kettle
Keyboard Knives Lamp_Shade Laptop Marker Monitor Mop Mouse Mug Notebook Oven Pan Paper_Clip Pen Pencil Postit_Notes
Printer Push_Pin Radio Refrigerator Ruler Scissors Screwdriver Shelf Sink Sneakers Soda Speaker Spoon TV Table
Telephone ToothBrush Toys Trash_Can Webcam
"""


@dataclass(frozen=True)
class Domain:
    """One domain: its name, its published number of images, and what else its folder is called."""

    name: str
    images: int
    spellings: tuple[str, ...] = ()

    def is_called(self, word: str) -> bool:
        return plain(word) in map(plain, (self.name, *self.spellings))


def plain(word: str) -> str:
    """Letters and digits only, in lower case: "Real World", "real_world" and "RealWorld" are the same."""
    return re.sub(r"[^a-z0-9]", "", word.lower())


@dataclass(frozen=True)
class Domains(Dataset):
    """Four domains of the same classes; the attribute is the domain."""

    domains: ClassVar[tuple[Domain, ...]]
    folders: ClassVar[tuple[str, ...]]
    numbered: ClassVar[bool] = False
    """Whether class folders may be numbers, in the order of the classes."""

    held_out: str = param("", help="domain to probe and test on; training uses the others")
    hold_out: float = param(0.2, help="share of the training domains left out, as in DomainBed", low=0, high=0.9)
    seed: int = param(0, help="seed of the splits", low=0)
    size: int = param(224, help="image size in pixels (shorter side, then centre crop)", low=16, high=4096)

    def __post_init__(self) -> None:
        super().__post_init__()
        known = [domain.name for domain in self.domains]
        matches = [domain.name for domain in self.domains if domain.is_called(self.held_out or known[-1])]
        if not matches:
            raise unknown(f"domain of {self.name!r}", self.held_out, known)
        # One spelling, so that a run has one key.
        object.__setattr__(self, "held_out", matches[0])

    def load(self, roots: Roots) -> GroupedData:
        root = self.find(roots)
        paths: list[Path] = []
        ids: list[str] = []
        y, a, split = [], [], []
        for code, domain in enumerate(self.domains):
            folder = self._folder(root, domain)
            files, labels = self._files(folder)
            # A generator of its own for every domain: what is held out does not change how the others are divided.
            rng = generator(self.seed, "domains", domain.name)
            if domain.name == self.held_out:
                split.append(np.where(share_of(labels, 0.5, rng), "test", "val"))
            else:
                split.append(np.where(share_of(labels, self.hold_out, rng), "", "train"))
            paths += files
            ids += [f"{domain.name}/{file.relative_to(folder).as_posix()}" for file in files]
            y.append(labels)
            a.append(np.full(len(files), code, dtype=np.int64))
        found = {domain.name: (len(labels),) for domain, labels in zip(self.domains, y, strict=True)}
        check_counts(self.name, found, {domain.name: (domain.images,) for domain in self.domains})
        parts, labels = np.concatenate(split), np.concatenate(y)
        rows = np.flatnonzero(parts != "")
        return GroupedData(
            # All domains in one list: whichever is held out, they are decoded once.
            image_inputs(paths, self.size, roots).take(rows),
            labels[rows],
            np.concatenate(a)[rows],
            parts[rows],
            self.info,
            y_clean=labels[rows],
            ids=np.array(ids)[rows],
        )

    def content(self, roots: Roots) -> Json:
        try:
            root = self.find(roots)
        except NotPlacedError:
            return None
        names, called = [], []
        for domain in self.domains:
            folder = str(self._folder(root, domain))
            for file in map(str, self._files(Path(folder))[0]):
                called.append(f"{domain.name}{file.removeprefix(folder)}")
                names.append(file.removeprefix(f"{root}/"))
        return Checksums(roots).manifest(root, names, called)

    def inventory(self, roots: Roots) -> tuple[Path, dict[str, tuple[int, ...]], list[str]]:
        """The placed folder, the number of images of every domain that is there, and their names."""
        root = self.find(roots)
        files = {name: self._files(folder)[0] for name, folder in self._named(root).items()}
        counts: dict[str, tuple[int, ...]] = {
            domain.name: (len(files[domain.name]),) for domain in self.domains if domain.name in files
        }
        return root, counts, [f"{name}/{file.name}" for name, listed in files.items() for file in listed]

    @classmethod
    def find(cls, roots: Roots) -> Path:
        layout = f"{', '.join(domain.name for domain in cls.domains)}, each with one folder per class"
        return find_folder(cls.info, roots, cls.folders, lambda f: bool(cls._named(f)), layout)

    @classmethod
    def _named(cls, root: Path) -> dict[str, Path]:
        """The folders of domains in `root`, by the name of the domain."""
        return {domain.name: f for f in _folders(root) for domain in cls.domains if domain.is_called(f.name)}

    def _folder(self, root: Path, domain: Domain) -> Path:
        named = self._named(root)
        if domain.name not in named:
            raise FttError(
                f"the domain {domain.name!r} of {self.name!r} is missing",
                given=f"{root} with {', '.join(f.name for f in _folders(root))}",
                allowed=f"{domain.name}/<class>/<image>",
                hint=self.info.how_to_get,
            )
        return named[domain.name]

    def _files(self, folder: Path) -> tuple[list[Path], IntArray]:
        """The images of one domain and their classes, in the order of the names."""
        codes = {plain(name): code for code, name in enumerate(self.info.classes)}
        if self.numbered:
            codes |= {str(code): code for code in range(len(self.info.classes))}
        files: list[Path] = []
        labels: list[int] = []
        for part in self._parts(folder):
            for child in _folders(part):
                if plain(child.name) not in codes:
                    raise unknown(f"class of {self.name!r} (folder {child})", child.name, self.info.classes)
                images = sorted(f for f in child.iterdir() if f.suffix.lower() in IMAGES and f.name[0] != ".")
                files += images
                labels += [codes[plain(child.name)]] * len(images)
        return files, np.array(labels, dtype=np.int64)

    def _parts(self, folder: Path) -> list[Path]:
        """The folders that hold the class folders of a domain: itself."""
        return [folder]


def share_of(y: IntArray, share: float, rng: np.random.Generator) -> BoolArray:
    """Mask of a random share of the rows: of all, and of every class, to within one row.

    Parameters
    ----------
    y : (n,) int array
        Classes.
    share : float
        Between 0 and 1.
    """
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    due = np.floor(np.arange(len(y) + 1) * share)
    mask = np.zeros(len(y), dtype=bool)
    mask[order[due[1:] > due[:-1]]] = True
    return mask


def _folders(root: Path) -> list[Path]:
    return sorted(f for f in root.iterdir() if f.is_dir() and f.name[0] not in "._")


@dataclass(frozen=True)
class PACS(Domains):
    """Seven classes as art paintings, cartoons, photos and sketches."""

    name: ClassVar[str] = "pacs"
    domains: ClassVar[tuple[Domain, ...]] = (
        Domain("art_painting", 2048, ("art",)),
        Domain("cartoon", 2344),
        Domain("photo", 1670),
        Domain("sketch", 3929),
    )
    folders: ClassVar[tuple[str, ...]] = ("PACS", "pacs", "PACS/kfold", "pacs/kfold")
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="pacs",
        classes=("dog", "elephant", "giraffe", "guitar", "horse", "house", "person"),
        attributes=("art_painting", "cartoon", "photo", "sketch"),
        summary="seven classes in four domains (art painting, cartoon, photo, sketch), 9,991 images",
        licence="not stated; free for research use with citation",
        citation="Li et al., Deeper, Broader and Artier Domain Generalization, ICCV 2017",
        how_to_get="download PACS from its authors or with DomainBed's script, "
        + HOW.format(folder="PACS", name="pacs"),
    )


@dataclass(frozen=True)
class OfficeHome(Domains):
    """Sixty-five things of offices and homes as art, clip art, product pictures and photos."""

    name: ClassVar[str] = "officehome"
    domains: ClassVar[tuple[Domain, ...]] = (
        Domain("Art", 2427),
        Domain("Clipart", 4365),
        Domain("Product", 4439),
        Domain("Real World", 4357, ("real",)),
    )
    folders: ClassVar[tuple[str, ...]] = (
        "office_home",
        "officehome",
        "OfficeHome",
        "OfficeHomeDataset_10072016",
        "office_home/OfficeHomeDataset_10072016",
    )
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="officehome",
        classes=tuple(OFFICE_HOME.split()),
        attributes=("Art", "Clipart", "Product", "Real World"),
        summary="65 classes in four domains (art, clip art, product, real world), 15,588 images",
        licence="for non-commercial research and education only; may not be redistributed",
        citation="Venkateswara et al., Deep Hashing Network for Unsupervised Domain Adaptation, CVPR 2017",
        how_to_get="get OfficeHomeDataset_10072016.zip from its authors (hemanthdv.org/officeHomeDataset.html), "
        + HOW.format(folder="office_home", name="officehome"),
    )


@dataclass(frozen=True)
class VLCS(Domains):
    """Five classes in the photos of four older data sets.

    The folders may be those of DomainBed (``Caltech101/bird``) or the original ones: ``CALTECH/full/0`` (or
    ``train/0`` and ``crossval/0``, which together are the same) and ``CALTECH/test/0``.
    """

    name: ClassVar[str] = "vlcs"
    numbered: ClassVar[bool] = True
    domains: ClassVar[tuple[Domain, ...]] = (
        Domain("Caltech101", 1415, ("caltech",)),
        Domain("LabelMe", 2656),
        Domain("SUN09", 3282, ("sun",)),
        Domain("VOC2007", 3376, ("voc", "pascal")),
    )
    folders: ClassVar[tuple[str, ...]] = ("VLCS", "vlcs")
    info: ClassVar[DatasetInfo] = DatasetInfo(
        name="vlcs",
        classes=("bird", "car", "chair", "dog", "person"),
        attributes=("Caltech101", "LabelMe", "SUN09", "VOC2007"),
        summary="five classes in four domains (Caltech101, LabelMe, SUN09, VOC2007), 10,729 photos",
        licence="those of Caltech101, LabelMe, SUN09 and VOC2007: for research; may not be redistributed",
        citation="Fang et al., Unbiased Metric Learning, ICCV 2013 (after Torralba and Efros, CVPR 2011)",
        how_to_get="get VLCS.tar.gz with DomainBed's download script, " + HOW.format(folder="VLCS", name="vlcs"),
    )

    def _parts(self, folder: Path) -> list[Path]:
        inside = {f.name.lower(): f for f in _folders(folder)}
        # `full` is `train` and `crossval` together: reading all three would count these images twice.
        names = ("full", "test") if "full" in inside else ("train", "crossval", "test")
        return [inside[name] for name in names if name in inside] or [folder]
