"""Conversion of HTML into markdown or plain text, as a separate process that can be killed, because a large page takes seconds.

Run as `python -P -m opencode_tui.engine.tool.builtin.html_text markdown|text`, HTML in UTF-8 on stdin, the result on stdout.
"""

import sys
from contextlib import suppress

_MEMORY_BYTES = 768 * 1024 * 1024
_INVISIBLE = ("script", "style", "noscript", "template", "iframe", "object", "embed", "meta", "link", "svg")


def convert(html: str, form: str) -> str:
    """Return the page's visible text, as markdown or plain, without runs of blank lines."""
    from bs4 import BeautifulSoup  # only in this program's own process
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(html, "html.parser")
    for element in soup(list(_INVISIBLE)):
        element.decompose()
    if form == "markdown":
        return _tidy(MarkdownConverter(heading_style="atx", bullets="-").convert_soup(soup))
    return _tidy(soup.get_text("\n", strip=True))


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
