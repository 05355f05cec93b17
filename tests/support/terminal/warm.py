"""Prepares what a first answer needs, so that a measured one does not."""

from opencode_tui.text.cells import join_lines, wrap
from opencode_tui.tui.conversation.code import color_lines
from opencode_tui.tui.conversation.prose import parse_inline

_LANGUAGES = ("python", "bash", "json", "javascript", "typescript", "diff", "yaml")


def warm() -> None:
    """Prepare the markdown parser, the wrapping of wide letters and the syntax colors. Blocks for some tenths of a second."""
    parse_inline("*a* `b`")
    join_lines(*wrap("字 字", 2))  # compiles the patterns of both
    for language in _LANGUAGES:
        color_lines(["a = 1  # b"], language)
