"""Loads what the first answer needs beside this package: the markdown parser, and the colours of the usual languages."""

from opencode_tui.tui.conversation.code import colour_lines
from opencode_tui.tui.conversation.inline import parse_inline

LANGUAGES = ("python", "bash", "json", "javascript", "typescript", "diff", "yaml")


def warm() -> None:
    """Import and prepare it; takes some tenths of a second, so it belongs into a thread behind the first frame."""
    parse_inline("*a* `b`")
    for language in LANGUAGES:
        colour_lines(["a = 1  # b"], language)
