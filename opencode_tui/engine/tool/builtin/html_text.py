"""Conversion of HTML into markdown or plain text, as a separate process that can be killed, because a large page takes seconds.

Run as `python -P -m opencode_tui.engine.tool.builtin.html_text markdown|text`, HTML in UTF-8 on stdin, the result on stdout.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

_MEMORY_BYTES = 768 * 1024 * 1024
_INVISIBLE = ("script", "style", "noscript", "template", "iframe", "object", "embed", "meta", "link", "svg")
_LOOKED_AT = 100
"""Open elements that may be closed by the start of another: an element so deep in others is never one of theirs."""

_BLOCKS = (
    "address article aside blockquote details div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr "
    "main menu nav ol p pre search section table ul"
)
_ENDS = {
    "li": ("li", "ul ol menu"),
    "dt": ("dt dd", "dl"),
    "dd": ("dt dd", "dl"),
    "tr": ("tr td th caption colgroup", "table"),
    "td": ("td th", "tr table"),
    "th": ("td th", "tr table"),
    "thead": ("thead tbody tfoot tr td th caption colgroup", "table"),
    "tbody": ("thead tbody tfoot tr td th caption colgroup", "table"),
    "tfoot": ("thead tbody tfoot tr td th caption colgroup", "table"),
    "option": ("option", "select datalist"),
    "optgroup": ("option optgroup", "select"),
    **dict.fromkeys(_BLOCKS.split(), ("p", "table td th caption button object template")),
}
"""Which open elements the start of an element ends, and which one it does not look out of.

Pages may leave these end tags out. Source: html.spec.whatwg.org/#optional-tags (2026-10).
"""


def convert(html: str, form: str) -> str:
    """Return the page's visible text, as markdown or plain, without runs of blank lines; plain where it is nested too deep."""
    soup = _Page(html, "html.parser")
    for element in soup(list(_INVISIBLE)):
        element.decompose()
    if form == "markdown":
        try:
            return _tidy(MarkdownConverter(heading_style="atx", bullets="-").convert_soup(soup))
        except RecursionError:
            pass
    return _tidy(soup.get_text("\n", strip=True))


class _Page(BeautifulSoup):
    """The tree of a page, with the ends of elements that it leaves out."""

    def handle_starttag(self, name: str, *facts: Any, **more: Any) -> Tag | None:
        """Add an element, after the end of those that its start ends."""
        if name in _ENDS:
            self.endData()
            for _ in range(_count_ended(name, [tag.name for tag in self.tagStack[-_LOOKED_AT:]])):
                self.popTag()
        return super().handle_starttag(name, *facts, **more)


def _count_ended(name: str, opened: Sequence[str]) -> int:
    """Return how many open elements the start of another one ends; the last open element is the innermost."""
    ended, stops = (words.split() for words in _ENDS[name])
    count = 0
    for number, one in enumerate(reversed(opened), 1):
        if one in stops:
            break
        count = number if one in ended else count
    return count


def _tidy(text: str) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).strip()


def main() -> None:
    """Convert stdin to stdout, within limited memory."""
    with suppress(ImportError, OSError, ValueError):  # a system without such limits
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.setrecursionlimit(10_000)
    sys.stdout.buffer.write(convert(html, sys.argv[1]).encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
