"""Every command, key and setting that a remedy names exists."""

import re
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import click

from opencode_tui.cli.main import commands
from opencode_tui.config.settings.section import Section
from opencode_tui.config.settings.settings import Settings
from opencode_tui.engine.provider.error.body import Reported
from opencode_tui.engine.provider.error.cause import PAGE, ROWS, UNKNOWN, UNKNOWN_IN_STREAM
from opencode_tui.engine.provider.error.remedy import ADVICE, remedy_for
from opencode_tui.engine.provider.failure import from_response
from opencode_tui.schema.api.keybinds import DEFAULT_KEYS
from opencode_tui.tui.prompt.slash import SLASH
from tests.support.rows import each

_COMMAND = re.compile(r"`opencode-tui ([^`]+)`")
_SLASH = re.compile(r"(?<![\w`/.])/([a-z]+)\b")
_SETTING = re.compile(r"\b(provider|agent|mcp|tools|compaction)\.([A-Za-z.]+)")
REMEDIES = {cause: remedy_for(cause, "acme") for cause in ADVICE}


def model_of(annotation: Any) -> list[Any]:
    """Return the types in an annotation: the members of unions, the values of dictionaries."""
    if get_origin(annotation) is Annotated:
        return model_of(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [found for one in get_args(annotation) for found in model_of(one)]
    if get_origin(annotation) is dict:
        return [("dict", get_args(annotation)[1])]
    return [annotation]


def has_setting(path: list[str]) -> bool:
    """Return whether the settings have this key; a dictionary accepts any name."""
    kinds: list[Any] = [Settings]
    for name in path:
        following: list[Any] = []
        for kind in kinds:
            if isinstance(kind, tuple):
                following += model_of(kind[1])
            elif isinstance(kind, type) and issubclass(kind, Section) and name in kind.model_fields:
                following += model_of(kind.model_fields[name].annotation)
        kinds = following
    return bool(kinds)


def has_command(words: list[str]) -> bool:
    """Return whether the command line has this command; its last word may be an argument."""
    found: click.Command | None = commands
    for word in words:
        if not isinstance(found, click.Group):
            return bool(found and found.params)
        found = found.get_command(click.Context(found), word)
        if found is None:
            return False
    return True


@each("cause", REMEDIES)
def test_what_a_remedy_names_exists(cause: str) -> None:
    remedy = REMEDIES[cause]
    unknown = [found for found in _COMMAND.findall(remedy) if not has_command(found.split())]
    unknown += [found for found in _SLASH.findall(remedy) if found not in SLASH]
    settings = [[head, *rest.rstrip(".").split(".")] for head, rest in _SETTING.findall(remedy)]
    unknown += [".".join(names) for names in settings if not has_setting(names)]
    assert unknown == []
    assert "; fix: " not in remedy and "\n" not in remedy


def test_the_remedies_name_commands_and_settings_at_all() -> None:
    joined = " ".join(REMEDIES.values())
    assert {"auth login acme", "models acme"} <= set(_COMMAND.findall(joined))
    assert {"models", "compact", "undo"} <= set(_SLASH.findall(joined))
    assert len(set(_SETTING.findall(joined))) >= 8


def test_wrong_names_are_found() -> None:
    assert not has_command(["auth", "log-in", "acme"]) and not has_setting(["provider", "acme", "options", "nope", "x"])


def test_the_key_cycles_the_variant() -> None:
    assert "ctrl+t" in REMEDIES["parameter"] and DEFAULT_KEYS["variant_cycle"] == "ctrl+t"


def test_every_cause_of_the_table_has_words() -> None:
    assert {row.cause or row.kind for row in (*ROWS, PAGE, UNKNOWN, UNKNOWN_IN_STREAM)} <= set(ADVICE)


def test_the_model_that_was_asked_is_named_where_its_settings_are_to_change() -> None:
    reported = Reported(
        "acme", status=400, body='{"error": {"message": "max_tokens is too large: 9"}}', model_id="big-1"
    )
    text = str(from_response(reported, now_ms=0))
    assert "provider.acme.models.big-1.limit.output to at most what the model allows" in text
    assert "models.MODEL.limit" in remedy_for("output_limit", "acme")


def test_a_key_of_the_settings_is_changed_there() -> None:
    assert remedy_for("auth", "acme", key_setting="provider.acme.options.apiKey").startswith("correct provider.acme.")
