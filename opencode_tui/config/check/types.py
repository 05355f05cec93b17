"""Types of settings: a wrong value is an error of one line, a key that we do not know a warning with the nearest right one.

Only the keys that are present are looked at, each by a validator of its own: building the validators of all sections would cost
more than the rest of loading.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from opencode_tui.config.notice import Notice, dotted
from opencode_tui.config.settings.section import COLOUR_PATTERN, LINE_PATTERN, MODEL_PATTERN, URL_PATTERN, Section
from opencode_tui.config.settings.settings import SILENT_VALUES, UNSUPPORTED, Settings
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.layer import Layer
from opencode_tui.schema.record import JsonObject

_SHOWN_CHARACTERS = 60
_CUTOFF, _OPEN_CUTOFF = 0.6, 0.85
"""How alike a mistyped key and the right one are; where any key is allowed, `top_k` must not be taken for `top_p`."""

_SECRET_WORDS = ("key", "secret", "token", "password", "authorization", "header", "environment", "env")
_FIELDS = {field.alias or name: (name, field) for name, field in Settings.model_fields.items()}
_PATTERNS = {
    MODEL_PATTERN: 'provider/model, as in "openai/gpt-5"',
    LINE_PATTERN: "one line of text",
    URL_PATTERN: "an address that begins with http:// or https://",
    COLOUR_PATTERN: "a colour, as in #ff8800",
}
_KINDS = {
    "string_type": "a text", "bool_type": "true or false", "int_type": "a whole number", "float_type": "a number",
    "dict_type": "an object", "model_type": "an object", "list_type": "a list", "int_from_float": "a whole number",
    "finite_number": "a number",
}  # fmt: skip


class SettingsCheck:
    """Validates settings; keeps the validators that were built for one load."""

    def __init__(self) -> None:
        self._adapters: dict[str, TypeAdapter[Any]] = {}

    def validate(self, layer: Layer, *, written: JsonObject | None = None) -> Settings:
        """Return the typed settings of a layer; raises ConfigError for the first wrong value.

        `written` are the same settings before variables and files were put in: what a message may quote.
        """
        values: dict[str, Any] = {}
        for key, value in layer.value.items():
            if key in _FIELDS:
                try:
                    values[_FIELDS[key][0]] = self._adapter(key).validate_python(value, strict=True)
                except ValidationError as error:
                    path, message = _explain(error, key, value=layer.value, written=written or layer.value)
                    raise layer.error(path, message) from None
            else:
                values[key] = value
        return Settings.model_construct(**values)

    def _adapter(self, key: str) -> TypeAdapter[Any]:
        if key not in self._adapters:
            self._adapters[key] = TypeAdapter[Any](_FIELDS[key][1].annotation or object)
        return self._adapters[key]


def find_unknown_keys(settings: Settings) -> list[tuple[KeyPath, str]]:
    """Return the path of each key that has no meaning, with the nearest key that has one ("" when none is near)."""
    return list(_unknown_keys(settings, ()))


def _unknown_keys(section: BaseModel, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    known = {field.alias or name: name for name, field in type(section).model_fields.items()}
    is_open = isinstance(section, Section) and section.is_open
    for key in section.model_extra or {}:
        near = _nearest(key, list(known), _OPEN_CUTOFF if is_open else _CUTOFF)
        if near or not is_open:
            yield (*path, key), near
    for key, name in known.items():
        yield from _unknown_in(getattr(section, name), (*path, key))


def _unknown_in(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, BaseModel):
        yield from _unknown_keys(value, path)
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _unknown_in(inner, (*path, key))


def _nearest(key: str, known: Sequence[str], cutoff: float) -> str:
    import difflib  # only for a mistake

    by_lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(key.lower(), list(by_lower), 1, cutoff)
    return by_lower[found[0]] if found else ""


def describe_unknown(near: str) -> str:
    """Return the words for an unknown key."""
    return f"unknown key, did you mean {near!r}?" if near else "unknown key, it has no effect; remove it"


def find_unsupported(layer: Layer) -> list[Notice]:
    """Return a warning for each key of a layer that OpenCode knows and that has no effect here."""
    notices: list[Notice] = []
    for name in UNSUPPORTED:
        path = tuple(name.split("."))
        value: Any = layer.value
        for part in path:
            value = cast("JsonObject", value).get(part) if isinstance(value, dict) else None
        if value not in SILENT_VALUES and value not in ({}, []):
            notices.append(layer.notice(path, "known from OpenCode, has no effect in opencode-tui yet"))
    return notices


def _explain(error: ValidationError, key: str, *, value: JsonObject, written: JsonObject) -> tuple[KeyPath, str]:
    """Return the path of what is wrong and the words for it: what stands there, and what may."""
    found: dict[KeyPath, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        path = _data_path((key, *detail["loc"]), value, is_missing=detail["type"] == "missing")
        found.setdefault(path, []).append(detail)
    path = max(found, key=len)
    details = found[path]
    if details[0]["type"] == "missing":
        return path, "is missing, add it"
    expected = list(dict.fromkeys(_expectation(detail) for detail in details))
    return path, f"{_show(path, _look_up(written, path))} is not {' or '.join(expected)}"


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


def _expectation(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    match kind:
        case "literal_error":
            return _list_choices(str(context["expected"]))
        case "union_tag_invalid":
            return 'of type "local" or "remote"'
        case "string_pattern_mismatch":
            return _PATTERNS.get(context["pattern"], "a name of letters, digits and underscores")
        case "greater_than_equal" | "greater_than" | "less_than_equal" | "less_than":
            words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
            return "a number " + " and ".join(f"{words[name]} {limit}" for name, limit in context.items())
        case "too_short":
            return "a list with at least one member"
        case _:
            return _KINDS.get(kind, f"valid ({detail['msg']})")


def _list_choices(expected: str) -> str:
    choices = expected.replace(" or ", ", ").replace("'", "").split(", ")
    words = [word.lower() if word in ("True", "False") else word for word in choices]
    return f"one of {', '.join(words)}" if len(words) > 1 else words[0]


def _show(path: KeyPath, value: Any) -> str:
    """Return a value as it may be printed: cut, and never one that could be a secret."""
    if any(word in dotted(path).lower() for word in _SECRET_WORDS):
        return "this value"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
