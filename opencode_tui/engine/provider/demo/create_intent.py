"""Reads what kind of file a person wants to have written: its name, and its content or purpose."""

import re
import shlex
from pathlib import PurePosixPath

from opencode_tui.engine.provider.demo.goals import CreateFile, Goal, RunCommand, Unclear
from opencode_tui.engine.provider.demo.phrase import MARK, Phrase
from opencode_tui.engine.provider.demo.programs import (
    INTERPRETERS,
    first_content,
    is_program,
    suggest_name,
    write_program,
)

_CONTENT = re.compile(
    r"(?:(?:\b(?:with|containing|contains|whose)\b(?:\s+(?:only|just))?(?:\s+(?:the|as|this))?"
    r"(?:\s+(?:contents?|text|lines?|words?|body|is))*|\b(?:that|which)\s+(?:contains|reads)|\bsaying|\b(?:that|which)\s+says)\s*:?|:)\s*(?P<content>\S.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_PURPOSE = re.compile(
    r"\b(?:that|which|to|for)\s+(?P<purpose>\S.*)\Z|\b(?P<printing>printing\s+\S.*)\Z", re.IGNORECASE | re.DOTALL
)
_INTO = re.compile(
    rf"(?P<content>.+?)\s+(?:to|into|in)\s+(?:(?:a|the)\s+)?(?:new\s+)?(?:file\s+)?(?:(?:called|named)\s+)?(?P<file>{MARK}|\S+)\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_FOLDER = re.compile(
    r"(?:(?:a|the|new)\s+)*(?:folder|directory)\s+(?:(?:called|named)\s+)?(?P<folder>\S+)\s*\Z", re.IGNORECASE
)
_ENDINGS = {"python": ".py", "shell": ".sh", "bash": ".sh", "javascript": ".js", "node": ".js"}
_BEYOND = (
    "I am a script and can only write programs that print something"
    " (a text, numbers, a date, fizzbuzz, fibonacci, primes, a factorial)"
)


def is_runnable(path: str) -> bool:
    """Tell whether there is an interpreter for files of this name."""
    return PurePosixPath(path).suffix in INTERPRETERS


def move_command(old: str, new: str) -> str:
    """Return the shell command that renames a file and overwrites none."""
    return f"mv -n -- {shlex.quote(old)} {shlex.quote(new)}"


def read_creation(phrase: Phrase, what: str, *, overwrite: bool) -> Goal | None:
    """Return the goal of “create …”, None when nothing names a file or a program."""
    if folder := _FOLDER.match(what):
        return RunCommand(f"mkdir -p -- {shlex.quote(phrase.words(folder['folder']))}")
    if written := _written_into(phrase, what, overwrite):
        return written
    head = re.split(r"\b(?:that|which|with|containing|to|printing|saying)\b|:", what, maxsplit=1)[0]
    paths = phrase.paths(head) or phrase.paths(what)[:1]
    path = paths[0] if paths else _name_program(what, head)
    if path is None:
        wants_file = re.search(r"\b(?:file|script|program)\b", head, re.IGNORECASE)
        return Unclear("tell me the name of the file") if wants_file else None
    content = _content(phrase, what, path)
    if content is None:
        return Unclear(f"I cannot write {path}: {_BEYOND}")
    return CreateFile(path, content, overwrite=overwrite or "overwrit" in what.lower())


def _written_into(phrase: Phrase, what: str, overwrite: bool) -> CreateFile | None:
    match = _INTO.match(what)
    if match is None or not phrase.paths(match["file"]) or phrase.paths(match["content"]):
        return None
    if not re.search(MARK, match["content"]) and re.match(r"(?:a|an|the)\s", match["content"], re.IGNORECASE):
        return None
    path, content = phrase.paths(match["file"])[0], phrase.words(match["content"])
    is_quoted = re.search(MARK, match["content"]) is not None
    program = write_program(path, content, quoted=False) if is_program(path) and not is_quoted else None
    return CreateFile(path, program or _as_text(content), overwrite=overwrite)


def _name_program(what: str, head: str) -> str | None:
    if not re.search(r"\b(?:program|script|file)\b", head, re.IGNORECASE):
        return None
    name = suggest_name(what)
    language = re.search(rf"\b({'|'.join(_ENDINGS)})\b", what, re.IGNORECASE)
    if name is None or language is None:
        return name
    return str(PurePosixPath(name).with_suffix(_ENDINGS[language[1].lower()]))


def _content(phrase: Phrase, what: str, path: str) -> str | None:
    if re.search(r"\bempty\b", re.sub(MARK, "", what), re.IGNORECASE):
        return ""
    purpose = _PURPOSE.search(what)
    content = _CONTENT.search(what)
    if is_program(path):
        quoted_code = content and re.match(MARK, content["content"]) and not re.search(r"\bsay", what, re.IGNORECASE)
        if not (content and quoted_code):
            return _program(phrase, what, path, purpose)
    if content:
        return _as_text(phrase.words(content["content"]))
    if purpose:
        said = re.match(
            r"(?:says?|reads?|contains?)\s+(?P<text>.+)", purpose["purpose"] or "", re.IGNORECASE | re.DOTALL
        )
        return _as_text(phrase.words(said["text"])) if said else None
    return first_content(path)


def _program(phrase: Phrase, what: str, path: str, purpose: re.Match[str] | None) -> str | None:
    wanted = (purpose["purpose"] or purpose["printing"]) if purpose else what
    if purpose is None and not re.search(
        r"\bhello,? world|fizz|fibonacci|prime|factorial|\bwith\b|:", what, re.IGNORECASE
    ):
        return first_content(path)
    quoted = re.search(MARK + r"[\s.!]*(?:(?:\w+\s+times|twice)[\s.!]*)?\Z", wanted) is not None
    return write_program(
        path, re.sub(r"[.!?]+\Z", "", phrase.plain(wanted)) if not quoted else phrase.plain(wanted), quoted=quoted
    )


def _as_text(content: str) -> str:
    return content if content.endswith("\n") else content + "\n"
