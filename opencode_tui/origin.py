"""Where this installation of the program came from, by the files that pip and uv leave next to it."""

import json
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from urllib.parse import unquote, urlsplit

from msgspec import Struct, convert

NAME = "opencode-tui"
"""The name of the distribution."""


class Origin(Struct, frozen=True):
    """Where a distribution was installed from that is from no index; `folder` is empty unless it is a folder here."""

    folder: str
    is_editable: bool


class _DirInfo(Struct, frozen=True):
    editable: bool = False


class _DirectUrl(Struct, frozen=True):
    """`direct_url.json`, which pip and uv write for what is from no index."""

    url: str
    dir_info: _DirInfo | None = None


def find_distribution() -> Distribution | None:
    """Return the distribution of this program; None where it runs without an installation. Blocks for some lookups."""
    try:
        return distribution(NAME)
    except PackageNotFoundError:
        return None


def find_origin(found: Distribution) -> Origin | None:
    """Return where it comes from; None from an index. Raises ValueError if its `direct_url.json` is damaged."""
    text = found.read_text("direct_url.json")
    if not text:
        return None
    direct = convert(json.loads(text), _DirectUrl)
    address = urlsplit(direct.url)
    folder = unquote(address.path) if address.scheme == "file" and direct.dir_info is not None else ""
    return Origin(folder, direct.dir_info is not None and direct.dir_info.editable)
