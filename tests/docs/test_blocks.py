"""What the documentation shows of settings, JSON and commands is right."""

import itertools
import json
import re
import shlex

import click
import pytest

from opencode_tui.cli.lazy_group import LazyGroup
from opencode_tui.cli.main import commands
from opencode_tui.config.check.types import find_unknown_keys
from opencode_tui.config.settings.fields import list_keys
from opencode_tui.config.settings.settings import Settings
from opencode_tui.config.sources.jsonc import parse
from opencode_tui.config.sources.newer_form import is_newer_form
from opencode_tui.config.sources.opencode2 import convert
from opencode_tui.schema.error import ConfigError
from tests.support.rows import each
from tests.support.source.pages import blocks, code, names

LANGUAGES = {"sh", "json", "jsonc", "lua", "text", "python"}

CALL = re.compile(r"(?:^|[|;&] )opencode-tui ")
"""The program in a line of a shell."""

KEYS = {re.sub(r"\*", "NAME", key) for key in list_keys()}


@pytest.mark.slow
@each("name", names())
def test_every_block_says_what_it_is(name: str) -> None:
    assert [block.place for block in blocks(name) if block.language not in LANGUAGES] == []


@pytest.mark.slow
@each("name", names())
def test_every_json_block_is_json(name: str) -> None:
    for block in blocks(name):
        if block.language == "json":
            assert [json.loads(line) for line in block.text.splitlines()], block.place


@pytest.mark.slow
@each("name", names())
def test_every_block_of_settings_is_valid(name: str) -> None:
    for block in blocks(name):
        if block.language == "jsonc":
            value = parse(block.text).value
            if is_newer_form(value):
                value = convert(value, lambda path, message: ConfigError(f"{path}: {message}")).value
            settings = Settings.model_validate(value)
            assert find_unknown_keys(settings) == [], block.place


@each("name", [name for name in names() if "/internals/" not in name])
def test_every_setting_that_is_named_exists(name: str) -> None:
    tops = {key.partition(".")[0] for key in KEYS}
    named = [(line, text) for line, text in code(name) if re.fullmatch(r"[A-Za-z_]+(\.[A-Za-z_]+|\.\*)+", text)]
    settings = [(line, text) for line, text in named if text.partition(".")[0] in tops and not is_file(text)]
    assert [f"{name}:{line}: {text}" for line, text in settings if not is_known(text)] == []


@each("name", names())
def test_every_command_that_is_named_exists(name: str) -> None:
    for line, text in code(name):
        if text.startswith("opencode-tui "):
            assert command_of(text.split()[1:]) is not None, f"{name}:{line}: {text}"


@each("name", names())
def test_every_option_of_a_command_exists(name: str) -> None:
    lines = [(line, text) for line, text in code(name) if text.startswith("opencode-tui ")]
    for block in blocks(name):
        shell = block.text.splitlines() if block.language == "sh" else []
        lines += [(block.line, text) for text in shell if CALL.search(text)]
    assert [f"{name}:{line}: {fault}" for line, text in lines for fault in unknown_options(text)] == []


def test_a_setting_and_a_command_that_do_not_exist_are_found() -> None:
    assert is_known("experimental.sandbox.mode") and not is_known("experimental.sandbox.moode")
    assert is_known("permission.bash") and is_known("provider.local.options.baseURL")
    assert unknown_options("git diff | opencode-tui run --auto -c --colour -- --any") == ["--colour"]
    assert command_of(["session", "list"]) is not None and command_of(["sessions"]) is None


def is_known(key: str) -> bool:
    """Return whether a setting has this key, or is an object with free keys that has it."""
    if key in NEWER:
        return True
    parts = key.split(".")
    for known in KEYS:
        names = known.split(".")
        if all(own in ("NAME", given) for own, given in zip(names, parts, strict=False)) and (
            len(names) >= len(parts) or known in FREE
        ):
            return True
    return False


NEWER = {
    "mcp.servers",
    "mcp.timeout",
    "compaction.keep",
    "compaction.buffer",
    "diffs.view",
    "experimental.policies",
    "theme.name",
    "prompt.paste",
}
"""Settings of OpenCode 2 that have another name or place here."""

FREE = {"permission", "keybinds", "tools", "agent.NAME.permission", "provider.NAME.options", "prompts"}
"""Settings whose value is an object with keys of the user's."""


def is_file(text: str) -> bool:
    return text.rpartition(".")[2] in ("py", "md", "json", "jsonc", "toml")


def unknown_options(line: str) -> list[str]:
    """Return the options that the command of a line, or one below it that is the default, does not have."""
    words = shlex.split(CALL.split(line)[-1], comments=True)
    command = command_of(words)
    assert command is not None, line
    known = options_of(command)
    given = itertools.takewhile(lambda word: word not in ("--", "|"), words)
    return [word for word in given if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]


def options_of(command: click.Command) -> set[str]:
    context = click.Context(command, info_name="opencode-tui")
    own = {"--help", "-h"}.union(*(parameter.opts for parameter in command.params))
    if isinstance(command, click.Group):
        below = [command.get_command(context, name) for name in command.list_commands(context)]
        return own.union(*(options_of(inner) for inner in below if inner is not None))
    return own


def command_of(words: list[str]) -> click.Command | None:
    """Return the command that a line names; None when there is none."""
    group: click.Command = commands
    for word in words:
        if word.startswith("-") or not isinstance(group, click.Group):
            break
        context = click.Context(group, info_name="opencode-tui")
        inner = group.get_command(context, word)
        if inner is None:
            return None if isinstance(group, LazyGroup) and word.islower() and word.isalpha() else group
        group = inner
    return group
