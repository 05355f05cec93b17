"""The prompts that the demo model knows, each with a script: a generator that yields tool calls and receives their results.

A text is one of `PROMPTS`, or several with `then` between them. A script runs again at each step with the results so far, so the
conversation is its only state; what it says comes from real results.
"""

import json
import re
from collections.abc import Callable, Generator
from typing import Any

from msgspec import Struct

from opencode_tui.engine.provider.llm import ResultBlock

_QUOTED_LINES, _QUOTED_WIDTH = 30, 160
_THEN = re.compile(r"[;\n]|,?(?<!\s)\s+(?:and\s+)?then\s|(?<!\s)\s+and\s+(?=run\s)")
_LINE = re.compile(r"^[ \t]*\d+: ?(.*)$", re.MULTILINE)
_LONGEST = 2_000
"""Characters of the longest prompt that may be a known one: some forms take time by the square of its length."""

_TESTS = {
    r"test_\w+\.py": "python3 -m pytest -q",
    r"package\.json": "npm test",
    r"Cargo\.toml": "cargo test",
    r"go\.mod": "go test ./...",
    r"Makefile": "make test",
}


class Call(Struct, frozen=True):
    """The next tool call and the sentence before it."""

    tool: str
    input: dict[str, Any]
    say: str


class Failed(Exception):
    """A failed tool call, or a request that cannot be done: ends the turn with the message."""


Asked = dict[str, str]
"""The words of a prompt by name; `file` is the latest file where the prompt names none, `folder` that of the session."""

Script = Generator[Call, ResultBlock, str]
"""Yields calls and returns what it did; raises Failed."""


def read_scripts(text: str, latest: Asked) -> list[Script]:
    """Return the scripts of a text in order; none if a part of it is not known."""
    scripts: list[Script] = []
    if len(text) > _LONGEST:
        return scripts
    for part in filter(None, map(str.strip, _THEN.split(text))):
        matches = ((form.fullmatch(part.rstrip(".!?")), script) for form, script in PROMPTS)
        match, script = next((found for found in matches if found[0]), (None, None))
        if match is None or script is None:
            return []
        asked = {name: value.strip("`'\"@") for name, value in match.groupdict().items() if value}
        latest = {**latest, "file": asked.get("file", latest["file"])}
        scripts.append(script({**latest, **asked}))
    return scripts


def _create(asked: Asked) -> Script:
    """Write a new file; one that exists is left as it is."""
    path = asked["file"]
    content = f"print({json.dumps(asked['said'], ensure_ascii=False)})\n" if "said" in asked else asked["text"] + "\n"
    found = yield from _run("glob", {"pattern": path}, f"Checking whether `{path}` exists.", f"look for `{path}`")
    if f"{asked['folder']}/{path}" in found.splitlines():
        raise Failed(f"`{path}` already exists, so I did not change it.")
    yield from _run("write", {"filePath": path, "content": content}, f"Writing `{path}`.", f"write `{path}`")
    return f"Wrote `{path}`:\n\n{_quote(content.splitlines(), path)}"


def _show(asked: Asked) -> Script:
    lines = yield from _read(asked["file"])
    return f"`{asked['file']}`:\n\n{_quote(lines, asked['file'])}"


def _replace(asked: Asked) -> Script:
    path, old, new = asked["file"], asked["old"], asked["new"]
    yield from _read(path, " before changing it")
    change = {"filePath": path, "oldString": old, "newString": new, "replaceAll": True}
    yield from _run("edit", change, f"Editing `{path}`.", f"edit `{path}`")
    return f"Replaced “{old}” with “{new}” in `{path}`."


def _list(asked: Asked) -> Script:
    output = yield from _run("list", {}, "Listing the files.", "list this folder")
    return f"Contents of this folder:\n\n{_quote(output.strip().splitlines())}"


def _find(asked: Asked) -> Script:
    text = asked["text"]
    output = yield from _run("grep", {"pattern": re.escape(text)}, f"Searching for `{text}`.", f"search for `{text}`")
    return f"The result of searching for `{text}`:\n\n{_quote(output.strip().splitlines())}"


def _run_file(asked: Asked) -> Script:
    return (yield from _command({"command": f"python3 {asked['file']}"}))


def _test(asked: Asked) -> Script:
    output = yield from _run("list", {}, "Looking for tests.", "list this folder")
    command = next((command for name, command in _TESTS.items() if re.search(rf"\b{name}\b", output)), None)
    if command is None:
        raise Failed("I found no tests. Give me the command, for example “run `make check`”.")
    return (yield from _command({"command": command}))


def _command(asked: Asked) -> Script:
    command = asked["command"]
    arguments = {"command": command, "description": f"Run {command}"[:60]}
    output = yield from _run("bash", arguments, f"Running `{command}`.", f"run `{command}`")
    printed, _, rest = output.partition("<bash_metadata>")
    added = " ".join(rest.partition("</bash_metadata>")[0].split())
    lines = printed.strip("\n").splitlines()
    text = f"`{command}` " + (f"printed:\n\n{_quote(lines)}" if lines else "printed nothing.")
    text += f"\n\nNote from the tool: {added}" if added else ""
    if re.search(r"exit code|timeout", added, re.IGNORECASE):
        raise Failed(text)
    return text


def _run(tool: str, arguments: dict[str, Any], say: str, action: str) -> Script:
    """Return the output of a tool call; `action` describes it in the error. Raises Failed."""
    result = yield Call(tool, arguments, say)
    if result.is_error:
        raise Failed(f"Could not {action}: {' '.join(result.text.split())}")
    return result.text


def _read(path: str, purpose: str = "") -> Generator[Call, ResultBlock, list[str]]:
    output = yield from _run("read", {"filePath": path}, f"Reading `{path}`{purpose}.", f"read `{path}`")
    return _LINE.findall(output.partition("<content>")[2])


def _quote(lines: list[str], path: str = "") -> str:
    """Return at most 30 lines as a fenced block in the language of the path's suffix, with the number of hidden lines."""
    hidden = max(0, len(lines) - _QUOTED_LINES)
    shown = "\n".join(
        line if len(line) <= _QUOTED_WIDTH else f"{line[:_QUOTED_WIDTH]}…" for line in lines[:_QUOTED_LINES]
    )
    fence = "````" if "```" in shown else "```"
    added = f"\n({hidden} more lines)" if hidden else ""
    return f"{fence}{path.rpartition('.')[2]}\n{shown}\n{fence}{added}"


_FILE = r"(?P<file>[`@]?[\w./-]+\.\w+`?)"
_SAID = r"(?P<said>\"[^\"]*\"|'[^']*'|`[^`]*`|[\w!]+(?: [\w!]+){0,2})"
_FORMS: dict[str, Callable[[Asked], Script]] = {
    rf"create {_FILE} that prints {_SAID}": _create,
    rf"create {_FILE} with (?P<text>.+)": _create,
    rf"show {_FILE}": _show,
    rf"replace (?P<old>.+) with (?P<new>.+) in {_FILE}": _replace,
    r"(?:list|explain)(?: the)?(?: files)?(?: here|(?: in)? this folder)?": _list,
    r"find (?P<text>\"[^\"]+\"|`[^`]+`|\S+)(?: in this project)?": _find,
    r"run the tests": _test,
    r"run (?:it|(?P<file>[\w./-]+\.py))": _run_file,
    r"run (?P<command>.+)": _command,
}
PROMPTS = tuple((re.compile(form, re.IGNORECASE), script) for form, script in _FORMS.items())
