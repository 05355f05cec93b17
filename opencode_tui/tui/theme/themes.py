"""All available themes: the built-in one, well-known schemes, and the user's files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from opencode_tui.schema.api.project import Places
from opencode_tui.schema.api.theme import BUILT_IN, theme_fault
from opencode_tui.schema.json_text import load_json
from opencode_tui.tui.theme.built_in import built_in
from opencode_tui.tui.theme.derive import Seed, derive_palette, parse
from opencode_tui.tui.theme.palette import Depth, Palette

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


# Well-known color schemes by name: (dark, light), either may be missing. The values are by their authors.

SEEDS: Mapping[str, tuple[Seed | None, Seed | None]] = {
    "catppuccin": (
        Seed("#1e1e2e", "#cdd6f4", "#9399b2", "#cba6f7", "#a6e3a1", "#f9e2af", "#f38ba8",
             "#cba6f7", "#a6e3a1", "#fab387", "#89b4fa", "#94e2d5"),
        Seed("#eff1f5", "#4c4f69", "#6c6f85", "#8839ef", "#40a02b", "#df8e1d", "#d20f39",
             "#8839ef", "#40a02b", "#fe640b", "#1e66f5", "#179299"),
    ),
    "dracula": (
        Seed("#282a36", "#f8f8f2", "#8b93b5", "#bd93f9", "#50fa7b", "#f1fa8c", "#ff5555",
             "#ff79c6", "#f1fa8c", "#bd93f9", "#50fa7b", "#8be9fd"),
        None,
    ),
    "everforest": (
        Seed("#2d353b", "#d3c6aa", "#9da9a0", "#a7c080", "#a7c080", "#dbbc7f", "#e67e80",
             "#e67e80", "#a7c080", "#d699b6", "#83c092", "#7fbbb3"),
        Seed("#fdf6e3", "#5c6a72", "#829181", "#8da101", "#8da101", "#dfa000", "#f85552",
             "#f85552", "#8da101", "#df69ba", "#35a77c", "#3a94c5"),
    ),
    "github": (
        Seed("#0d1117", "#e6edf3", "#8b949e", "#58a6ff", "#3fb950", "#d29922", "#f85149",
             "#ff7b72", "#a5d6ff", "#79c0ff", "#d2a8ff", "#ffa657"),
        Seed("#ffffff", "#1f2328", "#59636e", "#0969da", "#1a7f37", "#9a6700", "#d1242f",
             "#cf222e", "#0a3069", "#0550ae", "#8250df", "#953800"),
    ),
    "gruvbox": (
        Seed("#282828", "#ebdbb2", "#a89984", "#83a598", "#b8bb26", "#fabd2f", "#fb4934",
             "#fb4934", "#b8bb26", "#d3869b", "#8ec07c", "#83a598"),
        Seed("#fbf1c7", "#3c3836", "#7c6f64", "#076678", "#79740e", "#b57614", "#9d0006",
             "#9d0006", "#79740e", "#8f3f71", "#427b58", "#076678"),
    ),
    "kanagawa": (
        Seed("#1f1f28", "#dcd7ba", "#8a8980", "#7e9cd8", "#98bb6c", "#e6c384", "#e46876",
             "#957fb8", "#98bb6c", "#d27e99", "#7e9cd8", "#7aa89f"),
        Seed("#f2ecbc", "#545464", "#716e61", "#4d699b", "#6f894e", "#77713f", "#c84053",
             "#624c83", "#6f894e", "#b35b79", "#4d699b", "#597b75"),
    ),
    "monokai": (
        Seed("#272822", "#f8f8f2", "#a59f85", "#66d9ef", "#a6e22e", "#e6db74", "#f92672",
             "#f92672", "#e6db74", "#ae81ff", "#a6e22e", "#66d9ef"),
        None,
    ),
    "nord": (
        Seed("#2e3440", "#d8dee9", "#9aa5b8", "#88c0d0", "#a3be8c", "#ebcb8b", "#bf616a",
             "#81a1c1", "#a3be8c", "#b48ead", "#88c0d0", "#8fbcbb"),
        Seed("#eceff4", "#2e3440", "#5a6479", "#5e81ac", "#4f7a43", "#9a6a00", "#b03a46",
             "#5e81ac", "#4f7a43", "#8a5a83", "#2f7f8f", "#3c7f7e"),
    ),
    "one-dark": (
        Seed("#282c34", "#abb2bf", "#828997", "#61afef", "#98c379", "#e5c07b", "#e06c75",
             "#c678dd", "#98c379", "#d19a66", "#61afef", "#56b6c2"),
        Seed("#fafafa", "#383a42", "#696c77", "#4078f2", "#50a14f", "#c18401", "#e45649",
             "#a626a4", "#50a14f", "#986801", "#4078f2", "#0184bc"),
    ),
    "rosepine": (
        Seed("#191724", "#e0def4", "#908caa", "#c4a7e7", "#9ccfd8", "#f6c177", "#eb6f92",
             "#31748f", "#f6c177", "#ebbcba", "#ebbcba", "#9ccfd8"),
        Seed("#faf4ed", "#575279", "#797593", "#907aa9", "#56949f", "#ea9d34", "#b4637a",
             "#286983", "#ea9d34", "#d7827e", "#d7827e", "#56949f"),
    ),
    "solarized": (
        Seed("#002b36", "#93a1a1", "#839496", "#268bd2", "#859900", "#b58900", "#dc322f",
             "#859900", "#2aa198", "#d33682", "#268bd2", "#b58900"),
        Seed("#fdf6e3", "#586e75", "#657b83", "#268bd2", "#859900", "#b58900", "#dc322f",
             "#859900", "#2aa198", "#d33682", "#268bd2", "#b58900"),
    ),
    "tokyonight": (
        Seed("#1a1b26", "#c0caf5", "#8089b3", "#7aa2f7", "#9ece6a", "#e0af68", "#f7768e",
             "#bb9af7", "#9ece6a", "#ff9e64", "#7aa2f7", "#7dcfff"),
        Seed("#e1e2e7", "#3760bf", "#6172b0", "#2e7de9", "#587539", "#8c6c3e", "#f52a65",
             "#9854f1", "#587539", "#b15c00", "#2e7de9", "#007197"),
    ),
    "vesper": (
        Seed("#101010", "#ffffff", "#a0a0a0", "#ffc799", "#99ffe4", "#ffc799", "#ff8080",
             "#a0a0a0", "#99ffe4", "#ffc799", "#ffc799", "#b8d8c8"),
        None,
    ),
    "zenburn": (
        Seed("#3f3f3f", "#dcdccc", "#9fafaf", "#8cd0d3", "#7f9f7f", "#f0dfaf", "#dca3a3",
             "#f0dfaf", "#cc9393", "#8cd0d3", "#efef8f", "#93e0e3"),
        None,
    ),
}  # fmt: skip


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
                self._files.update({path.stem: path for path in sorted(folder.glob("*.json"))})
            except OSError:
                continue

    def names(self) -> Sequence[str]:
        """Return the built-in one, its variants and the terminal's own colors first, then by name."""
        first = [BUILT_IN, "dark", "light", TERMINAL]
        return [*first, *sorted({*SEEDS, *self._files}.difference(first))]

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
        sides = SEEDS[name]
        seed = sides[0] if dark else sides[1]
        seed = seed or sides[0] or sides[1]
        assert seed is not None
        return derive_palette(name, seed, depth)

    def _read(self, name: str, *, dark: bool, depth: Depth) -> Palette:
        path = self._files[name]
        try:
            if path.stat().st_size > MAX_BYTES:
                raise ValueError("file too large")
            content: object = load_json(path.read_text("utf-8"))
            return derive_palette(name, read_theme(content, dark=dark), depth)
        except (OSError, ValueError) as error:
            raise ValueError(f"theme file {path}: {error}") from error
