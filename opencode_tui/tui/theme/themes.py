"""All themes that can be worn: the built-in one, well-known schemes, and files of the person's own."""

import json
from collections.abc import Sequence
from pathlib import Path

from opencode_tui.schema.project import Places
from opencode_tui.schema.theme import BUILT_IN, theme_fault
from opencode_tui.tui.theme.built_in import built_in
from opencode_tui.tui.theme.palette import Depth, Palette
from opencode_tui.tui.theme.seed import grow
from opencode_tui.tui.theme.seeds import SEEDS
from opencode_tui.tui.theme.theme_file import read_theme

MAX_BYTES = 200_000

_OTHER_NAMES = {BUILT_IN: True, "opencode": True, "system": True, "dark": True, "light": False}
"""Names of the built-in theme, OpenCode's among them; the last two say which side."""


def theme_folders(places: Places, config_dir: str | None = None) -> list[Path]:
    """Return where theme files stand, the weakest first, as for all settings; `config_dir` is what OPENCODE_CONFIG_DIR says."""
    here, worktree = Path(places.directory), Path(places.worktree)
    inside = [folder for folder in reversed((here, *here.parents)) if folder.is_relative_to(worktree)]
    folders = [Path(places.config), *(folder / ".opencode" for folder in (Path(places.home), *(inside or [here])))]
    return [folder / "themes" for folder in (*folders, *([here / config_dir] if config_dir else []))]


class Themes:
    """Looks for files once, when it is made (that blocks); of two with one name the file of the later folder wins."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._files: dict[str, Path] = {}
        for folder in folders:
            try:
                self._files.update({path.stem: path for path in sorted(folder.glob("*.json"))})
            except OSError:
                continue

    def names(self) -> Sequence[str]:
        """The built-in one first, then by name."""
        return [BUILT_IN, *sorted({*SEEDS, *self._files} - {BUILT_IN})]

    def is_own(self, name: str) -> bool:
        """Whether a file says what it looks like."""
        return name in self._files

    def palette(self, name: str, *, dark: bool, depth: Depth) -> Palette:
        """The palette of a theme; one without a light or a dark side comes as it is. Raises ValueError with the reason. Blocks.

        With 16 colours and fewer all themes look like the built-in one: the terminal's own colours.
        """
        fault = theme_fault(name, self._files)
        if fault:
            raise ValueError(fault)
        if depth in ("16", "none") or (name in _OTHER_NAMES and name not in self._files):
            return built_in(_OTHER_NAMES.get(name, dark) if name in ("dark", "light") else dark, depth)
        if name in self._files:
            return self._read(name, dark=dark, depth=depth)
        sides = SEEDS[name]
        seed = sides[0] if dark else sides[1]
        seed = seed or sides[0] or sides[1]
        assert seed is not None
        return grow(name, seed, depth)

    def _read(self, name: str, *, dark: bool, depth: Depth) -> Palette:
        path = self._files[name]
        try:
            if path.stat().st_size > MAX_BYTES:
                raise ValueError("it is too large for a theme")
            content: object = json.loads(path.read_text("utf-8"))
            return grow(name, read_theme(content, dark=dark), depth)
        except (OSError, ValueError) as error:
            raise ValueError(f"theme file {path}: {error}") from error
