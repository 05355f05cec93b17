"""Agents and commands as markdown, and what is found for others to load."""

import pytest

from opencode_tui.config.sources.front_matter import FrontMatterError, split_front_matter
from tests.support.rows import each
from tests.support.world.settings import SettingsWorld


def test_markdown_files_become_settings(world: SettingsWorld) -> None:
    folder = world.paths.config
    world.write(folder / "agent" / "one.md", "---\ndescription: First\ntools:\n  bash: false\n---\nYou are one.\n")
    world.write(folder / "agents" / "deep" / "two.md", "You are two.")
    world.write(folder / "mode" / "three.md", "---\ntemperature: 0.5\n---\n")
    world.write(folder / "commands" / "go.md", "---\r\nagent: build\r\nsubtask: true\r\n---\r\nGo $ARGUMENTS\r\n")
    loaded = world.load()
    assert loaded.effective == {
        "agent": {
            "one": {"description": "First", "permission": {"bash": "deny"}, "prompt": "You are one."},
            "deep/two": {"prompt": "You are two."},
            "three": {"mode": "primary", "temperature": 0.5},
        },
        "command": {"go": {"agent": "build", "subtask": True, "template": "Go $ARGUMENTS"}},
    }
    assert loaded.sources["agent.one.prompt"] == str(folder / "agent" / "one.md")


def test_a_wrong_value_is_named_with_its_line(world: SettingsWorld) -> None:
    path = world.write(world.paths.config / "agents" / "a.md", "---\ndescription: x\nmode: main\n---\np")
    (warning,) = world.load().warnings
    assert str(warning).startswith(f"{path}: it is left out (line 3: agent.a.mode: ")


@each(
    ("head", "values"),
    [
        ("description: use: this one", {"description": "use: this one"}),
        ("description: a # b\nmodel: x/y", {"description": "a", "model": "x/y"}),
        ("empty:\nday: 2024-01-01\nsize: .inf", {"day": "2024-01-01", "size": "inf"}),
        ("", {}),
        ("model: synthetic/hf:zai-org/GLM-4.7", {"model": "synthetic/hf:zai-org/GLM-4.7"}),
        ("see: https://example.org:80/x?a=b#c", {"see": "https://example.org:80/x?a=b#c"}),
        ("said: \"he: 'yes'\"\nraw: '$& and $1'", {"said": "he: 'yes'", "raw": "$& and $1"}),
        ("# a comment\ntext: |\n  one: 1\n  two\nlast: x", {"text": "one: 1\ntwo\n", "last": "x"}),
        ("a: !!python/object:os.system x", {"a": "!!python/object:os.system x"}),
        ("permission:\n  bash:\n    '*': ask\n    ls: allow", {"permission": {"bash": {"*": "ask", "ls": "allow"}}}),
    ],
)
def test_front_matter_is_read_as_people_write_it(head: str, values: dict[str, object]) -> None:
    assert split_front_matter(f"---\n{head}\n---\ntext").values == values


@pytest.mark.slow
@pytest.mark.parametrize(
    "head",
    ["a: [", "- x", "a: &x 1\nb: *x", "a: " + "[" * 30000, "a: " + "x" * 40000, "a: 2024-99-99"],
)
def test_front_matter_that_cannot_be_used_is_one_line(head: str) -> None:
    with pytest.raises(FrontMatterError) as caught:
        split_front_matter(f"---\n{head}\n---\ntext")
    assert "\n" not in str(caught.value)


def test_three_dashes_inside_a_text_are_text() -> None:
    assert split_front_matter("one\n---\ntwo\n---\n").body == "one\n---\ntwo\n---"
    assert split_front_matter("---\na: 1\n---\nname: no head\n---\nmore").body == "name: no head\n---\nmore"


def test_the_persons_extensions_are_found_and_not_loaded(world: SettingsWorld) -> None:
    folder = world.paths.config
    plugin = world.write(folder / "plugins" / "p.py", "raise SystemExit")
    tool = world.write(folder / "tool" / "t.py", "raise SystemExit")
    skill = world.write(folder / "skills" / "group" / "s" / "SKILL.md", "x").parent
    world.write(folder / "plugins" / "inner" / "not.py", "")
    world.write(folder / "plugins" / "not.txt", "")
    assert [(one.kind, one.path) for one in world.load().extensions] == [
        ("plugin", plugin),
        ("tool", tool),
        ("skill", skill),
    ]
