"""The pages of the documentation: their links, headings, blocks of code and the words in backquotes.

A block says in its first line what it is (`sh`, `jsonc`, …), and `title="needs a key"` what a test does not have.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[3]

_TITLE = re.compile(r'title="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its title, its text, and where it begins."""

    page: str
    line: int
    language: str
    title: str
    text: str

    @property
    def place(self) -> str:
        """Its file and line, for a failure."""
        return f"{self.page}:{self.line}"


def names() -> list[str]:
    """Return the pages by their path from the root: README and the like, and all below `docs/`."""
    top = ["README.md", "SECURITY.md", "AGENTS.md", "CONTRIBUTING.md"]
    return [*top, *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md"))]


@cache
def tokens(name: str) -> Sequence[Token]:
    """Return the tokens of a page."""
    return MarkdownIt("commonmark").enable("table").parse((ROOT / name).read_text(encoding="utf-8"))


def blocks(name: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    for token in tokens(name):
        if token.type == "fence":
            title = _TITLE.search(token.info)
            line = token.map[0] + 1 if token.map else 0
            yield Block(name, line, token.info.split(" ")[0], title.group(1) if title else "", token.content)


def inline(name: str) -> Iterator[tuple[int, Token]]:
    """Yield the parts of the running text of a page, each with its line."""
    for token in tokens(name):
        for child in token.children or ():
            yield (token.map[0] + 1 if token.map else 0), child


def links(name: str) -> Iterator[tuple[int, str]]:
    """Yield the targets of links and pictures that lead into this repository, with their lines."""
    for line, token in inline(name):
        target = str(token.attrs.get("href") or token.attrs.get("src") or "")
        if target and not re.match(r"[a-z]+:", target):
            yield line, target


def code(name: str) -> Iterator[tuple[int, str]]:
    """Yield what is in backquotes in the running text of a page, with its line."""
    for line, token in inline(name):
        if token.type == "code_inline":
            yield line, token.content


@cache
def anchors(name: str) -> frozenset[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for token, after in zip(tokens(name), tokens(name)[1:], strict=False):
        if token.type == "heading_open":
            text = "".join(child.content for child in after.children or ())
            plain = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            number = next(n for n in range(1000) if (f"{plain}-{n}" if n else plain) not in found)
            found.add(f"{plain}-{number}" if number else plain)
    return frozenset(found)
