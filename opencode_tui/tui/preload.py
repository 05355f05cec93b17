"""Imports the modules that the first frame does not need, so that later frames do not wait for them."""

import importlib

MODULES = (
    "opencode_tui.tui.state.controller",
    "opencode_tui.tui.actions.table",
    "opencode_tui.tui.dialogs.overlay",
    "opencode_tui.tui.sessions.sidebar",
    "opencode_tui.tui.conversation.view",
    "opencode_tui.tui.chat.chat",
    "opencode_tui.tui.chrome.welcome",
    "opencode_tui.tui.chat.start",
)
_LANGUAGES = ("python", "bash", "json", "javascript", "typescript", "diff", "yaml")


def load() -> None:
    """Import the modules. Blocks: call it on a thread after the first frame."""
    for name in MODULES:
        importlib.import_module(name)


def warm() -> None:
    """Prepare the markdown parser, the wrapping of wide letters and the syntax colors. Takes some tenths of a second.

    Blocks as `load` does.
    """
    from opencode_tui.text.cells import join_lines, wrap
    from opencode_tui.tui.conversation.code import color_lines  # not before the first frame
    from opencode_tui.tui.conversation.inline import parse_inline

    parse_inline("*a* `b`")
    join_lines(*wrap("字 字", 2))  # compiles the patterns of both
    for language in _LANGUAGES:
        color_lines(["a = 1  # b"], language)
