"""Lines of a text, as git counts them."""

from opencode_tui.schema.session.diff import lines_of


def test_a_line_feed_alone_ends_a_line():
    assert lines_of("a\fb\u2028c\x1cd\re\r\nf") == ["a\fb\u2028c\x1cd\re\r\n", "f"]
    assert (lines_of(""), lines_of("\n"), lines_of("a\n")) == ([], ["\n"], ["a\n"])
