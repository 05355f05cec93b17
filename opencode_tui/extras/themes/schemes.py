"""Well-known color schemes: those that Textual has, and rows of our own for the others.

The rows have the values of the schemes' authors. So do the muted colors: Textual's themes have none.
"""

from textual.theme import BUILTIN_THEMES

from opencode_tui.tui.theme.derive import Schemes, Seed


def _of_textual(name: str, *, muted: str) -> Seed:
    """Return the basic colors of one of Textual's themes. Each of its hues colors one kind of words in code."""
    theme = BUILTIN_THEMES[name]

    def color(value: str | None) -> str:
        return (value or theme.primary).lower()

    return Seed(
        background=color(theme.background),
        text=color(theme.foreground),
        muted=muted,
        accent=color(theme.primary),
        success=color(theme.success),
        warning=color(theme.warning),
        error=color(theme.error),
        keyword=color(theme.accent),
        string=color(theme.success),
        number=color(theme.warning),
        function=color(theme.primary),
        builtin=color(theme.secondary),
    )


schemes: Schemes = {
    "catppuccin": (_of_textual("catppuccin-mocha", muted="#9399b2"), _of_textual("catppuccin-latte", muted="#6c6f85")),
    "dracula": (_of_textual("dracula", muted="#8b93b5"), None),
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
        _of_textual("gruvbox", muted="#a89984"),
        Seed("#fbf1c7", "#3c3836", "#7c6f64", "#076678", "#79740e", "#b57614", "#9d0006",
             "#9d0006", "#79740e", "#8f3f71", "#427b58", "#076678"),
    ),
    "kanagawa": (
        Seed("#1f1f28", "#dcd7ba", "#8a8980", "#7e9cd8", "#98bb6c", "#e6c384", "#e46876",
             "#957fb8", "#98bb6c", "#d27e99", "#7e9cd8", "#7aa89f"),
        Seed("#f2ecbc", "#545464", "#716e61", "#4d699b", "#6f894e", "#77713f", "#c84053",
             "#624c83", "#6f894e", "#b35b79", "#4d699b", "#597b75"),
    ),
    "monokai": (_of_textual("monokai", muted="#a59f85"), None),
    "nord": (
        _of_textual("nord", muted="#9aa5b8"),
        Seed("#eceff4", "#2e3440", "#5a6479", "#5e81ac", "#4f7a43", "#9a6a00", "#b03a46",
             "#5e81ac", "#4f7a43", "#8a5a83", "#2f7f8f", "#3c7f7e"),
    ),
    "one-dark": (_of_textual("atom-one-dark", muted="#828997"), _of_textual("atom-one-light", muted="#696c77")),
    "rosepine": (_of_textual("rose-pine", muted="#908caa"), _of_textual("rose-pine-dawn", muted="#797593")),
    "solarized": (_of_textual("solarized-dark", muted="#839496"), _of_textual("solarized-light", muted="#657b83")),
    "tokyonight": (
        _of_textual("tokyo-night", muted="#8089b3"),
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
