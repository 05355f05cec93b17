"""Substitution of `{env:NAME}` and `{file:path}` in strings of the settings.

They are replaced in parsed strings, never in the raw file, so that a value can only become part of that string. The result is not
substituted again. Paths are relative to the file that contains them; `~/` is the home folder.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from opencode_tui.config.notice import Notice
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.layer import Layer
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text

_PLACEHOLDER = re.compile(r"\{(env|file):([^{}\n]*)\}")


class Placeholder(Struct, frozen=True):
    """A `{env:NAME}` or `{file:path}` in the text at `path`."""

    path: KeyPath
    kind: str
    name: str


class Substituted(Struct, frozen=True):
    """The settings of a layer with its placeholders replaced, and warnings."""

    value: dict[str, Any]
    warnings: list[Notice]


def find_placeholders(value: Any, path: KeyPath = ()) -> Iterator[Placeholder]:
    """Yield every placeholder of a value, in order."""
    if isinstance(value, str):
        for match in _PLACEHOLDER.finditer(value):
            yield Placeholder(path, match.group(1), match.group(2).strip())
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from find_placeholders(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from find_placeholders(inner, (*path, index))


def resolve_file(name: str, folder: Path, home: Path) -> Path:
    """Return the absolute path that `{file:name}` means in a file of `folder`."""
    if name == "~" or name.startswith("~/"):
        return home / name[2:]
    return Path(os.path.normpath(folder / name))


class Substitution:
    """Replaces placeholders with the variables of one environment and the files of one machine."""

    def __init__(self, *, environ: Mapping[str, str], home: Path) -> None:
        self._environ = environ
        self._home = home

    def apply(self, layer: Layer) -> Substituted:
        """Return the layer's settings with every placeholder replaced. Blocks.

        An unset variable is an empty text and a warning; raises ConfigError for a file that cannot be read.
        """
        warnings: list[Notice] = []
        if not layer.has_placeholders:
            return Substituted(layer.value, warnings)
        return Substituted(self._replace(layer, layer.value, (), warnings), warnings)

    def _replace(self, layer: Layer, value: Any, path: KeyPath, warnings: list[Notice]) -> Any:
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {key: self._replace(layer, inner, (*path, key), warnings) for key, inner in items}
        if isinstance(value, list):
            members = enumerate(cast("list[Any]", value))
            return [self._replace(layer, inner, (*path, index), warnings) for index, inner in members]
        if not isinstance(value, str) or "{" not in value:
            return value

        def fill(match: re.Match[str]) -> str:
            name = match.group(2).strip()
            if not name:
                raise layer.error(path, f"{match.group()} is empty; write {{env:NAME}} or {{file:path}}")
            if match.group(1) == "file":
                return self._read(layer, path, name)
            name, with_default, default = name.partition(":-")  # of a .mcp.json
            if with_default:
                return self._environ.get(name) or default
            if name not in self._environ:
                warnings.append(layer.notice(path, f"{name} is not set (replaced by an empty string)"))
            return self._environ.get(name, "")

        return _PLACEHOLDER.sub(fill, value)

    def _read(self, layer: Layer, path: KeyPath, name: str) -> str:
        target = resolve_file(name, layer.folder, self._home)
        try:
            return read_text(str(target)).strip()
        except FileNotFoundError:
            raise layer.error(path, f"the file {target} does not exist; create it or correct {{file:{name}}}") from None
        except UnreadableFileError as error:
            raise layer.error(path, f"the file {target}: {error}") from None
