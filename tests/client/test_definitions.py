"""Definitions: what is written for an agent, a command or a skill, where, and that the settings read the same."""

from pathlib import Path
from typing import Any

import pytest

from opencode_tui.client.definitions import Definition, find_definition, write_definition
from opencode_tui.config.sources.folder import read_markdown
from opencode_tui.config.sources.front_matter import split_front_matter
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.error import OpencodeError
from tests.support.rows import each


def places(tmp_path: Path) -> Places:
    """Folders below one that is empty."""
    root = {name: str(tmp_path / name) for name in ("home", "state", "config", "worktree", "directory")}
    return Places(**root)


@each(
    "description",
    [
        "Reviews changes",
        "yes",
        "1.5",
        "a: b # c",
        '"quoted"',
        "- list",
        "{env:HOME}",
        "Prüft `x`\nund y",
        "*all*",
        "null",
        " x ",
    ],
)
def test_the_settings_read_what_was_typed(description: str, row_path: Path) -> None:
    one = Definition(
        "agent", "reviewer", description=description, text="Be strict.\n---\nend", model="a/b", mode="primary"
    )
    path = write_definition(one, places(row_path))
    (layer,) = read_markdown(row_path / "config", "user")
    read: dict[str, Any] = layer.value["agent"]["reviewer"]
    expected = {"description": " ".join(description.split()), "mode": "primary", "model": "a/b"}
    assert read == {**expected, "prompt": "Be strict.\n---\nend"} and path == row_path / "config/agents/reviewer.md"


def test_a_command_and_a_skill_have_their_files_in_the_project(tmp_path: Path) -> None:
    command = Definition("command", "look", text="show $1", where="project")
    assert write_definition(command, places(tmp_path)).read_text() == "show $1\n"
    assert find_definition("command", "look", places(tmp_path)) == tmp_path / "worktree/.opencode/commands/look.md"
    skill = Definition("skill", "tables", description="Draws tables", text="Use |.", where="project")
    path = write_definition(skill, places(tmp_path))
    assert path == tmp_path / "worktree/.opencode/skills/tables/SKILL.md"
    assert split_front_matter(path.read_text()).values == {"name": "tables", "description": "Draws tables"}


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    one = Definition("command", "look", text="show")
    path = write_definition(one, places(tmp_path))
    with pytest.raises(OpencodeError, match="already exists"):
        write_definition(Definition("command", "look", text="other"), places(tmp_path))
    assert path.read_text() == "show\n"


def test_a_link_of_the_project_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "worktree/.opencode").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "worktree/.opencode/agents").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OpencodeError):
        write_definition(Definition("agent", "reviewer", where="project"), places(tmp_path))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@each(
    ("one", "problem"),
    [
        (Definition("agent", "Bad Name"), "lower-case"),
        (Definition("agent", "../x"), "lower-case"),
        (Definition("skill", "x"), "description"),
        (Definition("command", "x"), "prompt"),
        (Definition("agent", "x", model="gpt"), "provider/model"),
        (Definition("agent", "x"), ""),
    ],
)
def test_what_is_missing_is_said(one: Definition, problem: str) -> None:
    assert problem in one.problem() and bool(one.problem()) == bool(problem)
