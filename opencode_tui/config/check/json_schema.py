"""The JSON schema of the settings, for editors: types from the models, descriptions from the sentences under their fields."""

import ast
import importlib
import inspect
from functools import cache
from typing import Any, cast

from opencode_tui.config.settings.fields import all_fields, default_of, former_of, sections_in
from opencode_tui.config.settings.section import Section
from opencode_tui.config.settings.settings import Settings
from opencode_tui.schema.record import JsonObject

_MODULES = ("settings", "provider")


def build_schema() -> JsonObject:
    """Return the schema of a settings file (JSON Schema 2020-12)."""
    schema: JsonObject = Settings.model_json_schema()
    sentences = read_sentences()
    definitions = cast("dict[str, JsonObject]", schema.get("$defs", {}))
    inner = (found for field in all_fields().values() for found, _ in sections_in(field.annotation))
    sections = {one.__name__: one for one in (Settings, *inner)}
    for name, definition in [("Settings", schema), *definitions.items()]:
        if name in sections:
            _describe(sections[name], definition, sentences[name])
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "opencode-tui settings"
    schema["allowComments"] = schema["allowTrailingCommas"] = True
    return schema


def _describe(section: type[Section], definition: JsonObject, sentences: dict[str, str]) -> None:
    properties = cast("dict[str, JsonObject]", definition.get("properties", {}))
    if not section.is_open:
        definition["additionalProperties"] = False
    for key, value in properties.items():
        _forbid_null(value)
        for noise in ("title", "default"):
            value.pop(noise, None)
        field = "schema_url" if key == "$schema" else key
        default = default_of(section.model_fields[field])
        if default is not None:
            value["default"] = default
        if field in sentences:
            value["description"] = sentences[field]
        if former_of(section.model_fields[field]):
            value["deprecated"] = True


def _forbid_null(value: JsonObject) -> None:
    """Remove null from the allowed types: an absent key is None in the program, but null in a file is an error."""
    choices = [choice for choice in cast("list[JsonObject]", value.pop("anyOf", [])) if choice != {"type": "null"}]
    if len(choices) == 1:
        value.update(choices[0])
    elif choices:
        value["anyOf"] = choices


@cache
def read_sentences() -> dict[str, dict[str, str]]:
    """Return the docstring of each field, by class and field, read from the source because Python does not keep it."""
    found: dict[str, dict[str, str]] = {}
    for name in _MODULES:
        module = importlib.import_module(f"opencode_tui.config.settings.{name}")
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = _sentences_of(node)
    return found


def _sentences_of(node: ast.ClassDef) -> dict[str, str]:
    sentences: dict[str, str] = {}
    for field, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            value: Any = text.value.value if isinstance(text.value, ast.Constant) else None
            if isinstance(value, str):
                sentences[field.target.id] = value
    return sentences
