"""Slash commands."""

import pytest

from opencode_tui.schema.api.keybinds import BY_ID
from opencode_tui.tui.prompt.slash import SLASH, completion_names, parse


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/new", ("new", "")),
        ("/review the last commit", ("review", "the last commit")),
        ("/review\nall of it", ("review", "all of it")),
        ("/usr/bin/env is missing", None),
        ("see /new", None),
        ("/", None),
        ("", None),
    ],
)
def test_a_command_is_told_from_a_path_and_from_prose(text: str, found: tuple[str, str] | None) -> None:
    assert parse(text) == found


def test_only_a_known_command_has_slashes_in_its_name() -> None:
    known = {"docs/api", "usr"}
    assert parse("/docs/api all", known) == ("docs/api", "all")
    assert parse("/usr/bin is missing", known) is None


def test_every_name_stands_for_a_known_act() -> None:
    assert set(SLASH.values()) <= set(BY_ID)


def test_each_act_is_offered_under_one_name() -> None:
    assert len(set(completion_names().values())) == len(completion_names())
    assert completion_names()["new"] == "session_new"
    assert "clear" not in completion_names()


@pytest.mark.parametrize(
    ("typed", "name", "action_id"),
    [
        ("cl", "clear", "session_new"),
        ("q", "quit", "app_exit"),
        ("resu", "resume", "session_list"),
        ("SETT", "settings", "config_view"),
        ("theme", "themes", "theme_list"),
        ("n", "new", "session_new"),
    ],
)
def test_another_name_is_offered_once_only_it_starts_with_what_is_typed(typed: str, name: str, action_id: str) -> None:
    assert completion_names(typed)[name] == action_id
    assert len(set(completion_names(typed).values())) == len(completion_names())
