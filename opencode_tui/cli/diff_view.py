"""A unified diff as lines for a terminal: line number, sign, text."""

from opencode_tui.cli.style import Style, Token
from opencode_tui.text.cells import clip
from opencode_tui.text.diff_rows import DiffRow, read_diff
from opencode_tui.text.safe_text import make_safe

_CODE_AT = 9
_TAB = 4
_TOKENS: dict[str, Token] = {"+": "added", "-": "removed"}


def render_diff(diff: str, style: Style, *, limit: int) -> list[str]:
    """Return at most `limit` lines of a diff, and one more: the last, or the number of omitted lines; empty without a diff."""
    lines = [_line(row, style) for row in read_diff(diff)]
    if len(lines) > limit + 1:  # omitting a single line would save nothing
        left = style.words(f"… {len(lines) - limit} lines")
        lines = [*lines[:limit], style.paint(" " * _CODE_AT + left, "muted")]
    return lines


def _line(row: DiffRow, style: Style) -> str:
    if row.kind == "gap":
        return style.paint(style.words("     …"), "muted")
    room = (style.columns() or 200) - _CODE_AT
    text = clip(make_safe(row.text.expandtabs(_TAB)), room, style.words("›"))
    if row.kind == "file":
        return " " * _CODE_AT + style.paint(text, "muted")
    number = style.paint(f"{row.number:>6}", "muted")
    if row.kind == " ":
        return f"{number}   {text}".rstrip()
    sign = style.words("−") if row.kind == "-" else "+"
    return f"{number} {style.paint(f'{sign} {text}', _TOKENS[row.kind])}".rstrip()
