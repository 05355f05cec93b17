"""Answers to calls that cannot run, because the tool is unknown or its input does not fit: each names the right form, briefly."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from opencode_tui.engine.provider.llm import ToolSpec
from opencode_tui.schema.suggest import nearest
from opencode_tui.schema.tools import row_of

ANSWER_BYTES = 200
"""Most bytes of an answer about a tool whose own name and fields are not longer."""
_QUOTED_CHARACTERS = 40
_MOST_FAULTS = 3
_CLOSE = 0.7

_EDITORS = ("strreplace", "texteditor", "editor")
_VERBS = {"view": "read", "create": "write", "str_replace": "edit", "insert": "edit"}
"""What an editor of Anthropic's form does, by its argument `command`."""
_PARALLEL = "paralleltooluse"
_KINDS = {
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "string": "a string",
    "list": "a list",
    "dict": "an object",
    "model": "an object",
}


def describe_unknown(name: str, specs: Sequence[ToolSpec], written: Mapping[str, Any] | None = None) -> str:
    """Return the answer to a call of a tool that does not exist, with the arguments `written`; `specs` are those that do."""
    shown = repr(_cut(name))
    plain = _plain(name.rpartition(".")[2] or name)
    if plain == "parallel" or _plain(name).endswith(_PARALLEL):
        return (
            f"There is no tool {shown}. Call each tool by its own name; several calls in one answer run side by side."
        )
    verb = (written or {}).get("command")
    meant = _VERBS.get(verb, plain) if isinstance(verb, str) and plain.startswith(_EDITORS) else plain
    spec = _find_meant(meant, specs)
    if spec is not None:
        return _with_form(f"There is no tool {shown}; call {spec.name}", spec.parameters)
    answer = f"There is no tool {shown}. Use one of: "
    names = [spec.name for spec in specs]
    while names and len(f"{answer}{', '.join(names)}, ….".encode()) > ANSWER_BYTES:
        names.pop()
    return f"{answer}{', '.join(names)}{', …' if len(names) < len(specs) else ''}."


def describe_misfit(tool: str, faults: Sequence[str], schema: Mapping[str, Any]) -> str:
    """Return the answer to a call whose input has these faults."""
    more = f" and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
    return _with_form(f"The input of {tool} does not fit: {'; '.join(faults[:_MOST_FAULTS])}{more}. Write", schema)


def describe_fault(fault: Mapping[str, Any]) -> str:
    """Return one fault of an input, as pydantic reports it: the field, and what it must be."""
    field = ".".join(str(step) for step in fault["loc"]) or "input"
    if fault["type"] == "missing":
        return f"{field} is missing"
    kind = _KINDS.get(str(fault["type"]).partition("_")[0])
    message = str(fault["msg"]).removeprefix("Input ")
    return f"{field} {f'must be {kind}' if kind else message}, not {_cut(repr(fault['input']))}"


def form_of(schema: Mapping[str, Any], *, depth: int = 2) -> str:
    """Return the form of a JSON schema, such as `{path: string, limit?: integer}`."""
    match schema.get("type"):
        case "object" if "properties" in schema:
            if depth == 0:
                return "{…}"
            required = cast("list[str]", schema.get("required", []))
            fields = cast("dict[str, dict[str, Any]]", schema["properties"])
            return f"{{{', '.join(_field(name, field, name in required, depth) for name, field in fields.items())}}}"
        case "array":
            return f"[{form_of(cast('dict[str, Any]', schema.get('items', {})), depth=depth - 1)}]"
        case str() as kind:
            values = cast("list[object]", schema.get("enum", []))
            return " | ".join(map(repr, values)) if values and depth > 1 else kind
        case _:
            return "value"


def _field(name: str, schema: Mapping[str, Any], is_required: bool, depth: int) -> str:
    return f"{name}{'' if is_required else '?'}: {form_of(schema, depth=depth - 1 if schema.get('type') == 'object' else depth)}"


def _with_form(answer: str, schema: Mapping[str, Any]) -> str:
    """Return the answer with the most complete form that fits."""
    required = cast("list[str]", schema.get("required", []))
    fields = cast("dict[str, Any]", schema.get("properties", {}))
    needed = {**schema, "properties": {name: field for name, field in fields.items() if name in required}}
    forms = [form_of(one, depth=depth) for depth in (2, 1) for one in (schema, needed)] if fields else ["{}"]
    return next(
        (text for form in forms if len((text := f"{answer} {form}.").encode()) <= ANSWER_BYTES),
        f"{answer} {forms[-1]}.",
    )


def _find_meant(plain: str, specs: Sequence[ToolSpec]) -> ToolSpec | None:
    by_name = {_plain(spec.name): spec for spec in specs}
    if plain in by_name:
        return by_name[plain]
    for spec in specs:
        if plain in row_of(spec.name).aliases:
            return spec
    close = nearest(plain, by_name, similarity=_CLOSE)
    return by_name[close[0]] if close else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()).removesuffix("tool") or name.lower()


def _cut(text: str) -> str:
    return text if len(text) <= _QUOTED_CHARACTERS else text[:_QUOTED_CHARACTERS] + "…"
