"""Every supported key of the settings is in the example; the others are named as without effect."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import opencode_tui
from opencode_tui.config.settings.fields import former_of, has_mark, list_keys
from opencode_tui.config.settings.marks import Mark
from opencode_tui.config.sources.jsonc import KeyPath, parse

PACKAGE = Path(opencode_tui.__file__).parent
EXAMPLE = PACKAGE.parent / "config.example.jsonc"
UNSUPPORTED = list_keys(lambda field: has_mark(field, Mark.UNSUPPORTED))
FORMER = list_keys(former_of)
DESCRIPTIVE = list_keys(lambda field: has_mark(field, Mark.DESCRIPTIVE))


def is_below(key: str, names: tuple[str, ...]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in names)


def working_keys() -> list[str]:
    return [key for key in supported_keys() if not is_below(key, DESCRIPTIVE)]


def supported_keys() -> list[str]:
    return [key for key in list_keys() if not is_below(key, (*UNSUPPORTED, *FORMER))]


def example_keys(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from example_keys(inner, (*path, key))
    elif isinstance(value, list):
        for member in cast("list[Any]", value):
            yield from (inner for inner in example_keys(member, path) if inner != path)


def matches(key: str, path: KeyPath) -> bool:
    parts = key.split(".")
    return len(parts) == len(path) and all(part in ("*", own) for part, own in zip(parts, path, strict=True))


def test_the_example_holds_every_supported_key():
    shown = list(example_keys(parse(EXAMPLE.read_text("utf-8")).value))
    assert len(shown) > 80
    assert [key for key in supported_keys() if not any(matches(key, path) for path in shown)] == []


def test_the_example_holds_no_former_key_and_none_that_is_not_supported():
    shown = list(example_keys(parse(EXAMPLE.read_text("utf-8")).value))
    silent = [key for key in list_keys() if is_below(key, (*UNSUPPORTED, *FORMER))]
    assert len(silent) > 25
    assert [key for key in silent if any(matches(key, path) for path in shown)] == []


@pytest.mark.slow
def test_what_does_something_is_read_outside_the_settings_and_what_does_nothing_is_not():
    sources = [path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "config")]
    text = "\n".join(path.read_text("utf-8") for path in sources)
    names = {*re.findall(r"\.(\w+)", text), *re.findall(r"(?<=[\"'])([^\s\"']+)(?=[\"'])", text)}

    def is_read(key: str) -> bool:
        return key.rpartition(".")[2] in names

    assert [key for key in working_keys() if not is_read(key) and key != "$schema"] == []
    distinct = [key for key in UNSUPPORTED if re.search(r"[A-Z_]", key.rpartition(".")[2])]
    assert len(distinct) >= 2
    assert [key for key in distinct if is_read(key)] == []
