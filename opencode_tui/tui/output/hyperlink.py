"""Hyperlinks of the terminal (OSC 8): cells whose text opens an address. Terminals that know none ignore the sequence.

An address comes from a model or a file, so only printable ASCII of a few schemes reaches the terminal.
"""

import os
import re
import zlib
from types import MappingProxyType
from urllib.parse import quote

from rich.style import Style

_LINK = "link"
_SAFE = re.compile(r"(?:[a-z][a-z0-9+.-]{1,30}://|mailto:)[!-~]{1,2000}")
"""Addresses that are written; the scheme of those from a model is checked before, that of files is chosen in the settings."""
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))

CLOSE = "\x1b]8;;\x1b\\"
"""Ends a hyperlink."""


def linked(style: Style, address: str) -> Style:
    """Return a style whose text opens an address of the web or of mail; the style itself for any other."""
    return _linked(style, address) if address.startswith(("https://", "http://", "mailto:")) else style


_EDITORS = MappingProxyType(
    {
        "vscode": "vscode://file{path}:{line}",
        "vscode-insiders": "vscode-insiders://file{path}:{line}",
        "vscodium": "vscodium://file{path}:{line}",
        "cursor": "cursor://file{path}:{line}",
        "windsurf": "windsurf://file{path}:{line}",
        "zed": "zed://file{path}:{line}",
        "idea": "idea://open?file={path}&line={line}",
        "pycharm": "pycharm://open?file={path}&line={line}",
        "textmate": "txmt://open?url=file://{path}&line={line}",
    }
)


def linked_file(style: Style, path: str, host: str, *, line: int = 0, form: str = "") -> Style:
    """Return a style whose text opens a file of this machine; the style itself without a host, or if it is not absolute.

    `form` is the name of an editor or the form of its addresses, with `{path}` and `{line}`; without it the address is that of the
    file alone, which names no line.
    """
    if not host or not os.path.isabs(path):
        return style
    if not form:
        return _linked(style, f"file://{host}{quote(path)}")
    address = _EDITORS.get(form, form).replace("{path}", quote(path)).replace("{line}", str(line or 1))
    return _linked(style, address)


def _linked(style: Style, address: str) -> Style:
    ascii_only = quote(address, safe=_PRINTABLE)
    return style + Style.from_meta({_LINK: ascii_only}) if _SAFE.fullmatch(ascii_only) else style


def link_of(style: Style) -> str:
    """Return the address that the text of a style opens; empty for none."""
    return str(style.meta.get(_LINK) or "") if style.meta else ""


def begin(link: str) -> str:
    """Return what begins a hyperlink; its parts have one ID, so that a terminal shows them as one."""
    return f"\x1b]8;id={zlib.crc32(link.encode()):08x};{link}\x1b\\" if _SAFE.fullmatch(link) else CLOSE
