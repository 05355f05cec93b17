"""Reads `cli.json`, in which OpenCode 2 keeps the settings of its screen: what ours has too, under the names here.

What only its screen has is reported once. The forms are those of its documentation; no released program was there to try.
"""

from collections.abc import Iterator
from typing import Any, cast

from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.newer_form import entries
from opencode_tui.config.sources.opencode2 import Converted, Fail
from opencode_tui.schema.api.keybinds import NONE, find_newer
from opencode_tui.schema.record import JsonObject

_OTHER = [
    "attention",
    "terminal",
    "session",
    "tabs",
    "mini",
    "debug",
    "experimental",
    "mouse",
    "cursor",
    "plugins",
    "leader",
]
"""Keys of what only its screen has."""

_MODIFIERS = ("ctrl", "shift", "meta", "super", "hyper")
_SCREEN = ("tui",)
_UNUSED = "only the screen of OpenCode 2 has it (ignored)"
_EXPECTED_KEYS = "expected keys, `none` or false"


def convert(value: JsonObject, fail: Fail) -> Converted:
    """Return the settings of our screen in such a file. Raises the error that `fail` returns for a value of the wrong form."""
    reader = _Reader(fail)
    for key, inner in value.items():
        reader.read(key, inner)
    return Converted(reader.value, reader.written, reader.notes)


class _Reader:
    def __init__(self, fail: Fail) -> None:
        self._fail = fail
        self.value: JsonObject = {}
        self.written: dict[KeyPath, KeyPath] = {}
        self.notes: list[tuple[KeyPath, str]] = []

    def read(self, key: str, value: Any) -> None:
        """Add what a key of the file means."""
        match key:
            case "$schema":
                pass
            case "theme":
                for path, name in self._inner(value, key, ("name", "mode"), used=("name",)):
                    self._put(("theme",), path, name)
            case "keybinds":
                self._keybinds(self._object(value, (key,)))
            case "animations":
                self._put((*_SCREEN, "reduced_motion"), (key,), not self._flag(value, (key,)))
            case "scroll":
                for path, inner in self._inner(value, key, ("speed", "acceleration")):
                    newer = ("scroll_speed",) if path[1] == "speed" else ("scroll_acceleration", "enabled")
                    self._put((*_SCREEN, *newer), path, inner)
            case "diffs":
                known = ("source", "wrap", "tree", "single", "view")
                for path, view in self._inner(value, key, known, used=("view",)):
                    self._put((*_SCREEN, "diff_style"), path, self._view(view, path))
            case "prompt":
                for path, paste in self._inner(value, key, ("editor", "paste", "image_preview"), used=("paste",)):
                    if paste not in ("compact", "full"):
                        raise self._fail(path, 'expected "compact" or "full"')
                    self._put(("experimental", "disable_paste_summary"), path, paste == "full")
            case _ if key in _OTHER:
                self.notes.append(((key,), _UNUSED))
            case _:
                self.notes.append(((key,), "unknown key (ignored)"))

    def _put(self, path: KeyPath, written: KeyPath, value: Any) -> None:
        table = self.value
        for name in path[:-1]:
            table = cast("JsonObject", table.setdefault(cast("str", name), {}))
        table[cast("str", path[-1])] = value
        self.written[path] = written

    def _object(self, value: Any, path: KeyPath) -> JsonObject:
        if not isinstance(value, dict):
            raise self._fail(path, "expected an object")
        return cast("JsonObject", value)

    def _inner(
        self, value: Any, key: str, known: tuple[str, ...], *, used: tuple[str, ...] | None = None
    ) -> Iterator[tuple[KeyPath, Any]]:
        """Yield the values that our screen uses with their paths, and report the others."""
        for name, inner in self._object(value, (key,)).items():
            if name not in known:
                self.notes.append(((key, name), "unknown key (ignored)"))
            elif used is not None and name not in used:
                self.notes.append(((key, name), _UNUSED))
            else:
                yield (key, name), inner

    def _flag(self, value: Any, path: KeyPath) -> bool:
        if not isinstance(value, bool):
            raise self._fail(path, "expected true or false")
        return value

    def _view(self, value: Any, path: KeyPath) -> str:
        if value not in ("auto", "split", "unified"):
            raise self._fail(path, 'expected "auto", "split" or "unified"')
        return "stacked" if value == "unified" else "auto"

    def _keybinds(self, value: JsonObject) -> None:
        for name, keys in value.items():
            action = find_newer(name)
            if action is None and name != "leader":
                self.notes.append((("keybinds", name), "no such action here (ignored)"))
                continue
            older = name if action is None else action.id
            self._put(("keybinds", older), ("keybinds", name), self._keys(keys, ("keybinds", name)))

    def _keys(self, value: Any, path: KeyPath) -> str:
        if value is False or value == []:
            return NONE
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            members = enumerate(cast("list[Any]", value))
            return ",".join(self._keys(one, (*path, index)) for index, one in members)
        stroke = entries(value)
        if "key" in stroke:
            return self._keys(stroke["key"], (*path, "key"))
        if not isinstance(stroke.get("name"), str):
            raise self._fail(path, _EXPECTED_KEYS)
        return "+".join([*(name for name in _MODIFIERS if stroke.get(name) is True), stroke["name"]])
