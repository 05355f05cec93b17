"""Checks of the types of settings: a wrong value is an error of one line, an unknown key a warning with the most similar known key.

A validator is built for each key that is present: building the validators of all sections would take longer than the rest of
loading.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, cast

from opencode_tui.config.notice import Notice, dotted
from opencode_tui.config.settings import section
from opencode_tui.config.settings.fields import ANY, field_at, has_mark, is_secret, list_keys, present_fields
from opencode_tui.config.settings.marks import NOTHING, Mark
from opencode_tui.config.settings.section import Section
from opencode_tui.config.settings.settings import Settings
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.layer import Layer
from opencode_tui.schema import field as record_field
from opencode_tui.schema.record import JsonObject, Reader, ValidationError
from opencode_tui.schema.suggest import did_you_mean, nearest

_SHOWN_CHARACTERS = 60
_CUTOFF, _OPEN_CUTOFF = 0.6, 0.85
"""Least similarity of a mistyped key; higher where any key is allowed, so that `top_k` does not match `top_p`."""

_OTHER_NAMES = {"mcpServers": "mcp", "mcp_servers": "mcp", "rules": "instructions", "hooks": "plugin"}
"""Names that other programs use for our top-level keys."""
_SAME_MEANING = {"env": "environment", "environment": "env", "args": "command"}
"""Names that other programs, and other sections, use for the keys of a program to start."""

_SECRET_WORDS = ("key", "secret", "token", "password", "authorization", "header", "environment", "env")
_SILENT = (False, None, "disabled", "manual")
"""Values of an unsupported key that would have no effect, like empty objects and lists."""

_FIELDS = {field.alias or name: (name, field) for name, field in Settings.model_fields.items()}
_PATTERNS = {
    section.MODEL_PATTERN: 'provider/model (such as "openai/gpt-5")',
    section.LINE_PATTERN: "one line of text",
    section.TEXT_PATTERN: "a string that is not empty",
    section.URL_PATTERN: "an address that begins with http:// or https://",
    section.COLOR_PATTERN: "a color (such as #ff8800)",
    section.ORIGIN_PATTERN: "an origin (such as https://app.example), without a path and without *",
    section.HOST_PATTERN: "a host name or address, without http:// and without a path",
    section.HOST_RULE_PATTERN: "a host (such as example.com, *.example.org or 10.0.0.5:8080), without http:// and without a path",
    section.KEY_PATTERN: "a key without spaces, line breaks and special characters",
    section.HEADER_NAME_PATTERN: "the name of an HTTP header",
    section.VARIABLE_PATTERN: "the name of an environment variable",
    section.SIZE_PATTERN: 'a size (such as "8 GB" or "512 MB"), or "none"',
    section.PROVIDER_PATTERN: "a provider's id without slashes and spaces",
}
_KINDS = {
    "string_type": "a string", "bool_type": "true or false", "int_type": "an integer", "float_type": "a number",
    "dict_type": "an object", "model_type": "an object", "list_type": "a list", "int_from_float": "an integer",
    "finite_number": "a number",
}  # fmt: skip


def validate_settings(layer: Layer, *, written: JsonObject | None = None) -> Settings:
    """Return the typed settings of a layer; raises ConfigError for the first wrong value.

    `written` are the same settings before substitution, which messages may quote.
    """
    values: dict[str, Any] = {}
    for key, value in layer.value.items():
        if key in _FIELDS:
            try:
                values[_FIELDS[key][0]] = _validator(key).validate_python(value)
            except ValidationError as error:
                path, message = _explain(error, key, value=layer.value, written=written or layer.value)
                raise layer.error(path, message) from None
        else:
            values[key] = value
    return Settings.trusted(**values)


@cache
def _validator(key: str) -> Reader[Any]:
    """Return the validator of a top-level key; cached, because that of `provider` alone takes about 20 ms to build."""
    return Reader[Any](_FIELDS[key][1].annotation, is_strict=True)


def find_unknown_keys(settings: Settings) -> list[tuple[KeyPath, str]]:
    """Return the path of each unknown key, with the most similar known key ("" when none is similar)."""
    return list(_unknown_keys(settings, ()))


def _unknown_keys(settings: Section, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    known = {field.alias or name: name for name, field in type(settings).model_fields.items()}
    is_open = settings.is_open
    for key in settings.model_extra or {}:
        near = _nearest(key, list(known), _OPEN_CUTOFF) or ("" if is_open else _suggest(key, path, list(known)))
        if near or not is_open:
            yield (*path, key), near
    for key, name in known.items():
        yield from _unknown_in(getattr(settings, name), (*path, key))


def _suggest(key: str, path: KeyPath, known: Sequence[str]) -> str:
    """Return a suggestion for an unknown key: its name here, its right section, or a similar key."""
    if not path and key in _OTHER_NAMES:
        return _OTHER_NAMES[key]
    if _SAME_MEANING.get(key) in known:
        return _SAME_MEANING[key]
    here = (*path, key)
    elsewhere = [
        name
        for name in list_keys()
        if name.rpartition(".")[2] == key and "." in name and bool(path) <= _common_parts(name, here) < len(here)
    ]
    if elsewhere:
        return max(elsewhere, key=lambda name: (_common_parts(name, path), -name.count(".")))
    return _nearest(key, known, _CUTOFF)


def _common_parts(name: str, path: KeyPath) -> int:
    """Return how many parts of a key's name the path shares; `*` matches any part."""
    count = 0
    for part, own in zip(name.split("."), path, strict=False):
        if part not in (ANY, own):
            break
        count += 1
    return count


def _unknown_in(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, Section):
        yield from _unknown_keys(value, path)
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _unknown_in(inner, (*path, key))


def _nearest(key: str, known: Sequence[str], cutoff: float) -> str:
    swapped = [name for name in known if sorted(name.lower()) == sorted(key.lower())]
    found = swapped or nearest(key, known, similarity=cutoff)
    return found[0] if found else ""


def describe_unknown(near: str) -> str:
    """Return the message for an unknown key."""
    return f"unknown key (ignored), {did_you_mean([repr(near)])}" if near else "unknown key (ignored)"


def find_unsupported(layer: Layer) -> list[Notice]:
    """Return a warning for each key of a layer that only OpenCode supports, once for all names of a map."""
    found: dict[int, KeyPath] = {}
    for path, field, value in present_fields(layer.value):
        if has_mark(field, Mark.UNSUPPORTED) and value not in _SILENT and value not in NOTHING:
            found.setdefault(id(field), path)
    return [layer.notice(path, "not supported yet (ignored)") for path in found.values()]


def _explain(error: ValidationError, key: str, *, value: JsonObject, written: JsonObject) -> tuple[KeyPath, str]:
    """Return the path of the wrong value and a message with the value and what was expected."""
    found: dict[KeyPath, list[JsonObject]] = {}
    for detail in error.errors():
        path = _data_path((key, *detail["loc"]), value, is_missing=detail["type"] == "missing")
        found.setdefault(path, []).append(detail)
    path = max(found, key=len)
    details = found[path]
    if details[0]["type"] == "missing":
        return path, "is missing, add it"
    shown = _look_up(written, path)
    choices = [detail for detail in details if detail["type"] == "literal_error"]
    if any("one of" in _expectation(detail) for detail in choices) and isinstance(shown, str):
        return path, f"{_show(path, shown)} is not {' or '.join(map(_expectation, choices))}"
    tags = [detail for detail in details if detail["type"] == "union_tag_invalid"]
    if tags:
        path = (*path, "type")
        shown = cast("JsonObject", shown).get("type") if isinstance(shown, dict) else None
    expected = list(dict.fromkeys(_expectation(detail) for detail in details))
    got = "nothing" if tags and shown is None else _show(path, shown)
    is_key = any("[key]" in detail["loc"] for detail in details)
    return path, f"expected {' or '.join(expected)}" + (" as the key" if is_key else f", got {got}")


def _data_path(location: tuple[int | str, ...], value: Any, *, is_missing: bool) -> KeyPath:
    """Drop the members of a location that name variants of a type instead of keys."""
    path: list[str | int] = []
    last = location[-1]
    for part in location[:-1] if is_missing else location:
        if isinstance(value, dict) and part in value:
            value = cast("dict[str | int, Any]", value)[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(cast("list[Any]", value)):
            value = cast("list[Any]", value)[part]
        else:
            continue
        path.append(part)
    return (*path, last) if is_missing else tuple(path)


def _look_up(value: Any, path: KeyPath) -> Any:
    """Return the value at a path, or the one around it where the settings had another form when they were written."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            break
    return value


def _expectation(detail: JsonObject) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    match kind:
        case "literal_error":
            return _list_choices(str(context["expected"]))
        case "union_tag_invalid":
            return '"local" or "remote"'
        case "string_pattern_mismatch":
            return _PATTERNS.get(context["pattern"], "a name of letters, digits and underscores")
        case record_field.EXPECTED:
            return str(context["expected"])
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
            return "a number " + " and ".join(f"{words[name]} {limit:.12g}" for name, limit in context.items())
        case "too_short":
            return "a list with at least one member"
        case _:
            return _KINDS.get(kind, f"valid ({detail['msg']})")


def _list_choices(expected: str) -> str:
    choices = expected.replace(" or ", ", ").replace("'", "").split(", ")
    words = [word.lower() if word in ("True", "False") else word for word in choices]
    return f"one of {', '.join(words)}" if len(words) > 1 else words[0]


def _show(path: KeyPath, value: Any) -> str:
    """Return a value for a message: truncated, and not shown if it could be a secret."""
    field = field_at(path)
    if (field is not None and is_secret(field)) or any(word in dotted(path).lower() for word in _SECRET_WORDS):
        return f"{_kind(value)} (not shown)"
    if isinstance(value, dict | list):
        return _kind(value)
    text = json.dumps(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return kinds.get(cast("type[Any]", type(value)), "a number")
