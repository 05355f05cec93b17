"""Parses a plain English request to goals. Pure.

Quoted pieces are replaced by marks first, so that patterns match only the words around them. A request is split into clauses that
start with a verb, and the first rule whose pattern matches a whole clause gives its goal. A clause with a verb that no rule
matches is `unclear`: what a script could only guess changes nothing.
"""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct

INTERPRETERS = {".py": "python3", ".sh": "sh", ".js": "node"}
"""The command that runs a file with this suffix."""

Action = Literal[
    "read", "find", "glob", "list", "create", "replace", "append", "command", "run", "test", "plan", "follow", "unclear"
]


class Goal(Struct, frozen=True):
    """One action. A `path` of None is the last named file, `text` the subject of the action (a reason if unclear).

    `new` is the replacement of `text`; `items` are a plan's.
    """

    action: Action
    path: str | None = None
    text: str = ""
    new: str = ""
    items: tuple[str, ...] = ()


_MARK = "\x01(\\d+)\x02"
_QUOTED = re.compile(
    r"```[^\n`]*\n(?P<fence>.*?)\n?```|`(?P<tick>[^`\n]+)`"
    r'|"(?P<double>[^"\n]*)"|“(?P<curly>[^”\n]*)”|(?<!\w)\'(?P<single>[^\'\n]+)\'(?!\w)',
    re.DOTALL,
)
_FILE_NAME = re.compile(
    r"[^\s/]\.[A-Za-z][A-Za-z0-9]{0,9}\Z|(?:\A|/)\.[A-Za-z][\w.-]*\Z|(?i:makefile|dockerfile|license|readme)\Z"
)


class Phrase:
    """A text whose quoted pieces are replaced by marks, `masked`."""

    def __init__(self, text: str) -> None:
        self._quoted: list[tuple[str, str]] = []
        self.masked = _QUOTED.sub(self._set_aside, text.replace("\x01", "").replace("\x02", ""))

    def words(self, masked: str) -> str:
        """Return a piece without quotation marks if all of it is quoted, else as the user wrote it."""
        masked = masked.strip()
        column = 0 if is_quoted(masked) else 1
        return re.sub(_MARK, lambda mark: self._quoted[int(mark[1])][column], masked)

    def name(self, masked: str) -> str:
        """Return a piece as `words` does, and a reference to a file as its name."""
        words = self.words(masked)
        bare = re.sub(r"#L?\d+(?:-L?\d+)?\Z", "", words[1:]) if words.startswith("@") else words
        return bare.removeprefix("./") if is_path(bare) else words

    def _set_aside(self, match: re.Match[str]) -> str:
        self._quoted.append((next(piece for piece in match.groups() if piece is not None), match[0]))
        return f"\x01{len(self._quoted) - 1}\x02"


def is_quoted(masked: str) -> bool:
    """Return whether all of a piece is quoted."""
    return re.fullmatch(_MARK, masked.strip()) is not None


def is_path(text: str) -> bool:
    """Return whether a word looks like the name of a file or folder."""
    return bool(text) and not re.search(r"\s|://", text) and ("/" in text.strip("/") or bool(_FILE_NAME.search(text)))


_VERBS = (
    r"read|show|open|print|cat|view|summari[sz]e|explain|describe|what|find|search|grep|where|list|ls"
    r"|create|make|write|add|append|insert|put|edit|replace|change|rename|run|execute|test"
)
_SEPARATOR = re.compile(
    r"(?:[,.;:!?]+\s+|\s*\n\s*|\s+(?=(?:and|then)\b))(?:[-*]\s+|\d+[.)]\s+)?"
    rf"(?:(?:and|then|finally|next|also|please|now)[\s,]+)*(?=(?:{_VERBS})\b)",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"\A(?:(?:[-*]|\d+[.)])\s+|(?:hi|hello|please|ok(?:ay)?|now|then|first|and|you|to)\b[\s,!.:]*"
    r"|(?:can|could|would|will) you\b\s*|i(?:'d like| would like| want| need)\b\s*)+",
    re.IGNORECASE,
)
_COURTESY_AFTER = re.compile(r"(?:[\s,]+(?:please|for me|thanks|thank you))*(?:(?<=[\w)\x02])[.!?]+)?\s*\Z")
_PLAN = re.compile(
    r"(?:(?:make|write)\s+)?(?:an?\s+)?(?:plan|to-?do list)\b(?:\s+for)?[\s:]+(?P<topic>.*)\Z", re.I | re.S
)
_FOLLOW = re.compile(r"(?:yes\b[\s,!]*)?(?:do it|go ahead|follow the plan)[\s.!]*\Z", re.IGNORECASE)
_MOST_ITEMS = 8
_LONGEST_REQUEST = 2_000
"""Maximum number of characters without quoted pieces; patterns would take too long for a longer text."""


def read_goals(text: str) -> list[Goal]:
    """Return the goals of the text in order; empty when the demo model understands none."""
    phrase = Phrase(text)
    masked = _COURTESY.sub("", phrase.masked.strip(), count=1)
    if len(masked) > _LONGEST_REQUEST:
        return []
    if _FOLLOW.match(masked):
        return [Goal("follow")]
    if plan := _PLAN.match(masked):
        return [Goal("plan", items=_plan_items(phrase, plan["topic"]))]
    return [goal for clause in _split(masked) if (goal := _goal_of(phrase, clause)) is not None]


def _split(masked: str) -> list[str]:
    return [clause for piece in _SEPARATOR.split(masked) if (clause := _COURTESY_AFTER.sub("", piece.strip()))]


def _plan_items(phrase: Phrase, topic: str) -> tuple[str, ...]:
    clauses = [phrase.words(clause) for clause in _split(topic)]
    if not clauses or not all(map(read_goals, clauses)):
        clauses = [phrase.words(piece) for piece in re.split(r"\s*(?:[\n;,]|\band\b)\s*", topic) if piece.strip()]
    return tuple(clause[0].upper() + clause[1:] for clause in clauses[:_MOST_ITEMS])


def _goal_of(phrase: Phrase, clause: str) -> Goal | None:
    """Return the goal of a clause; None for words that request nothing."""
    for pattern, rule in _RULES:
        match = re.fullmatch(pattern, clause, re.IGNORECASE | re.DOTALL)
        goal = rule(phrase, match) if match else None
        if goal is not None:
            return goal
    is_request = re.match(rf"(?!what|which)(?:{_VERBS})\b|in\s", clause, re.IGNORECASE)
    return _unclear(f"I do not understand “{phrase.words(clause)}”") if is_request else None


def _unclear(reason: str) -> Goal:
    return Goal("unclear", text=reason)


_IT = re.compile(r"(?:it|that|this|them)\Z", re.IGNORECASE)
_VAGUE = re.compile(r"(?:an?|the|some|all|its?|them|that|this|how|what|every|each)(?=\s|\Z)", re.IGNORECASE)
_GENERIC = ("here", "this", "project", "folder", "directory", "repository", "code")
_LANGUAGES = {"python": "py", "javascript": "js", "markdown": "md", "shell": "sh", "text": "txt", "rust": "rs"}


def _read(phrase: Phrase, match: re.Match[str]) -> Goal | None:
    name = phrase.name(match["file"])
    if _IT.match(name):
        return Goal("read")
    return Goal("read", name) if is_path(name) else None


def _list(phrase: Phrase, match: re.Match[str]) -> Goal:
    if kind := re.search(rf"\*?\.\w+|\b({'|'.join(_LANGUAGES)})\b", match["kind"] or "", re.IGNORECASE):
        return Goal("glob", text=f"**/*.{_LANGUAGES.get(kind[0].lower(), kind[0].rpartition('.')[2])}")
    name = phrase.name(match["where"] or match["kind"] or "").rstrip("/")
    return Goal("list", None if name.lower() in _GENERIC or not name else name)


def _find(phrase: Phrase, match: re.Match[str]) -> Goal | None:
    words, where = phrase.name(match["text"]), phrase.name(match.groupdict().get("where") or "")
    if re.match(r"(?:out|why|how)\b", words, re.IGNORECASE):
        return None
    if "*." in words or (is_path(words) and not is_quoted(match["text"])):
        return Goal("glob", text=words if "/" in words else f"**/{words}")
    return Goal("find", None if where.lower() in _GENERIC or not where else where, words)


def _replace(phrase: Phrase, match: re.Match[str]) -> Goal:
    old, new = phrase.words(match["old"]), phrase.words(match["new"])
    is_guess = any(_VAGUE.match(match[side]) for side in ("old", "new")) or (match["file"] is None and is_path(old))
    if is_guess or old == new:
        return _unclear('quote the old and the new text, for example: replace "red" with "green" in notes.txt')
    return Goal("replace", phrase.name(match["file"]) if match["file"] else None, old, new)


def _append(phrase: Phrase, match: re.Match[str]) -> Goal:
    path = phrase.name(match["file"])
    if not (is_quoted(match["line"]) or match["noun"]) or not (is_path(path) or _IT.match(path)):
        return _unclear('quote the line to add, for example: add the line "done" to notes.txt')
    return Goal("append", None if _IT.match(path) else path, phrase.words(match["line"]))


def _run(phrase: Phrase, match: re.Match[str]) -> Goal | None:
    command = phrase.name(match["command"])
    if _IT.match(command):
        return Goal("run")
    if not is_quoted(match["command"]) and _VAGUE.match(command):
        return None
    is_file = is_path(command) and PurePosixPath(command).suffix in INTERPRETERS
    return Goal("run", command) if is_file else Goal("command", text=command)


def _create(phrase: Phrase, match: re.Match[str]) -> Goal | None:
    path, given = phrase.name(match["file"]), match.groupdict()
    if not is_path(path):
        return None
    what = given.get("text") or given.get("printed") or ""
    words = phrase.words(what)
    if not what:
        title = (
            f"# {PurePosixPath(path).stem}\n" if PurePosixPath(path).suffix == ".md" and not given.get("empty") else ""
        )
        return Goal("create", path, title)
    if given.get("printed") is None:
        return Goal("create", path, words if words.endswith("\n") else words + "\n")
    if not is_quoted(what) and (_VAGUE.match(what) or any(map(is_path, what.split()))):
        return _limit(phrase, match)
    program = _printing(PurePosixPath(path).suffix, words)
    return _limit(phrase, match) if program is None else Goal("create", path, program)


def _limit(phrase: Phrase, match: re.Match[str]) -> Goal:
    limit = "I am a script and can only write texts that you give me and programs that print a text"
    return _unclear(f"I cannot write {phrase.name(match['file'])}: {limit}")


def _printing(suffix: str, text: str) -> str | None:
    """Return a program that prints a text, None for a suffix of no known language."""
    match suffix:
        case ".py":
            return f"print({json.dumps(text, ensure_ascii=False)})\n"
        case ".js":
            return f"console.log({json.dumps(text, ensure_ascii=False)});\n"
        case ".sh":
            return f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(text)}\n"
        case _:
            return None


_FILE = r"(?P<file>\S+)"
_IN = r"(?: (?:in|under)(?: (?:the|this))* (?P<where>\S+))?"
_LOOK = (
    r"(?:(?:find|search|grep)(?: for)?(?: files (?:named|called))?|which files (?:contain|mention))"
    r"(?: (?:all|the|every))*"
)
_NEW = r"(?:create|make|write)(?: (?:me|an?|the|new|(?P<empty>empty)|file|script|program|called|named))* (?P<file>[^\s:,]+),?"
_RULES: tuple[tuple[str, Callable[[Phrase, re.Match[str]], Goal | None]], ...] = (
    (rf"(?:read|show|open|print|cat|view)(?: me)?(?: the)? {_FILE}", _read),
    (rf"(?:summari[sz]e|explain|describe|what(?:'s| is) in|what does) {_FILE}(?: do)?", _read),
    (rf"(?:list|ls)(?: (?:me|all|the|my|this))*(?P<kind> \S+)??(?: (?:files?|folder|project))?(?: here)?{_IN}", _list),
    (
        rf"(?:what|which|show|explain|describe|summari[sz]e)(?P<kind>)\b[^\n]*?\b(?:files?|folder|project)(?: are)?{_IN}",
        _list,
    ),
    (r"where (?:is|are|do we|does) (?:the )?(?P<text>\S+?)(?: (?:used|defined|called|mentioned))?\??", _find),
    (rf"{_LOOK}(?P<kind> \S+) files{_IN}", _list),
    (rf"{_LOOK} (?P<text>.+?)(?: comments)?{_IN}", _find),
    (rf"(?:replace|change|rename) (?P<old>.+?) (?:with|to|by) (?P<new>.+?)(?: in {_FILE})?", _replace),
    (
        rf"(?:add|append|insert)(?: (?:an?|the))?(?P<noun> line| text)? (?P<line>.+?) (?:to|at the end of) {_FILE}",
        _append,
    ),
    (r"(?:(?:run|execute) )?(?:all )?(?:the )?(?:unit )?tests?", lambda _phrase, _match: Goal("test")),
    (r"(?:run|execute) (?P<command>.+?)(?:,? and tell me .*)?", _run),
    (rf"(?:write|put) (?P<text>.+?) (?:to|into) {_FILE}", _create),
    (_NEW, _create),
    (rf"{_NEW} (?:that|which) (?:prints?|says?) (?P<printed>.+)", _create),
    (rf"{_NEW} (?:that|which) .+", _limit),
    (rf"{_NEW}(?: with| containing| saying|:)(?: the)?(?: (?:contents?|text|lines?))*:?\s+(?P<text>.+)", _create),
)
"""The pattern of a whole clause and its rule; the first rule that returns a goal wins."""
