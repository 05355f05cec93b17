"""Code blocks of a markdown text, for the clipboard."""

from opencode_tui.text.code_blocks import CodeBlock, code_blocks


def test_blocks_come_from_the_top_with_their_languages() -> None:
    text = "Run:\n\n```sh\nmake\n\tx\n```\n\nand\n\n~~~{.python}\na = '```'\n~~~\n"
    assert code_blocks(text) == [CodeBlock("make\n\tx", "sh"), CodeBlock("a = '```'", "python")]


def test_a_block_in_a_list_or_a_quote_loses_their_signs() -> None:
    text = "1. first\n\n   ```py\n   if x:\n       y()\n   ```\n> ```\n> quoted\n>\n> end\n> ```\n"
    assert [one.text for one in code_blocks(text)] == ["if x:\n    y()", "quoted\n\nend"]


def test_a_longer_fence_holds_a_shorter_one_and_an_open_one_goes_to_the_end() -> None:
    assert [one.text for one in code_blocks("````md\n```\nx\n```\n````\n```\nopen\n  end")] == [
        "```\nx\n```",
        "open\n  end",
    ]


def test_empty_blocks_and_inline_code_are_none() -> None:
    assert code_blocks("```\n\n```\nsome ```inline``` code and `x`") == []
    assert CodeBlock("a\nb").lines == 2
