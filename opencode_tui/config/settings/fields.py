"""The fields of all sections of the settings, by the path of a value or by what they say about themselves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast, get_args, get_origin

from opencode_tui.config.settings.marks import Default, Former, Mark, Trust
from opencode_tui.config.settings.section import Section
from opencode_tui.config.settings.settings import Settings
from opencode_tui.schema.field import FieldRow
from opencode_tui.schema.record import JsonObject

ANY = "*"
"""A name in the place of all: `agent.*.steps`."""


@cache
def fields_of(section: type[Section]) -> Mapping[str, FieldRow]:
    """Return the fields of a section by the key that files have."""
    return {field.alias or name: field for name, field in section.model_fields.items()}


def sections_in(annotation: Any, names: int = 0) -> Iterator[tuple[type[Section], int]]:
    """Yield the sections of a type, each with the number of names before its keys: 1 where it is the value of a map."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation, names
        return
    inner = names + (get_origin(annotation) is dict)
    for argument in get_args(annotation):
        yield from sections_in(argument, inner)


def field_at(path: Sequence[str | int]) -> FieldRow | None:
    """Return the field of the key at a path; None for an unknown key, a name of a map, and what is inside of a value."""
    return _field_in([(Settings, 0)], path)


def _field_in(sections: list[tuple[type[Section], int]], path: Sequence[str | int]) -> FieldRow | None:
    for section, names in sections:
        key, rest = path[names : names + 1], path[names + 1 :]
        field = fields_of(section).get(str(key[0])) if key else None
        if field is not None and not rest:
            return field
        inner = _field_in(list(sections_in(field.annotation)), rest) if field is not None else None
        if inner is not None:
            return inner
    return None


def has_mark(field: FieldRow | None, mark: Mark) -> bool:
    """Return whether a field has a mark."""
    return field is not None and mark in field.metadata


def trust_of(field: FieldRow | None) -> Trust | None:
    """Return what a field says about trust; None where it leaves that to its section."""
    found = (mark for mark in field.metadata if isinstance(mark, Trust)) if field is not None else ()
    return next(iter(found), None)


def is_map(field: FieldRow) -> bool:
    """Return whether the value is a map of names to anything but sections."""
    return any(get_origin(one) is dict for one in (field.annotation, *get_args(field.annotation)))


def former_of(field: FieldRow) -> Former | None:
    """Return the field whose former name this is, None for other names."""
    return next((mark for mark in field.metadata if isinstance(mark, Former)), None)


def default_of(field: FieldRow) -> bool | int | float | str | None:
    """Return what is in effect where no source has a value; None where that is no single value."""
    if isinstance(field.default, bool | int | float | str):
        return field.default
    return next((mark.value for mark in field.metadata if isinstance(mark, Default)), None)


def is_secret(field: FieldRow) -> bool:
    """Return whether the value is a secret, or a map of values that may be: a field of `repr=False`."""
    return not field.repr


@cache
def all_fields() -> Mapping[str, FieldRow]:
    """Return every field of the settings by its dotted key, with `*` for any name: `agent.*.steps`."""
    return dict(_fields_in(Settings, ""))


def _fields_in(section: type[Section], prefix: str) -> Iterator[tuple[str, FieldRow]]:
    for key, field in fields_of(section).items():
        yield f"{prefix}{key}", field
        for inner, names in sections_in(field.annotation):
            if inner is not section:  # prices of long requests have the same keys once more
                yield from _fields_in(inner, f"{prefix}{key}.{f'{ANY}.' * names}")


def list_keys(chosen: Callable[[FieldRow], object] = lambda _: True) -> tuple[str, ...]:
    """Return the dotted keys of all fields, or of the chosen ones."""
    return tuple(key for key, field in all_fields().items() if chosen(field))


def present_fields(settings: JsonObject) -> Iterator[tuple[tuple[str, ...], FieldRow, Any]]:
    """Yield the path, the field and the value of each known key in settings of any shape."""
    yield from _present(settings, [(Settings, 0)], ())


def _present(
    value: Any, sections: list[tuple[type[Section], int]], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], FieldRow, Any]]:
    if not isinstance(value, dict):
        return
    known = {key: field for section, names in sections if not names for key, field in fields_of(section).items()}
    named = [(section, names - 1) for section, names in sections if names]
    for key, inner in cast("JsonObject", value).items():
        here = (*path, key)
        if key in known:
            yield here, known[key], inner
            yield from _present(inner, list(sections_in(known[key].annotation)), here)
        if named:
            yield from _present(inner, named, here)
