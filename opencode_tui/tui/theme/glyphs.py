"""The signs of the screen: one sign, one meaning, everywhere; all one cell wide, with a plain set for terminals without UTF-8."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One cell each, except where a field says frames."""

    done: str = "✓"
    running: str = "●"
    waiting: str = "○"
    failed: str = "✗"
    interrupted: str = "■"
    asks: str = "!"
    pruned: str = "−"
    undone: str = "↶"
    retried: str = "↻"
    compacted: str = "≡"
    user_bar: str = "▎"
    turn_rail: str = "┃"
    step_rail: str = "│"
    output: str = "│"
    cut: str = "╎"
    branch: str = "├"
    last_branch: str = "└"
    twig: str = "╴"
    gauge_used: str = "━"
    gauge_free: str = "─"
    rule: str = "─"
    shades: tuple[str, str, str, str, str] = ("█", "▓", "▒", "░", "·")
    folded: str = "▸"
    unfolded: str = "▾"
    goes_on: str = "›"
    ellipsis: str = "…"
    separator: str = "·"
    plus: str = "+"
    minus: str = "−"
    down: str = "↓"
    caret: str = "▍"
    bullet: str = "•"
    thumb: str = "▐"
    divider: str = "│"
    """Where the sidebar begins when there are no tones to tell it from the page."""
    spinner: tuple[str, ...] = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")


UNICODE = Glyphs()

ASCII = Glyphs(
    done="v",
    running="*",
    waiting="o",
    failed="x",
    interrupted="#",
    asks="!",
    pruned="-",
    undone="<",
    retried="~",
    compacted="=",
    user_bar="|",
    turn_rail="|",
    step_rail="|",
    output="|",
    cut=":",
    branch="|",
    last_branch="`",
    twig="-",
    gauge_used="#",
    gauge_free="-",
    rule="-",
    shades=("#", "=", "+", "-", "."),
    folded=">",
    unfolded="v",
    goes_on=">",
    ellipsis="~",
    separator=".",
    plus="+",
    minus="-",
    down="v",
    caret="_",
    bullet="-",
    thumb="#",
    divider="|",
    spinner=("|", "/", "-", "\\"),
)


def glyphs_for(encoding: str | None, *, ascii_wanted: bool = False) -> Glyphs:
    """The full set where the terminal's encoding is UTF-8, the plain one elsewhere or when the setting asks for it."""
    utf8 = (encoding or "").lower().replace("-", "").replace("_", "") == "utf8"
    return UNICODE if utf8 and not ascii_wanted else ASCII
