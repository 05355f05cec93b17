"""Calls of tools under our names, so that the screen shows them as ours and the model finds its own calls again."""

import shlex
from typing import cast

from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tools import TOOLS

_TOOLS = {name: row.name for row in TOOLS for name in (row.claude, *row.imported) if name}
_ARGUMENTS = {
    "bash": {"cmd": "command", "timeout_ms": "timeout"},
    "read": {"file_path": "filePath"},
    "write": {"file_path": "filePath"},
    "edit": {
        "file_path": "filePath",
        "old_string": "oldString",
        "new_string": "newString",
        "replace_all": "replaceAll",
    },
    "multiedit": {"file_path": "filePath"},
    "grep": {"glob": "include"},
    "apply_patch": {"input": "patchText"},
}


def map_tool(name: str) -> str:
    """Return our name of another program's tool; an unknown one keeps its name."""
    return _TOOLS.get(name, name)


def map_arguments(tool: str, arguments: JsonObject) -> JsonObject:
    """Return the arguments of a call under the names of our tool `tool`; others keep their names and all keep their values.

    A command that is a list of words (`["bash", "-lc", "ls"]`) becomes its text.
    """
    names = _ARGUMENTS.get(tool, {})
    mapped = {names.get(key, key): value for key, value in arguments.items()}
    if tool == "multiedit" and isinstance(mapped.get("edits"), list):
        edits = cast("list[object]", mapped["edits"])
        mapped["edits"] = [
            map_arguments("edit", cast(JsonObject, edit)) if isinstance(edit, dict) else edit for edit in edits
        ]
    command = mapped.get("command")
    if tool == "bash" and isinstance(command, list):
        words = [str(word) for word in cast("list[object]", command)]
        is_script = len(words) == 3 and words[1] in ("-c", "-lc")
        mapped["command"] = words[2] if is_script else shlex.join(words)
    return mapped
