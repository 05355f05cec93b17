"""Writes the pages of `docs/` that list all settings and keys: `python -m tests.support.source.reference_pages`.

The settings come from the docstrings of `config/settings/`, by way of the JSON schema; the keys from `schema/api/keybinds.py`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from opencode_tui.config.check.json_schema import build_schema
from opencode_tui.config.settings.fields import former_of, has_mark, list_keys
from opencode_tui.config.settings.marks import Mark
from opencode_tui.schema.api.keybinds import ACTIONS, LEADER_KEY, NONE, Action
from opencode_tui.schema.record import JsonObject

PAGES = Path(__file__).resolve().parents[3] / "docs"

_COMMAND = "python -m tests.support.source.reference_pages"

_SETTINGS_HEAD = f"""# Settings reference

<!-- Written by `{_COMMAND}` from the docstrings of opencode_tui/config/settings/. -->

All keys of `opencode.jsonc`. [Configuration](configuration.md) says where the files are and which one takes precedence.
`NAME` stands for a name of your own. `opencode-tui config schema` prints the same as a JSON schema, which an editor can
check while you type. `config.example.jsonc` in the repository shows every key in use.
"""

_KEYS_HEAD = f"""# Keys reference

<!-- Written by `{_COMMAND}` from opencode_tui/schema/api/keybinds.py. -->

All actions of the screen with their default keys. `<leader>` is `{LEADER_KEY}`, pressed and released before the next key.
`f1` shows all keys, on a page the keys of that page. So does `?` where you cannot type text.
While a run goes on, the first key of `app_exit` interrupts it.
The setting `keybinds` changes keys by the name in the last column:

```jsonc
{{ "keybinds": {{ "session_new": "f6", "sidebar_toggle": "none" }} }}
```
"""


Row = tuple[str, str, str, str]
"""A key with its values, its default, empty without one, and its meaning."""


def derive() -> dict[str, str]:
    """Return the text of each page, by its name in `docs/`."""
    return {"settings.md": "\n".join(_settings()), "keys.md": "\n".join(_keys())}


def _settings() -> Iterator[str]:
    schema = build_schema()
    definitions = cast("dict[str, JsonObject]", schema["$defs"])
    keys = cast("dict[str, JsonObject]", schema["properties"])
    simple = {key: value for key, value in keys.items() if not _sections(value, definitions)}
    yield _SETTINGS_HEAD
    yield "## Single values\n"
    yield from _table(_rows("", simple, definitions))
    for key, value in keys.items():
        if key not in simple:
            yield f"## `{key}`\n"
            yield f"{_sentence(value)}\n"
            yield from _table(_section_rows(key, value, definitions))
    yield "## Former and unsupported keys\n"
    unsupported = list_keys(lambda field: has_mark(field, Mark.UNSUPPORTED))
    former = tuple(key for key in list_keys(former_of) if key not in unsupported and not key.startswith("mode."))
    yield f"These former names still work: {_list(former)}.\n"
    yield f"These keys of OpenCode have no effect yet; a file that sets one gets a warning: {_list(unsupported)}.\n"


def _sections(value: JsonObject, definitions: dict[str, JsonObject]) -> list[tuple[str, JsonObject]]:
    """Return the objects with keys of their own that a value can be, each with what stands between its key and theirs."""
    choices = [value, *cast("list[JsonObject]", [*value.get("anyOf", []), *value.get("oneOf", [])])]
    found: list[tuple[str, JsonObject]] = []
    for choice in choices:
        inner = _member(choice)
        if "$ref" in choice:
            definition = definitions[str(choice["$ref"]).rpartition("/")[2]]
            found += [("", definition)] if "properties" in definition else _sections(definition, definitions)
        elif choice is not value and ("anyOf" in choice or "oneOf" in choice):
            found += _sections(choice, definitions)
        elif inner:
            mark = "[]" if "items" in choice else ".NAME"
            found += [(f"{mark}{deeper}", section) for deeper, section in _sections(inner, definitions)]
    return found


def _member(value: JsonObject) -> JsonObject:
    """Return the schema of the members of a list or of an object with free names; empty for anything else."""
    named = list(cast("dict[str, JsonObject]", value.get("patternProperties", {})).values())
    inner = value.get("items") or (named[0] if named else value.get("additionalProperties"))
    return cast("JsonObject", inner) if isinstance(inner, dict) else {}


def _section_rows(key: str, value: JsonObject, definitions: dict[str, JsonObject]) -> Iterator[Row]:
    for between, section in _sections(value, definitions):
        yield from _rows(f"{key}{between}.", cast("dict[str, JsonObject]", section["properties"]), definitions)


def _rows(prefix: str, keys: dict[str, JsonObject], definitions: dict[str, JsonObject]) -> Iterator[Row]:
    for key, value in keys.items():
        path = f"{prefix}{key}"
        yield path, _kind(value, definitions), _default(value), _sentence(value)
        if not path.endswith("context_over_200k"):  # it has the keys of the object that it is in
            yield from _section_rows(path, value, definitions)


def _table(rows: Iterator[Row]) -> Iterator[str]:
    """Yield a table; of several rows with one key, such as `type`, the values, defaults and sentences are joined."""
    joined: dict[str, tuple[list[str], list[str], list[str]]] = {}
    for path, kind, default, text in rows:
        for known, new in zip(joined.setdefault(path, ([], [], [])), (kind, default, text), strict=True):
            known += [new] if new not in known else []
    yield "| key | value | default | meaning |\n|---|---|---|---|"
    for path, (kinds, defaults, texts) in joined.items():
        yield f"| `{path}` | {' or '.join(kinds)} | {' or '.join(filter(None, defaults))} | {' '.join(texts)} |"
    yield ""


def _default(value: JsonObject) -> str:
    return f"`{_literal(value['default'])}`" if "default" in value else ""


_ANGLE = re.compile(r"<(?=[^`]*(?:`[^`]*`[^`]*)*\Z)")
"""A `<` outside of backquotes, which would begin a tag."""

_KINDS = {"integer": "integer", "number": "number", "string": "text", "boolean": "`true`, `false`", "object": "object"}


def _kind(value: JsonObject, definitions: dict[str, JsonObject]) -> str:
    """Return in words what a value may be."""
    choices = cast("list[JsonObject]", value.get("anyOf") or value.get("oneOf") or [])
    if choices:
        return " or ".join(dict.fromkeys(_kind(choice, definitions) for choice in choices))
    if "$ref" in value:
        definition = definitions[str(value["$ref"]).rpartition("/")[2]]
        return "object" if "properties" in definition else _kind(definition, definitions)
    if "const" in value:
        return f"`{_literal(value['const'])}`"
    if "enum" in value:
        return _list(tuple(_literal(choice) for choice in cast("list[Any]", value["enum"])))
    if value.get("type") == "array":
        inner = _kind(cast("JsonObject", value.get("items", {})), definitions)
        return f"list of {inner}" if inner != "any" else "list"
    return _KINDS.get(str(value.get("type")), "any")


def _literal(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _list(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _sentence(value: JsonObject) -> str:
    return _ANGLE.sub("&lt;", " ".join(str(value.get("description", "")).split()).replace("|", "\\|"))


def _keys() -> Iterator[str]:
    yield _KEYS_HEAD
    groups: dict[str, list[Action]] = {}
    for action in ACTIONS:
        groups.setdefault(action.group, []).append(action)
    for group, actions in groups.items():
        yield f"## {group}\n"
        yield "| action | keys | command | name |\n|---|---|---|---|"
        for action in actions:
            keys = "" if action.keys == NONE else ", ".join(_code(key) for key in action.keys.split(","))
            commands = ", ".join(f"`/{name}`" for name in action.slash.split())
            yield f"| {action.name} | {keys} | {commands} | `{action.id}` |"
        yield ""


def _code(key: str) -> str:
    return f"`{key.replace(chr(92), chr(92) * 2).replace('|', chr(92) + '|')}`"


def main() -> None:
    """Write the pages."""
    for name, text in derive().items():
        (PAGES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
