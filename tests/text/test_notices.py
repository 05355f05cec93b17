"""Warnings about settings: a file that has several is named once, paths in the home folder begin with a tilde."""

from opencode_tui.schema.api.folder import Notices
from opencode_tui.text.notices import placed_warnings, warning_lines

NOTICES = Notices(
    warnings=[
        "/home/u/.config/o.json line 2: modle: unknown key",
        "/home/u/.config/o.json line 4: theem: unknown key",
        "/w/opencode.json: vim: expected true or false",
        "an MCP server does not start",
    ],
    sources=["/home/u/.config/o.json", "/home/u/.config/o.json", "/w/opencode.json"],
)


def test_a_file_with_several_warnings_is_named_once():
    lines = warning_lines(placed_warnings(NOTICES), "/home/u", "/w")
    assert lines == [
        "~/.config/o.json:",
        "  line 2: modle: unknown key",
        "  line 4: theem: unknown key",
        "opencode.json: vim: expected true or false",
        "an MCP server does not start",
    ]
