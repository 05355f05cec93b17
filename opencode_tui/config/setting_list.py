"""The settings one by one, in the order of the schema: what the settings page shows.

A setting is a field that has a value of its own. The members of a map (`agent.NAME.model`) are listed where a source has them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from msgspec import Struct

from opencode_tui.config.check.json_schema import read_sentences
from opencode_tui.config.load import LoadedConfig
from opencode_tui.config.notice import dotted
from opencode_tui.config.redact import redact_settings
from opencode_tui.config.settings.fields import default_of, fields_of, former_of, has_mark, sections_in
from opencode_tui.config.settings.marks import Mark
from opencode_tui.config.settings.section import Off, Section
from opencode_tui.config.settings.settings import Settings
from opencode_tui.schema.api.setting import Setting, SettingKind, SettingList
from opencode_tui.schema.field import FieldRow
from opencode_tui.schema.record import JsonObject

_LEFT_OUT = frozenset({"$schema"})


class ValueKind(Struct, frozen=True):
    """How a value is typed, and the values that it has by name."""

    kind: SettingKind
    choices: tuple[Any, ...] = ()


def list_settings(loaded: LoadedConfig, *, user_file: Path) -> SettingList:
    """Return all settings with their values in effect, secrets redacted. Blocks: it reads the sentences of the source."""
    values = redact_settings(loaded.effective)
    found: dict[tuple[str, ...], Setting] = {}
    for path, section, field, value in _walk(Settings, (), values, is_map=False):
        kind = kind_of(field.annotation)
        if kind is None or path in found or (len(kind.choices) == 1 and kind.kind == "choice"):
            continue
        source = loaded.sources.get(dotted(path), "") if value is not None else ""
        found[path] = Setting(
            path=[*path],
            kind="object" if isinstance(value, dict) else kind.kind,
            about=read_sentences()[section.__name__].get(path[-1], ""),
            choices=[json.dumps(one) for one in kind.choices],
            value=_json(value),
            default=_json(default_of(field)),
            source=source,
            is_own=source == str(user_file),
            at_start=has_mark(fields_of(Settings)[path[0]], Mark.AT_START),
        )
    return SettingList(settings=[*found.values()], user_file=str(user_file))


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _walk(
    section: type[Section], path: tuple[str, ...], value: Any, *, is_map: bool
) -> Iterator[tuple[tuple[str, ...], type[Section], FieldRow, Any]]:
    """Yield the path, the section, the field and the value of all fields; of a section in a map those that have a value."""
    present = cast("JsonObject", value) if isinstance(value, dict) else {}
    for key, field in fields_of(section).items():
        if former_of(field) or has_mark(field, Mark.UNSUPPORTED) or key in _LEFT_OUT or (is_map and key not in present):
            continue
        here, own = (*path, key), present.get(key)
        yield here, section, field, own
        for inner, names in sections_in(field.annotation):
            if not names:
                yield from _walk(inner, here, own, is_map=is_map)
            elif names == 1 and isinstance(own, dict):
                for name, member in cast("JsonObject", own).items():
                    yield from _walk(inner, (*here, name), member, is_map=True)


def kind_of(annotation: Any) -> ValueKind | None:
    """Return how a value of a type is typed; None for a type that is sections only."""
    plain = [*_plain(annotation)]
    named = tuple(value for one in plain if get_origin(one) is Literal for value in get_args(one))
    if bool in plain:
        named = (True, False, *named)
    others = [one for one in plain if one is not bool and get_origin(one) is not Literal]
    if not others:
        return ValueKind("switch" if named == (True, False) else "choice", named) if named else None
    if any(get_origin(one) is dict for one in others):
        return ValueKind("choice", named) if named else ValueKind("object")
    if get_origin(others[0]) is list:
        members = [*_plain(get_args(others[0])[0])]
        of_list = tuple(value for one in members if get_origin(one) is Literal for value in get_args(one))
        return ValueKind("list", of_list) if of_list or members == [str] else ValueKind("object")
    return ValueKind("number" if others[0] in (int, float) else "text", named)


def _plain(annotation: Any) -> Iterator[Any]:
    """Yield what a type consists of besides sections and None."""
    if annotation == Off:
        yield Literal[False]
    elif get_origin(annotation) is Annotated:
        yield from _plain(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, UnionType):
        for one in get_args(annotation):
            yield from _plain(one)
    elif annotation is not type(None) and not (isinstance(annotation, type) and issubclass(annotation, Section)):
        yield annotation
