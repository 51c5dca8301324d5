"""ftt doctor: is this machine ready, and is everything that is kept as it was written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ftt.cli.common import CacheFlag, DataFlag, HomeFlag, JsonFlag, print_json, print_lines, print_table, shown

PACKAGES = ("torch", "torchvision", "timm", "lightning-fabric", "numpy", "scipy", "scikit-learn", "altair")


def doctor(
    store: Annotated[bool, typer.Option("--store", help="verify every stored file instead")] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="with --store: remove damaged files; they are made again when needed")
    ] = False,
    json: JsonFlag = False,
    home: HomeFlag = None,
    cache: CacheFlag = None,
    data: DataFlag = None,
) -> None:
    """Check versions, threads, torch and torchvision builds, data sets and disk space; or the store."""
    if store or repair:
        _examine_store(home, cache, data, repair, json)
        return
    findings = _examine(home, cache, data)
    if json:
        print_json(findings)
        return
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in findings.items():
        text = "\n".join(f"{key}: {item}" for key, item in value.items()) if isinstance(value, dict) else str(value)
        table.add_row(name, shown(text))
    print_lines(table)


def _examine_store(home: Path | None, cache: Path | None, data: Path | None, repair: bool, json: bool) -> None:
    """Verify what is kept; damage that stays ends with exit code 1."""
    from ftt.cli.screen import watched
    from ftt.report.tables import TextTable
    from ftt.store import Home
    from ftt.store.verify import verify

    kept = Home.from_environment(home, cache, data)
    with watched():
        found = verify(kept, repair=repair)
    if json:
        print_json({**found.to_json(), "repaired": repair})
    else:
        rows = [[kind, str(found.files[kind]), str(damaged)] for kind, damaged in found.by_kind().items()]
        print_table(TextTable(f"files in {kept.root} and {kept.roots.cache}", ("kind", "files", "damaged"), rows))
        for damage in found.damage:
            print_lines(f"{damage.kind} {'removed' if repair else 'damaged'}: {damage.path} ({damage.reason})")
        print_lines(f"{len(found.damage)} damaged, {len(found.unfinished)} unfinished files of ended processes removed")
        if found.damage and not repair:
            print_lines("ftt doctor --store --repair removes damaged files; they are made again when needed")
    if found.damage and not repair:
        raise typer.Exit(1)


def _examine(home: Any, cache: Any, data: Any) -> dict[str, Any]:
    import platform
    import shutil
    from importlib.metadata import PackageNotFoundError, version

    import torch
    from threadpoolctl import threadpool_info

    from ftt import compiled, registry, threads
    from ftt.backbones.torchvision_guard import ensure_torchvision_imports
    from ftt.store import Home
    from ftt.store.removal import disk_use
    from ftt.version import __version__

    def version_of(package: str) -> str:
        try:
            return version(package)
        except PackageNotFoundError:
            return "not installed"

    import numpy  # noqa: F401 (loads the BLAS that threadpool_info looks at)

    guarded = ensure_torchvision_imports()
    kept = Home.from_environment(home, cache, data)
    roots = kept.roots
    pools = {f"{pool['internal_api']} ({pool['prefix']})": pool["num_threads"] for pool in threadpool_info()}
    disk = {
        str(place): f"{shutil.disk_usage(_existing(place)).free / 1e9:.0f} GB free"
        for place in (kept.root, roots.cache)
    }
    return {
        "ftt": __version__,
        **({"conflict": conflict} if (conflict := _same_import_name()) else {}),
        "python": platform.python_version(),
        "versions": {package: version_of(package) for package in PACKAGES},
        "cores": threads.available(),
        "threads": {"torch": torch.get_num_threads(), **pools},
        "device": "CUDA" if torch.cuda.is_available() else "MPS" if torch.backends.mps.is_available() else "CPU",
        "kernels": "compiled"
        if compiled.library("float32") and compiled.library("float64")
        else "not compiled: trainings in one thread are slower; install a C compiler, then the package again",
        "torchvision": "a CUDA build beside a CPU build of torch: its missing operators are declared, images work"
        if guarded
        else "matches torch",
        "data": {name: _whereabouts(name, roots) for name in registry.DATASETS.entries()},
        "folders": {"home": str(kept.root), "cache": str(roots.cache), "data": str(roots.data or "not set")},
        "disk": disk,
        "disk use": {name: f"{size / 1e6:.1f} MB" for name, size in disk_use(kept).items()} or "nothing yet",
    }


def _whereabouts(name: str, roots: Any) -> str:
    """Whether the files of a data set are on this machine, or what to do about it."""
    from ftt import registry
    from ftt.data.dataset import NotPlacedError
    from ftt.errors import FttError

    try:
        source = registry.DATASETS.get(name)
    except FttError as error:
        # A broken plug-in must not hide what there is to say about the others.
        return error.problem
    if source.paths:
        return "your own files"
    if parts := source.collections():
        return "here" if all(part.found(roots) for part in parts) else f"not here yet: ftt data get {name}"
    try:
        place = source.find(roots)
    except NotPlacedError:
        return f"not on this machine; what to do: ftt data get {name}"
    return str(place or "embedded")


def _same_import_name() -> str | None:
    """Another distribution whose import package is called ftt, as that of the name ``ftt`` on PyPI is."""
    from importlib.metadata import packages_distributions, version

    others = sorted({*packages_distributions().get("ftt", ())} - {"freeze-then-train"})
    if not others:
        return None
    named = ", ".join(f"{name} {version(name)}" for name in others)
    return (
        f"{named} has the same import name and is another project; one overwrites files of the other: "
        f"pip uninstall {' '.join(others)}, then pip install --force-reinstall --no-deps freeze-then-train"
    )


def _existing(path: Any) -> Any:
    """The path or the nearest folder above it that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
