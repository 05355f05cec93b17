"""Texts as HTML: escaped, source code colored, Markdown rendered.

Every text of a session goes through `escape`; Markdown is rendered with raw HTML switched off, and its links lead to web and mail
addresses only.
"""

import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import Any

from opencode_tui.text.code_colors import MAX_COLORED, lexer_by_name, lexer_by_path, piece_kind
from opencode_tui.text.safe_text import make_safe

MAX_MARKDOWN = 120_000
"""Characters above which a text is shown as it is."""

COLORED_TOTAL = 1_500_000
"""Characters of code that have colors on one page; finding them takes about a second."""


class Budget:
    """How much markup a page may still add to its text, so that coloring never makes it much longer than the session."""

    def __init__(self, spare: int = 30_000) -> None:
        self.spare = spare
        self._colored = 0

    def allows(self, code: str) -> bool:
        """Return whether this code may have colors; counts it."""
        if len(code) > MAX_COLORED or self.spare <= 0 or self._colored > COLORED_TOTAL:
            return False
        self._colored += len(code)
        return True


def escape(text: str) -> str:
    """Return a text for the content of an element, with control and direction characters written out."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return make_safe(text, multiline=True).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def attribute(text: str) -> str:
    """Return a text for a quoted attribute."""
    return escape(text).replace('"', "&quot;").replace("'", "&#39;").replace("\n", " ")


def code_html(code: str, budget: Budget, *, language: str = "", path: str = "") -> str:
    """Return code with its colors, for the inside of a `pre`; without them when its language is unknown or it is too long."""
    lexer = lexer_by_name(language) if language else lexer_by_path(path) if path else None
    if lexer is None or not budget.allows(code):
        return escape(code)
    code = code.replace("\r\n", "\n")
    pieces = _pieces(lexer, code)
    if "".join(text for text, _ in pieces) != code:
        return escape(code)
    return "".join(_colored(text, mark) for text, mark in pieces)


def code_lines(lines: Sequence[str], budget: Budget, path: str) -> list[str]:
    """Return lines of a file with their colors, each complete in itself."""
    code = "\n".join(lines)
    lexer = lexer_by_path(path)
    if lexer is not None and "\r" not in code and budget.allows(code):
        made: list[str] = [""]
        whole: list[str] = [""]
        for text, mark in _pieces(lexer, code):
            first, *rest = text.split("\n")
            for number, line in enumerate((first, *rest)):
                if number:
                    made.append("")
                    whole.append("")
                made[-1] += _colored(line, mark) if line else ""
                whole[-1] += line
        if whole[: len(lines)] == list(lines):
            return made[: len(lines)]
    return [escape(line) for line in lines]


def _pieces(lexer: Any, code: str) -> list[tuple[str, str]]:
    pieces: list[tuple[str, str]] = []
    for kind, text in lexer.get_tokens(code):
        mark = piece_kind(kind)[:1]
        if pieces and pieces[-1][1] == mark:
            pieces[-1] = (pieces[-1][0] + text, mark)
        else:
            pieces.append((text, mark))
    return pieces


def _colored(text: str, mark: str) -> str:
    return f"<i class={mark}>{escape(text)}</i>" if mark and not text.isspace() else escape(text)


_LINK = re.compile(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)


def markdown_html(text: str, budget: Budget) -> str:
    """Return Markdown as HTML; pictures become their links, since a page loads nothing."""
    if len(text) > MAX_MARKDOWN:
        return f"<pre>{escape(text)}</pre>"
    try:
        return _parser().render(make_safe(text.replace("\r\n", "\n"), multiline=True), {"budget": budget})
    except RecursionError:  # nested deeper than the renderer can follow
        return f"<pre>{escape(text)}</pre>"


def _is_link(address: str) -> bool:
    return _LINK.fullmatch(address) is not None


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    parser.validateLink = _is_link  # pyright: ignore[reportAttributeAccessIssue] - how the library is configured
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    return parser


def _fence(_renderer: Any, tokens: Any, at: int, _options: Any, env: MutableMapping[str, Any]) -> str:
    token = tokens[at]
    language = token.info.strip().split(maxsplit=1)[0] if token.info.strip() else ""
    return f"<pre>{code_html(token.content.rstrip(chr(10)), env['budget'], language=language[:40])}</pre>\n"


def _image(_renderer: Any, tokens: Any, at: int, _options: Any, _env: Any) -> str:
    token = tokens[at]
    address = str(token.attrGet("src") or "")
    words = escape(token.content or address)
    return (
        f'<a rel="noopener noreferrer nofollow" href="{attribute(address)}">{words}</a>'
        if _LINK.fullmatch(address)
        else words
    )


def _link(_renderer: Any, tokens: Any, at: int, _options: Any, _env: Any) -> str:
    return f'<a rel="noopener noreferrer nofollow" href="{attribute(str(tokens[at].attrGet("href") or ""))}">'


def _table_open(*_given: Any) -> str:
    return "<div class=w><table>"


def _table_close(*_given: Any) -> str:
    return "</table></div>"
