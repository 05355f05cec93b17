"""The user's own settings file: reading it, and changing it at the request of a client.

A change is checked together with all other sources before the file is written, atomically and under the lock of the store; the mode
of an existing file is kept, a new one is 0600. A file of a repository is changed only where the user names it: by `mcp add`, and
for one setting on the settings page.
"""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from opencode_tui.config.check.types import describe_unknown, find_unknown_keys, validate_settings
from opencode_tui.config.flags import Flags
from opencode_tui.config.load import LoadedConfig, load_config
from opencode_tui.config.merge import Merged, without
from opencode_tui.config.notice import dotted
from opencode_tui.config.redact import redact_settings
from opencode_tui.config.settings.fields import has_mark, list_keys
from opencode_tui.config.settings.marks import Mark
from opencode_tui.config.sources.jsonc import JsoncError, KeyPath
from opencode_tui.config.sources.jsonc_edit import merge_into, remove_from
from opencode_tui.config.sources.layer import Layer, parse_layer, read_layer, visit
from opencode_tui.config.sources.locations import FILE_NAMES
from opencode_tui.config.sources.migrate import migrate
from opencode_tui.config.sources.substitute import Substitution
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.redaction.cover import COVER
from opencode_tui.schema.api.setting import ChangedSetting, SettingChange
from opencode_tui.schema.error import ConfigError, StorageError
from opencode_tui.schema.json_text import JsonError, load_json
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.system_error import cause_of
from opencode_tui.storage.files import FILE_MODE, AtomicWriter, FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths


def find_user_file(paths: Paths) -> Path:
    """Return the file that a change is written to: of the user's files the one that overrides the other, or a new one. Blocks."""
    return find_file(paths.config)


def find_file(folder: Path) -> Path:
    """Return the settings file of a folder: of two the one that overrides the other, or a new one. Blocks."""
    present = [folder / name for name in FILE_NAMES if (folder / name).exists()]
    return present[-1] if present else folder / FILE_NAMES[0]


def read_user_settings(paths: Paths) -> JsonObject:
    """Return the settings in the user's own files, without those of other sources. Raises ConfigError. Blocks."""
    merged = Merged()
    for name in FILE_NAMES:
        layer = read_layer(paths.config / name, "user")
        if layer is not None:
            merged.add(migrate(layer.value), layer.source)
    return merged.value


def change_user_settings(
    change: JsonObject, *, shown: JsonObject, paths: Paths, flags: Flags, directory: Path, environ: Mapping[str, str]
) -> LoadedConfig:
    """Merge values into the user's file and return the settings of a directory with them.

    Values that a response covered (`[hidden]`) or that are in effect already, in the directory or in `shown`, keep what the file
    has: a client that sends back what it read neither replaces `{env:…}` by its value nor copies settings of a repository.

    Raises ConfigError, with the file unchanged, when the change or the settings with it are not valid; StorageError when the file
    cannot be written. Blocks.
    """
    wanted = without_covered(change)
    _check(wanted, directory)
    with Locks(paths).store():
        path = find_user_file(paths)
        before = read_settings_text(path)
        try:
            present = load_config(paths=paths, flags=flags, directory=directory, environ=environ)
            shown = _overlay(shown, present.effective)
        except ConfigError:  # the change may repair it
            present = None
        wanted = without_equal(wanted, redact_settings(shown))
        if present is not None and not wanted:
            return present
        if before.strip():
            layer = parse_layer(before, source=str(path), origin="user", folder=path.parent)
            filled = Substitution(environ=environ, home=paths.home).apply(layer).value
            wanted = with_own_members(wanted, raw=layer.value, own=filled, shown=shown)
        else:
            wanted = with_own_members(wanted, raw={}, own={}, shown=shown)
        try:
            after = merge_into(before, wanted)
        except JsoncError as error:
            raise ConfigError(f"{path}: {error.position}: {error}") from None
        loaded = load_config(paths=paths, flags=flags, directory=directory, environ=environ, draft=(path, after))
        if after != before:
            write_settings_text(path, after)
    return loaded


def change_setting(
    change: SettingChange, *, paths: Paths, flags: Flags, directory: Path, environ: Mapping[str, str]
) -> ChangedSetting:
    """Write one value into the user's file, or remove its key there, and return what was there before.

    Of a list that joins all sources only the members are written that no other source has. Raises ConfigError, with the file
    unchanged, when the value or the settings with it are not valid; StorageError when the file cannot be written. Blocks.
    """
    path = tuple(change.path)
    if not path:
        raise ConfigError("the change names no setting")
    value = None if change.value is None else parse_json(change.value)
    wanted = _nested(path, value)
    if value is not None and without_covered(wanted) != wanted:
        raise ConfigError(f"{dotted(path)}: the value is hidden here; change it in the file")
    if value is not None:
        _check(wanted, directory)
    with Locks(paths).store():
        file = find_user_file(paths)
        before = read_settings_text(file)
        layer = parse_layer(before if before.strip() else "{}", source=str(file), origin="user", folder=file.parent)
        filled = Substitution(environ=environ, home=paths.home).apply(layer).value
        shown = load_config(paths=paths, flags=flags, directory=directory, environ=environ).effective
        try:
            if value is None:
                after = remove_from(before, layer.as_written(path))
            else:
                after = merge_into(before, with_own_members(wanted, raw=layer.value, own=filled, shown=shown))
        except JsoncError as error:
            raise ConfigError(f"{file}: {error.position}: {error}") from None
        loaded = load_config(paths=paths, flags=flags, directory=directory, environ=environ, draft=(file, after))
        if after != before:
            write_settings_text(file, after)
    problem, overriding = ("", "") if value is None else _why_not_in_effect(path, file, loaded)
    present = _value_at(redact_settings(layer.value), path)
    return ChangedSetting(
        file=str(file),
        before=None if present is None else json.dumps(present, ensure_ascii=False),
        problem=problem,
        overridden_by=overriding,
    )


def parse_json(text: str) -> Any:
    """Return the value of a JSON text. Raises ConfigError."""
    try:
        return load_json(text)
    except JsonError as error:
        raise ConfigError(f"{text[:80]!r} is not JSON ({error})") from None


def _nested(path: KeyPath, value: Any) -> JsonObject:
    for key in reversed(path):
        value = {str(key): value}
    return cast("JsonObject", value)


def _value_at(value: Any, path: KeyPath) -> Any:
    for part in path:
        value = cast("JsonObject", value).get(str(part)) if isinstance(value, dict) else None
    return value


def _why_not_in_effect(path: KeyPath, file: Path, loaded: LoadedConfig) -> tuple[str, str]:
    """Return why a value of a file has no effect, or the source that overrides it; empty where it has one."""
    own = (one for one in loaded.ignored if one.source == str(file))
    waiting = next((one for one in own if f"{dotted(path)}.".startswith(f"{one.key}.")), None)
    if waiting is not None:
        return waiting.reason, ""
    source = loaded.sources.get(dotted(path), str(file))
    return "", "" if source == str(file) else source


def without_covered(change: JsonObject) -> JsonObject:
    """Return a change without the values that are covered in responses, and without objects of nothing else."""
    kept: JsonObject = {}
    for key, value in change.items():
        if isinstance(value, dict):
            inner = without_covered(cast("JsonObject", value))
            if inner or not value:
                kept[key] = inner
        elif not _is_covered(value):
            kept[key] = value
    return kept


def without_equal(change: JsonObject, present: JsonObject) -> JsonObject:
    """Return a change without the values that are present, and without objects of nothing else."""
    kept: JsonObject = {}
    for key, value in change.items():
        before = present.get(key)
        if isinstance(value, dict) and isinstance(before, dict) and value:
            inner = without_equal(cast("JsonObject", value), cast("JsonObject", before))
            if inner:
                kept[key] = inner
        elif key not in present or value != before or isinstance(value, bool) != isinstance(before, bool):
            kept[key] = value
    return kept


def with_own_members(change: JsonObject, *, raw: JsonObject, own: JsonObject, shown: JsonObject) -> JsonObject:
    """Return a change in which lists that join all sources have only the members of the file.

    Those are what the file has of the wanted ones, as it is written there (`raw`; `own` with the variables filled in), and what no
    source has yet. Members of other sources are in effect anyway, and cannot be removed here. A list that keeps the members of the
    file is left out.
    """
    changed = change
    for joined in list_keys(lambda field: has_mark(field, Mark.JOINED)):
        path = tuple(joined.split("."))
        wanted = _list_at(change, path)
        if wanted is None:
            continue
        present, written = _list_at(own, path) or [], _list_at(raw, path) or []
        known = dict(zip(present, written, strict=True))
        others = set(_list_at(shown, path) or [])
        members = [known.get(one, one) for one in wanted if one in known or one not in others]
        members += [known[one] for one in present if one not in wanted and one not in others]  # covered ones
        changed = without(changed, [path]) if members == written else _replaced(changed, path, members)
    return changed


def _list_at(value: Any, path: KeyPath) -> list[str] | None:
    found = _value_at(value, path)
    return cast("list[str]", found) if isinstance(found, list) else None


def _replaced(value: JsonObject, path: KeyPath, members: list[str]) -> JsonObject:
    key = str(path[0])
    return {**value, key: members if len(path) == 1 else _replaced(value[key], path[1:], members)}


def _overlay(earlier: JsonObject, later: JsonObject) -> JsonObject:
    merged = dict(earlier)
    for key, value in later.items():
        before = merged.get(key)
        is_both = isinstance(before, dict) and isinstance(value, dict)
        merged[key] = _overlay(cast("JsonObject", before), cast("JsonObject", value)) if is_both else value
    return merged


def _is_covered(value: Any) -> bool:
    if isinstance(value, list):
        return any(_is_covered(inner) for inner in cast("list[Any]", value))
    return isinstance(value, str) and COVER in value


def _check(change: JsonObject, directory: Path) -> None:
    """Raise ConfigError for the first value that cannot be a setting, or key that is none."""
    layer = Layer("the change", "user", directory, change)
    visit(change, layer.error)
    for path, near in find_unknown_keys(validate_settings(layer)):
        raise layer.error(path, describe_unknown(near))


def read_settings_text(path: Path) -> str:
    """Return the text of the file, empty without one; raises ConfigError when it is not valid."""
    try:
        text = read_text(str(path))
    except FileNotFoundError:
        return ""
    except UnreadableFileError as error:
        raise ConfigError(f"{path}: {error}") from None
    parse_layer(text, source=str(path), origin="user", folder=path.parent)
    return text


def write_settings_text(path: Path, text: str) -> None:
    """Replace a file, whose mode is kept; a new one is 0600. Raises StorageError. Blocks."""
    real = os.path.realpath(path)
    try:
        mode = stat.S_IMODE(os.stat(real).st_mode) if os.path.exists(real) else FILE_MODE
        AtomicWriter(FileSystem()).write(real, text.encode(), durable=True)
        if mode != FILE_MODE:
            os.chmod(real, mode)
    except OSError as error:
        raise StorageError(f"{path} cannot be written, and is unchanged: {cause_of(error)}") from error


def add_mcp_server(folder: Path, name: str, entry: JsonObject, *, paths: Paths) -> Path:
    """Add a server to the settings file of a folder and return the file; it is created where there is none.

    Of two files it is the one that overrides the other. Raises ConfigError for an entry that is not valid, and for a file that
    cannot be read or has a server of this name; StorageError for a file that cannot be written. Blocks.
    """
    _check({"mcp": {name: entry}}, folder)
    with Locks(paths).store():
        present = [folder / one for one in FILE_NAMES if (folder / one).exists()]
        path = present[-1] if present else folder / "opencode.json"
        text = read_settings_text(path)
        layer = parse_layer(text or "{}", source=str(path), origin="user", folder=folder)
        servers = layer.value.get("mcp")
        if isinstance(servers, dict) and name in cast("JsonObject", servers):
            raise ConfigError(f"{path}: mcp.{name} exists already; change it there, or choose another name")
        try:
            changed = merge_into(text, {"mcp": {name: entry}})
        except JsoncError as error:
            raise ConfigError(f"{path}: {error.position}: {error}") from None
        folder.mkdir(parents=True, exist_ok=True)
        write_settings_text(path, changed)
    return path
