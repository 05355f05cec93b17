"""What a running tool does, in two or three words for the activity line."""

import re
from collections.abc import Mapping

from opencode_tui.tui.safe_text import screen_line

_ASSIGNMENT = re.compile(r"^\w+=")
_PASSED_OVER = frozenset({"sudo", "env", "time", "exec", "command", "nohup"})
_LENGTH = 40


def doing(tool: str, given: Mapping[str, object]) -> str:
    """`Running pytest`, `Reading parser.py`, `explore works`."""
    name = _base(given.get("filePath") or given.get("path"))
    match tool:
        case "bash":
            return f"Running {_program(given.get('command'))}"
        case "read":
            return f"Reading {name}"
        case "edit" | "multiedit":
            return f"Editing {name}"
        case "write":
            return f"Writing {name}"
        case "patch" | "apply_patch":
            return "Applying a patch"
        case "grep" | "glob" | "list" | "ls" | "codesearch" | "websearch":
            return "Searching"
        case "webfetch":
            return "Fetching a page"
        case "task":
            return f"{_word(given.get('subagent_type') or 'agent')} works"
        case "todowrite" | "todoread":
            return "Planning"
        case "question":
            return "Asking you"
        case _:
            return f"Running {_word(tool)}"


def _program(command: object) -> str:
    for word in str(command or "").split():
        if not _ASSIGNMENT.match(word) and word not in _PASSED_OVER:
            return _word(word.rpartition("/")[2])
    return "a command"


def _base(path: object) -> str:
    return _word(str(path or "").rstrip("/").rpartition("/")[2]) or "a file"


def _word(text: object) -> str:
    return screen_line(str(text))[:_LENGTH]
