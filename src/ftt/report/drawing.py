"""The JavaScript that draws charts, bundled once per version and kept beside what was fetched."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

from ftt.atomic import replacing
from ftt.data.roots import Roots

_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def drawing_library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; bundling takes seconds, so the bundle is kept."""
    import vl_convert

    version = metadata.version("vl-convert-python")
    path = Roots.from_environment().cache / "page" / f"drawing-{version}.js"
    if (kept := _read(path)) is not None:
        return kept
    bundle: str = vl_convert.javascript_bundle(_SNIPPET)
    # A folder that cannot be written to costs time, nothing else.
    with suppress(OSError), replacing(path) as scratch:
        scratch.write_text(f"// {_digest(bundle)}\n{bundle}", encoding="utf-8", newline="")
    return bundle


def _read(path: Path) -> str | None:
    """The kept bundle, where it is whole."""
    try:
        head, _, bundle = path.read_bytes().decode().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return bundle if head == f"// {_digest(bundle)}" else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
