"""All available themes: the built-in one, well-known schemes (`extras/themes/`), and the user's files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from opencode_tui.entry_points import load
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.api.theme import BUILT_IN, SHIPPED, theme_fault
from opencode_tui.schema.json_text import load_json
from opencode_tui.tui.theme.derive import Schemes, Seed, derive_palette, parse
from opencode_tui.tui.theme.look import Depth, Palette, built_in

# A user's theme: a JSON file with `defs` and `theme`, in OpenCode's format; a value may differ in dark and light.

_NEEDED = {
    "background": ("background",),
    "text": ("text",),
    "muted": ("textMuted", "text"),
    "accent": ("primary", "accent", "secondary"),
    "success": ("success", "diffAdded"),
    "warning": ("warning", "accent", "primary"),
    "error": ("error", "diffRemoved"),
    "keyword": ("syntaxKeyword", "primary"),
    "string": ("syntaxString", "success", "diffAdded"),
    "number": ("syntaxNumber", "warning", "primary"),
    "function": ("syntaxFunction", "primary"),
    "builtin": ("syntaxType", "syntaxOperator", "secondary", "primary"),
}
"""The basic colors, with the names that a theme file may use for them, in order of preference."""


def read_theme(content: object, *, dark: bool) -> Seed:
    """Return the basic colors of a theme file's content. Raises ValueError that names what is missing or wrong."""
    document = _mapping(content, "the file")
    theme, defs = _mapping(document.get("theme"), "`theme`"), _mapping(document.get("defs") or {}, "`defs`")
    found = {field: _color(field, names, theme, defs, dark=dark) for field, names in _NEEDED.items()}
    return Seed(**found)


def _color(
    field: str, names: tuple[str, ...], theme: Mapping[str, object], defs: Mapping[str, object], *, dark: bool
) -> str:
    for name in names:
        if name in theme:
            return _resolve(theme[name], theme, defs, dark=dark)
    raise ValueError(f"`theme.{names[0]}` is missing")


def _resolve(
    value: object, theme: Mapping[str, object], defs: Mapping[str, object], *, dark: bool, depth: int = 0
) -> str:
    if depth > 10:
        raise ValueError("circular reference")
    if isinstance(value, dict):
        sides = cast("Mapping[str, object]", value)
        value = sides.get("dark" if dark else "light")
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a color")
    if value.startswith("#"):
        parse(value)
        return value.lower()
    target = defs.get(value, theme.get(value))
    if target is None:
        raise ValueError(f"{value!r} is neither a color of the form #rrggbb nor a name in `defs`")
    return _resolve(target, theme, defs, dark=dark, depth=depth + 1)


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not an object")
    return cast("Mapping[str, object]", value)


MAX_BYTES = 200_000

TERMINAL = "system"
"""The theme with the terminal's own background and colors; OpenCode's name."""

_OTHER_NAMES = {BUILT_IN: True, "opencode": True, "dark": True, "light": False}
"""Names of the built-in theme, including OpenCode's; the last two name a variant."""


def theme_folders(places: Places, config_dir: str | None = None) -> list[Path]:
    """Return the folders of theme files, lowest precedence first, as for settings; `config_dir` is OPENCODE_CONFIG_DIR."""
    here, worktree = Path(places.directory), Path(places.worktree)
    inside = [folder for folder in reversed((here, *here.parents)) if folder.is_relative_to(worktree)]
    folders = [Path(places.config), *(folder / ".opencode" for folder in (Path(places.home), *(inside or [here])))]
    return [folder / "themes" for folder in (*folders, *([here / config_dir] if config_dir else []))]


class Themes:
    """Lists theme files once, in the constructor, which blocks; of two with one name that of the later folder wins."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._files: dict[str, Path] = {}
        for folder in folders:
            try:
                found = sorted(path for path in folder.glob("*.json") if not path.name.startswith("."))
            except OSError:
                continue
            self._files.update({path.stem: path for path in found})

    def names(self) -> Sequence[str]:
        """Return the built-in one, its variants and the terminal's own colors first, then by name."""
        first = [BUILT_IN, "dark", "light", TERMINAL]
        schemes = SHIPPED.difference(_OTHER_NAMES)
        return [*first, *sorted({*schemes, *self._files}.difference(first))]

    def is_own(self, name: str) -> bool:
        """Return whether the theme comes from a file."""
        return name in self._files

    def palette(self, name: str, *, dark: bool, depth: Depth) -> Palette:
        """Return the palette of a theme; one with a single variant is used for both. Raises ValueError with the reason. Blocks.

        With 16 colors and fewer all themes look like the built-in one: the terminal's own colors.
        """
        fault = theme_fault(name, self._files)
        if fault:
            raise ValueError(fault)
        if name == TERMINAL and name not in self._files:
            return replace(built_in(dark, "none" if depth == "none" else "16"), name=TERMINAL)
        if depth in ("16", "none") or (name in _OTHER_NAMES and name not in self._files):
            is_fixed = name in ("dark", "light")
            made = built_in(_OTHER_NAMES[name] if is_fixed else dark, depth)
            return replace(made, name=name) if is_fixed else made
        if name in self._files:
            return self._read(name, dark=dark, depth=depth)
        dark_seed, light_seed = cast("Schemes", load("themes"))[name]
        return derive_palette(name, dark_seed if dark else light_seed or dark_seed, depth)

    def _read(self, name: str, *, dark: bool, depth: Depth) -> Palette:
        path = self._files[name]
        try:
            if path.stat().st_size > MAX_BYTES:
                raise ValueError("file too large")
            content: object = load_json(path.read_text("utf-8"))
            return derive_palette(name, read_theme(content, dark=dark), depth)
        except (OSError, ValueError) as error:
            raise ValueError(f"theme file {path}: {error}") from error
