"""The symbols of the screen, each with one meaning, and an ASCII set for terminals without UTF-8."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One cell each in the Unicode set, `struck` none; `spinner` is a sequence of frames."""

    done: str = "✓"
    running: str = "●"
    waiting: str = "○"
    failed: str = "✗"
    interrupted: str = "■"
    asks: str = "!"
    pruned: str = "−"
    undone: str = "↶"
    sandbox: str = "▣"
    no_sandbox: str = "□"
    pinned: str = "★"
    shared: str = "⇗"
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
    becomes: str = "→"
    caret: str = "▍"
    bullet: str = "•"
    unchecked: str = "☐"
    checked: str = "☑"
    struck: str = ""
    """Around a text that is struck through, where the terminal may not draw the stroke."""
    thumb: str = "▐"
    divider: str = "│"
    """Separates the sidebar from the page when there are no background tones."""
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
    sandbox="#",
    no_sandbox="!",
    pinned="*",
    shared="^",
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
    becomes="to",
    caret="_",
    bullet="-",
    unchecked="[ ]",
    checked="[x]",
    struck="~~",
    thumb="#",
    divider="|",
    spinner=("|", "/", "-", "\\"),
)


def glyphs_for(encoding: str | None, *, ascii_wanted: bool = False) -> Glyphs:
    """Return the Unicode set for a UTF-8 terminal, the ASCII set otherwise or with `ascii_wanted`."""
    utf8 = (encoding or "").lower().replace("-", "").replace("_", "") == "utf8"
    return UNICODE if utf8 and not ascii_wanted else ASCII


def todo_sign(status: str, glyphs: Glyphs) -> tuple[str, str]:
    """Return the sign of a todo's status, and the token of its color."""
    return {
        "completed": (glyphs.done, "success"),
        "in_progress": (glyphs.running, "accent"),
        "cancelled": (glyphs.interrupted, "muted"),
    }.get(status, (glyphs.waiting, "muted"))


def change_letter(status: str | None) -> str:
    """Return the letter before a changed file."""
    return {"added": "A", "deleted": "D"}.get(status or "", "M")
