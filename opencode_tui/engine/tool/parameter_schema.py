"""Conversion of a tool's parameters into the JSON schema for the model, and of the model's input into parameters.

The schema is small: no titles, no null defaults, no references. The input is parsed leniently: other common names of a field, null
for an absent one, JSON inside a string, and one value for a list of them are accepted. What is not used is named (`unused`).
"""

import re
import shlex
from collections.abc import Mapping
from types import UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

from opencode_tui.engine.tool.tool import Parameters
from opencode_tui.engine.tool.wrong_call import describe_fault
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import ValidationError

P = TypeVar("P", bound=Parameters)

_ALIASES: dict[str, tuple[str, ...]] = {
    "filePath": ("file_path", "path", "file", "filename", "filepath"),
    "path": ("filePath", "file_path", "directory", "dir", "folder"),
    "oldString": ("old_string", "old_str", "oldText", "old_text"),
    "newString": ("new_string", "new_str", "newText", "new_text"),
    "content": ("contents", "text", "file_text"),
    "patchText": ("patch_text", "patch", "input"),
    "pattern": ("query", "regex", "search"),
    "include": ("glob",),
    "command": ("cmd",),
    "replaceAll": ("replace_all",),
    "offset": ("start_line", "startLine", "line_offset", "line_start", "start"),
    "limit": ("n_lines", "max_lines", "num_lines", "line_count"),
    "endLine": ("end_line", "line_end", "end"),
    "viewRange": ("view_range",),
    "timeoutMs": ("timeout_ms",),
    "background": ("run_in_background", "is_background", "isBackground"),
    "workdir": ("cwd", "working_directory", "workingDirectory", "dir_path"),
    "name": ("skill", "skill_name"),
    "id": ("bash_id", "shell_id", "task_id"),
    "subagent_type": ("subagentType", "agent_type", "agent"),
    "edits": ("replacements",),
    "ignoreCase": ("-i", "ignore_case", "case_insensitive"),
    "caseSensitive": ("case_sensitive",),
    "after": ("-A", "context_after", "after_context"),
    "before": ("-B", "context_before", "before_context"),
    "context": ("-C", "context_lines"),
    "outputMode": ("output_mode",),
    "headLimit": ("head_limit", "max_results", "max_matches"),
    "type": ("file_type",),
    "respectGitIgnore": ("respect_git_ignore", "respect_gitignore"),
}
"""Other names of a field, which other agents' tools have for it; a tool without the field does not accept them."""

_NAMES = frozenset(("filePath", "path", "pattern", "url", "name", "id"))
"""Fields with one text; a list with one item is accepted for them."""

_HARMLESS = frozenset(
    (
        "description",
        "explanation",
        "instruction",
        "instructions",
        "justification",
        "reason",
        "reasoning",
        "thought",
        "intent",
    )
)
"""What a call says about itself. It changes no result, so that no one misses it."""

_ALWAYS: dict[str, object] = {
    "-n": True,  # lines always have their numbers
    "line_numbers": True,
    "show_line_numbers": True,
    "recursive": True,  # every search is
    "activeForm": "",  # how an item of a plan reads while it is in progress
}
"""What has no effect because it is always so; with another value than the named one, or any text, it is ignored."""


def describe(parameters: type[Parameters]) -> dict[str, Any]:
    """Return the JSON schema of type object, with the field names that the model uses."""
    schema = parameters.model_json_schema()
    definitions = cast("dict[str, Any]", schema.pop("$defs", {}))
    cleaned = _clean(schema, definitions)
    cleaned.pop("description", None)
    return {"type": "object", **cleaned}


def parse(parameters: type[P], written: Mapping[str, Any]) -> P | list[str]:
    """Return the parameters, or a text for each field that does not fit."""
    present = _by_name(parameters, written)
    try:
        return parameters.model_validate({key: _repaired(parameters, key, value) for key, value in present.items()})
    except ValidationError as error:
        return [describe_fault(cast("Mapping[str, Any]", fault)) for fault in error.errors()]


def unused(parameters: type[Parameters], written: Mapping[str, Any]) -> list[str]:
    """Return the names of arguments that a call has and that have no effect, without those that no one misses.

    Those of the objects in a list are named as well, such as `edits.count`.
    """
    if parameters.unknown != "ignore":
        return []
    fields = {field.alias or name: field for name, field in parameters.model_fields.items()}
    known = {*fields, *parameters.model_fields}
    present = _by_name(parameters, written)
    names = [key for key, value in present.items() if key not in known and not _is_harmless(key, value)]
    for name, field in fields.items():
        inner = next(
            (one for one in get_args(field.annotation) if isinstance(one, type) and issubclass(one, Parameters)), None
        )
        items = _repaired(parameters, name, present.get(name))
        if inner is not None and isinstance(items, list):
            mappings = [
                cast("Mapping[str, Any]", item) for item in cast("list[Any]", items) if isinstance(item, Mapping)
            ]
            names += [f"{name}.{key}" for item in mappings for key in unused(inner, item)]
    return list(dict.fromkeys(names))


def _is_harmless(key: str, value: Any) -> bool:
    return key in _HARMLESS or (key in _ALWAYS and (value == _ALWAYS[key] or isinstance(value, str)))


def _by_name(parameters: type[Parameters], written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by the names of the fields, without those that are null."""
    names = {field.alias or name for name, field in parameters.model_fields.items()}
    known = names.union(parameters.model_fields)
    present = {key: value for key, value in written.items() if value is not None}
    for name in sorted(names - present.keys()):
        alias = next((other for other in _ALIASES.get(name, ()) if other in present and other not in known), None)
        if alias is not None:
            present[name] = present.pop(alias)
    return present


def _clean(node: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema node without titles, null branches and references."""
    if isinstance(node, list):
        return [_clean(item, definitions) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    if "$ref" in fields:
        name = str(fields["$ref"]).rsplit("/", 1)[-1]
        target = cast("dict[str, Any]", _clean(definitions[name], definitions))
        target.pop("description", None)
        return {**target, **{key: value for key, value in fields.items() if key != "$ref"}}
    if "anyOf" in fields:
        branches = [branch for branch in cast("list[dict[str, Any]]", fields["anyOf"]) if branch.get("type") != "null"]
        rest = {key: value for key, value in fields.items() if key != "anyOf"}
        if len(branches) == 1:
            return _clean({**branches[0], **rest}, definitions)
    return {key: _clean_entry(key, value, definitions) for key, value in fields.items() if not _is_noise(key, value)}


def _clean_entry(key: str, value: Any, definitions: dict[str, Any]) -> Any:
    if key == "properties":
        return {name: _clean(field, definitions) for name, field in cast("dict[str, Any]", value).items()}
    return _clean(value, definitions)


def _is_noise(key: str, value: Any) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value in (None, "", False))


def _repaired(parameters: type[Parameters], key: str, value: Any) -> Any:
    """Return a value as its field has it where it was written in another common form.

    A list or object as a JSON string, one item for a list, a list of words for a command, a list of one text for a text, and a
    choice in other letters.
    """
    field = next((item for name, item in parameters.model_fields.items() if key in (item.alias, name)), None)
    if field is None:
        return value
    kind = field.annotation
    if not _accepts_text(kind) and isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            value = load_json(value)
        except ValueError:
            return value
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return _joined(key, items) if _accepts_text(kind) else items
    if get_origin(kind) is list and _is_item(value, get_args(kind)[0]):
        return [value]
    if isinstance(value, str) and get_origin(kind) is Literal:
        return next(
            (one for one in get_args(kind) if isinstance(one, str) and one.casefold() == value.casefold()), value
        )
    return value


def _is_item(value: Any, kind: Any) -> bool:
    """Return whether a value is one item of such a list, not several in a text."""
    if kind is str:
        return isinstance(value, str) and re.search(r"[,\n]", value) is None
    return isinstance(value, Mapping) and isinstance(kind, type) and issubclass(kind, Parameters)


def _joined(key: str, words: list[Any]) -> Any:
    """Return the text that a list of texts stands for: a command, which a shell may get, or its only item; else the list."""
    if not words or not all(isinstance(word, str) for word in words):
        return words
    if key != "command":
        return words[0] if len(words) == 1 and key in _NAMES else words
    shell, options = words[0].rpartition("/")[2], words[1:-1]
    if len(words) > 2 and shell in ("bash", "sh", "zsh") and all(one in ("-c", "-lc", "-l", "-cl") for one in options):
        return words[-1]
    return words[0] if len(words) == 1 else shlex.join(words)


def _accepts_text(annotation: Any) -> bool:
    return annotation is str or (isinstance(annotation, UnionType) and str in get_args(annotation))
