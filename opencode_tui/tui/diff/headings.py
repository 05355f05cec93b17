"""The function, class or heading that a line of a file is in: the last line above that starts one, by simple rules per language.

Each rule looks at the first characters of one line, so that a file of any size and shape takes time by its lines alone.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from opencode_tui.schema.session.diff import lines_of
from opencode_tui.text.diff_rows import DiffRow

MAX_LETTERS = 200
"""Maximum analyzed characters of a line."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONTROL = _names("if for while switch catch else do try with return await yield throw using lock elif match when")

Rule = Callable[[str], str]
"""A function that returns the heading that a line starts, or an empty text; lines are indented, without trailing blanks."""


class Headings:
    """The headings of a text. The constructor takes time in proportion to the lines."""

    def __init__(self, lines: Sequence[str], path: str) -> None:
        rule = _rule(path)
        self._places: list[int] = []
        self._names: list[str] = []
        if rule is None:
            return
        for number, line in enumerate(_outside_fences(lines) if rule is _markdown else lines, 1):
            name = rule(line[:MAX_LETTERS].rstrip())
            if name:
                self._places.append(number)
                self._names.append(name)

    def above(self, number: int) -> str:
        """Return the last heading above a line (the first is 1), empty without one."""
        at = bisect_left(self._places, number)
        return self._names[at - 1] if at else ""


def name_gaps(rows: Sequence[DiffRow], after: str, path: str) -> list[DiffRow]:
    """Return the rows of one file's diff, with headings in gaps, from the file's new text.

    Omitted lines before the first row become a gap, too, if they contain a heading.
    """
    headings = Headings(lines_of(after), path)
    named = list(rows)
    for at, row in enumerate(rows[1:], 1):
        if rows[at - 1].kind == "gap":
            named[at - 1] = replace(rows[at - 1], text=headings.above(row.number))
    first = headings.above(rows[0].number) if rows and rows[0].kind in "+ " else ""
    return [DiffRow("gap", rows[0].number - 1, first), *named] if first else named


def _rule(path: str) -> Rule | None:
    name = path.rpartition("/")[2].lower()
    return _BY_NAME.get(name) or _BY_ENDING.get(name.rpartition(".")[2] if "." in name else "")


def _outside_fences(lines: Sequence[str]) -> list[str]:
    """Return markdown with empty lines for code blocks: a comment in one is not a heading."""
    shown: list[str] = []
    is_code = False
    for line in lines:
        is_fence = line.lstrip()[:3] in ("```", "~~~")
        shown.append("" if is_code or is_fence else line)
        is_code ^= is_fence
    return shown


def _markdown(line: str) -> str:
    return line.rstrip("# ") if line.lstrip("#")[:1] == " " and line[:1] == "#" else ""


def _section(line: str) -> str:
    """Return `[section]` of an ini or toml file."""
    return line if line[:1] == "[" and line.endswith("]") else ""


def _top_key(line: str) -> str:
    """Return a key of the first level, as in yaml, or a target of a makefile."""
    name = line.partition(":")[0]
    is_key = line[:1].isalpha() and ":" in line and line[len(name) + 1 :][:1] in ("", " ")
    return name if is_key and "=" not in name else ""


def _selector(line: str) -> str:
    """Return the selector of a block of a style sheet."""
    return line[:-1].rstrip() if line.endswith("{") and not line[:1].isspace() and line != "{" else ""


def _shell(line: str) -> str:
    words = line.removeprefix("function ").strip()
    name = words.partition("(")[0].strip()
    is_function = line.startswith("function ") or (
        words[len(name) :].replace(" ", "")[:2] == "()" and not line[:1].isspace()
    )
    return name.rstrip("{ ") if is_function else ""


def _words(keywords: str, modifiers: str = "", *, has_methods: bool = False, has_plain_functions: bool = False) -> Rule:
    """Return a rule for lines that start with a keyword, after modifiers; the name ends at the first sign.

    `has_methods`: names may stand without a keyword before a block; `has_plain_functions`: also at the left edge without one.
    """
    known, before = _names(keywords), _names(modifiers)

    def rule(line: str) -> str:
        text, first = _without(before, line.lstrip())
        if first.partition("<")[0] in known:
            return "" if text.endswith(";") else _named(text)
        if not text or first in _CONTROL or not (text[0].isalpha() or text[0] in "_~#$"):
            return ""
        is_plain = has_plain_functions and not line[:1].isspace() and text[-1] not in ";\\:"
        return _callable(text) if is_plain or (has_methods and _opens_block(text)) else ""

    return rule


def _without(modifiers: frozenset[str], text: str) -> tuple[str, str]:
    """Return the text without leading modifiers (also `pub(crate)`), and its first word."""
    while (first := text.partition(" ")[0].partition("(")[0]) in modifiers and " " in text:
        text = text.partition(" ")[2].lstrip()
    return text, first


def _opens_block(text: str) -> bool:
    """Return whether brackets are closed and a block starts: not a call that continues on the next lines."""
    return text.endswith("{") and text.count("(") == text.count(")")


def _named(text: str) -> str:
    """`class Writer` of `class Writer(Base):`; a receiver in brackets belongs to the name: `func (s *Server) Close`."""
    begin = text.find(")") if text.partition(" ")[2][:1] == "(" else 0
    ends = [at for at in (text.find(sign, max(0, begin)) for sign in "({:=;") if at > 0]
    name = text[: min(ends, default=len(text))].rstrip()
    return name if " " in name else ""


def _callable(text: str) -> str:
    """Return the text before the parentheses of a function, if it consists of words only."""
    head, bracket, _ = text.partition("(")
    is_words = bracket and all(letter.isalnum() or letter in " _*&~:<>,$#[]" for letter in head)
    return head.strip() if is_words and head.strip() else ""


_SCRIPT = _words(
    "function class interface enum namespace type function*",
    "export default async abstract declare public private protected static readonly override",
    has_methods=True,
)
_CLASSES = _words(
    "class interface enum record namespace struct object trait fun func protocol extension def @interface",
    "public private protected internal static final abstract sealed async override open data suspend partial inline case implicit "
    "fileprivate mutating",
    has_methods=True,
)
_C = _words("class struct enum union namespace", "static inline extern", has_methods=True, has_plain_functions=True)

_BY_LANGUAGE: dict[str, Rule] = {
    "py pyi": _words("def class", "async"),
    "js jsx mjs cjs ts tsx mts cts vue svelte": _SCRIPT,
    "java kt kts cs scala swift dart groovy": _CLASSES,
    "c h cc cpp cxx hpp hh m mm": _C,
    "go": _words("func type"),
    "rs": _words("fn struct enum trait impl mod union macro_rules!", "pub async unsafe const extern \"C\" default"),
    "rb": _words("def class module"),
    "php": _words("function class interface trait enum", "public private protected static abstract final readonly"),
    "ex exs": _words("def defp defmodule defmacro defimpl defprotocol"),
    "lua": _words("function", "local"),
    "zig": _words("fn", "pub export inline extern"),
    "sql": _words("create CREATE alter ALTER"),
    "proto": _words("message service enum rpc"),
    "tf hcl": _selector,
    "md markdown mdx": _markdown,
    "toml ini cfg conf": _section,
    "yaml yml mk": _top_key,
    "css scss less": _selector,
    "sh bash zsh": _shell,
}  # fmt: skip
_BY_ENDING = {ending: rule for endings, rule in _BY_LANGUAGE.items() for ending in endings.split()}
_BY_NAME: dict[str, Rule] = {"makefile": _top_key, "gnumakefile": _top_key, "justfile": _top_key}
