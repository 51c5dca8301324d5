"""Text from data is text: it commands no terminal, no spreadsheet and no page."""

from __future__ import annotations

import codecs
import html
import io
import re
from typing import TextIO

# Control characters (C0 and C1), marks that turn the direction of writing, and halves of characters.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_IN_ASCII = str.maketrans(
    {"–": "-", "−": "-", "—": "-", "·": "|", "…": "...", "→": "->", "≥": ">=", "≤": "<=", "×": "x", "’": "'"}
)


def printable(text: str, *, lines: bool = True) -> str:
    r"""The text with everything that would act instead of being seen as an escape; without `lines` newlines too.

    Examples
    --------
    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    text = _UNSEEN.sub(_escaped, text)
    return text if lines else text.replace("\n", r"\n").replace("\t", r"\t")


def markdown_cell(text: str) -> str:
    r"""The text as one cell of a Markdown table: one line, no HTML, no new column.

    Examples
    --------
    >>> print(markdown_cell("a|b <i>\nc"))
    a\|b &lt;i&gt; c
    """
    text = html.escape(printable(text), quote=False).replace("\\", "\\\\").replace("|", "\\|")
    return " ".join(text.split("\n")).replace("\t", " ")


def csv_cell(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula: an apostrophe goes before one.

    Examples
    --------
    >>> csv_cell("=cmd|' /C calc'!A0"), csv_cell("-1.5"), csv_cell("left")
    ("'=cmd|' /C calc'!A0", '-1.5', 'left')
    """
    text = printable(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\n")) and not _number(text) else text


def writes_everything(stream: TextIO) -> None:
    """Let a stream that has few characters, as that of an ASCII terminal, write the others in other words."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="ftt-plain")


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _in_few_characters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wanted = error.object[error.start : error.end].translate(_IN_ASCII)
    return wanted.encode("ascii", "backslashreplace").decode(), error.end


codecs.register_error("ftt-plain", _in_few_characters)
