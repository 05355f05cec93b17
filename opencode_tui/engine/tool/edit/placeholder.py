"""Lines that stand for code that a model left out: what replaces the code by them loses it.

Such a line is a whole one: a comment, words in brackets or between dots, that say no more than that something stays as it was.
"""

import re
from pathlib import PurePath

from opencode_tui.schema.error import ToolError

_COMMENT = re.compile(
    r"(?://+!?|\#+|--+|;+|%+|::|/\*+|\(\*+|\*+(?![\w*])|<!--+|\{/\*+|\{\#-?|\{\{!-*|\{-|<%[#-]*|@\*|REM\b|rem\b|dnl\b|\.\. )\s*"
)
_COMMENT_END = re.compile(r"\s*(?:\*+/\}?|\*+\)|-+->|-?\#\}|-*\}\}|-\}|-*%>|\*@)$")
_DOTS_BEFORE, _DOTS_AFTER = re.compile(r"(?:\.{2,}|…)+\s*"), re.compile(r"\s*(?:\.{2,}|…)+[.,;:]?$")
_BRACKETS = {"(": ")", "[": "]", "<": ">", "{": "}"}
_PIECE = r"""
    (?:code|file|functions?|methods?|class(?:es)?|implementations?|components?|modules?|contents?|documents?|body|logic|imports?
    |tests?|scripts?|page|templates?|programs?|source|lines|fields|props|properties|cases|handlers|routes|styles|rules|types
    |definitions|declarations|items|entries|config|configuration|settings|options|sections?|elements|markup|text|setup|variables
    |statements|stuff|parts?|css|html|jsx)"""
_SAME = r"""
    (?:(?:is|are|be|stays?|remains?|left|kept|goes|continues?|keeps?)\s+)*
    (?:the\ same|unchanged|unmodified|untouched|omitted|skipped|elided|truncated|snipped|hidden|collapsed|as\ before|as\ is
    |as\ it\ was|as\ they\ were|continues?|remains?|stays?)
    (?:\s+(?:for\ (?:brevity|clarity|now)|here|below|above))?"""
_THERE = rf"(?:\s+(?:{_SAME}|(?:(?:is|are|goes|go|continues?|follows?)\s+)?(?:here|below|above)))?"
_OTHERS = rf"(?:other|existing|remaining|previous|original|same)\s+(?:\w+\s+){{0,2}}?{_PIECE}"
_LEFT_OUT = re.compile(
    rf"""
    (?:(?:keep|and|plus|then|all|the|of|your|my|any|leave|include|insert|put|paste|retain|preserve)\s+)*
    (?:(?:rest|remainder)
        (?:\s+of\s+(?:(?:the|this|your|my|our|that|all|existing|original|current|other)\s+)*(?:\w+\s+){{0,2}}{_PIECE})?{_THERE}
    |(?:{_OTHERS}|(?:unchanged|omitted|unmodified)\s+(?:\w+\s+){{0,2}}?{_PIECE}){_THERE}
    |(?:{_PIECE}|everything\ else|nothing\ else|all\ else|everything)\s+{_SAME}
    |unchanged|unmodified|omitted|snip|snipped|truncated|same\ as\ (?:before|above|the\ original)|as\ (?:before|above)
    |(?:omitted|truncated|skipped|elided|abbreviated|shortened)\ for\ (?:brevity|clarity)
    |no\ (?:other\ )?changes?(?:\ (?:here|below|above|needed|required|to\ the\ rest))?)""",
    re.IGNORECASE | re.VERBOSE,
)
_VAGUE = re.compile(rf"(?:(?:the|all|any|your)\s+)*{_OTHERS}", re.IGNORECASE | re.VERBOSE)
"""What may be a heading as well: it needs dots, or brackets."""
_BARE = re.compile(r"(?:the )?(?:rest|remainder)", re.IGNORECASE)
"""What may be a name in code, or a comment: it needs a comment with dots, or brackets."""
_PROSE = (".md", ".mdx", ".markdown", ".rst", ".adoc")
"""Files in which examples with comments like these are meant."""


def refuse_placeholders(path: PurePath, new: str, old: str) -> None:
    """Raise ToolError when the new text has a line for left-out code that the old text does not have."""
    known = {line.strip() for line in old.split("\n")}
    is_prose = path.suffix.lower() in _PROSE
    lines = [line.strip() for line in new.split("\n")]
    for at, line in enumerate(lines):
        if not line or line in known or not is_placeholder(line, is_prose=is_prose):
            continue
        around = lines[max(at - 1, 0) : at] + lines[at + 1 : at + 2]
        if not re.search(r"\w", line) and len(around) == 2 and all(map(_COMMENT.match, around)):
            continue  # dots in an example that is a comment
        raise ToolError(
            f"the new text of {path} has the line {line[:80]!r}, in place of code that would be lost",
            "write all lines, or replace only those that change",
        )


def is_placeholder(line: str, *, is_prose: bool = False) -> bool:
    """Return whether a line without blanks around it only says that something was left out."""
    begin = _COMMENT.match(line)
    is_comment = begin is not None
    if is_prose and is_comment and not line.startswith("<!--"):
        return False
    words = _COMMENT_END.sub("", line[begin.end() :] if begin else line).strip()
    marks = 0
    while (inner := _unwrapped(words)) != words:
        words, marks = inner, marks + 1
    words = words.strip(" .,:;!-*_~`")
    if not words:
        return is_comment and re.search(r"\.{2}|…", line) is not None
    if (marks == 0 and not is_comment) or _LEFT_OUT.fullmatch(words) is None:
        return False
    if _BARE.fullmatch(words):
        return marks > 0 and is_comment
    return marks > 0 or _VAGUE.fullmatch(words) is None


def _unwrapped(text: str) -> str:
    """Return a text without dots around it, or one pair of brackets."""
    if len(text) > 1 and _BRACKETS.get(text[0]) == text[-1]:
        return text[1:-1].strip()
    return _DOTS_AFTER.sub("", _DOTS_BEFORE.sub("", text, count=1) if _DOTS_BEFORE.match(text) else text).strip()
