"""Names of color themes: built-in ones and those that only OpenCode has.

Source: docs/internals/screen.md#themes.
"""

from collections.abc import Iterable

from opencode_tui.schema.suggest import did_you_mean, nearest

BUILT_IN = "opencode-tui"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHIPPED = _names(
    "opencode-tui opencode system dark light catppuccin dracula everforest github gruvbox kanagawa monokai nord one-dark rosepine "
    "solarized tokyonight vesper zenburn"
)
"""Built-in themes; the first five are one theme, `system` in the terminal's own colors."""

ELSEWHERE = _names(
    "aura ayu carbonfox catppuccin-frappe catppuccin-macchiato cobalt2 cursor flexoki lucent-orng material matrix mercury nightowl "
    "orng osaka-jade palenight synthwave84 vercel"
)
"""OpenCode's themes that this program does not have."""


def theme_fault(name: str, own: Iterable[str] = ()) -> str:
    """Return why a theme's name cannot be used, and the remedy; empty for a known theme.

    `own` are the names of theme files, read only when the name is not a built-in theme.
    """
    if name in SHIPPED:
        return ""
    known = SHIPPED.union(own)
    if name in known:
        return ""
    if name in ELSEWHERE:
        return f"OpenCode's theme {name!r} is not in this program; choose one with /themes, or add a file themes/{name}.json"
    near = nearest(name, known)
    return f"unknown theme {name!r}; {did_you_mean([repr(one) for one in near]) or 'choose one with /themes'}"
