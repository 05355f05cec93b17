"""Hyperlinks of the terminal (OSC 8): cells whose text opens an address. Terminals that know none ignore the sequence.

An address comes from a model or a file, so only printable ASCII of a few schemes reaches the terminal.
"""

import os
import re
import zlib
from urllib.parse import quote

from rich.style import Style

_LINK = "link"
_SAFE = re.compile(r"(?:(?:https?|file)://|mailto:)[!-~]{1,2000}")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))

CLOSE = "\x1b]8;;\x1b\\"
"""Ends a hyperlink."""


def linked(style: Style, address: str) -> Style:
    """Return a style whose text opens an address of the web or of mail; the style itself for any other."""
    return _linked(style, address) if address.startswith(("https://", "http://", "mailto:")) else style


def linked_file(style: Style, path: str, host: str) -> Style:
    """Return a style whose text opens a file of this machine; the style itself without a host, or if it is not absolute."""
    return _linked(style, f"file://{host}{quote(path)}") if host and os.path.isabs(path) else style


def _linked(style: Style, address: str) -> Style:
    ascii_only = quote(address, safe=_PRINTABLE)
    return style + Style.from_meta({_LINK: ascii_only}) if _SAFE.fullmatch(ascii_only) else style


def link_of(style: Style) -> str:
    """Return the address that the text of a style opens; empty for none."""
    return str(style.meta.get(_LINK) or "") if style.meta else ""


def begin(link: str) -> str:
    """Return what begins a hyperlink; its parts have one ID, so that a terminal shows them as one."""
    return f"\x1b]8;id={zlib.crc32(link.encode()):08x};{link}\x1b\\" if _SAFE.fullmatch(link) else CLOSE
