from pathlib import Path

import pytest

from opencode_tui.engine.skill.skills import discover_skills, search_of
from opencode_tui.schema.error import ToolError
from tests.support.rows import each
from tests.support.world.settings import SettingsWorld


@pytest.fixture
def world(tmp_path: Path, environ: dict[str, str]) -> SettingsWorld:
    return SettingsWorld(tmp_path, environ)


def skill(folder: Path, name: str, description: str = "does it", body: str = "Do it.") -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
    return path


def discover(world: SettingsWorld, directory: Path | None = None, *, use_claude: bool = True, **environ: str):
    config = world.load(directory, **environ)
    where = directory or world.project
    return discover_skills(search_of(config, home=world.paths.home, directory=where, use_claude=use_claude))


@pytest.mark.parametrize(
    "place",
    [
        "home/.claude/skills",
        "home/.agents/skills",
        "home/.config/opencode-tui/skills",
        "home/.config/opencode-tui/skill",
        "home/.opencode/skills",
        "project/.claude/skills",
        "project/.agents/skills/deep/er",
        "project/.opencode/skill",
        "project/.opencode/skills/nested",
    ],
)
def test_a_skill_is_found_in_each_place(world, tmp_path, place):
    path = skill(tmp_path / place, "pdf")
    found = discover(world)
    assert [(one.name, one.description, one.path) for one in found.all()] == [("pdf", "does it", path)]
    assert found.warnings == ()


def test_folders_between_the_repository_and_here_count(world):
    inner = world.project / "a" / "b"
    inner.mkdir(parents=True)
    skill(world.project / ".claude" / "skills", "outer")
    skill(world.project / "a" / ".agents" / "skills", "inner")
    assert [one.name for one in discover(world, inner).all()] == ["inner", "outer"]


def test_folders_of_the_settings_are_searched(world, tmp_path):
    skill(tmp_path / "more", "extra")
    world.person({"skills": {"paths": [str(tmp_path / "more")]}})
    assert [one.name for one in discover(world).all()] == ["extra"]


def test_the_later_of_two_skills_with_one_name_wins_with_a_warning(world):
    earlier = skill(world.paths.home / ".claude" / "skills", "pdf", "old")
    later = skill(world.project / ".opencode" / "skills", "pdf", "new")
    found = discover(world)
    assert [one.description for one in found.all()] == ["new"]
    assert found.warnings == (f"skill 'pdf' of {earlier} is hidden by {later}; rename one of them to have both",)


@pytest.mark.parametrize("text", ["no head", "---\nname: x\n---\nbody", "---\ndescription: x\n---\n", "---\n[\n---\n"])
def test_a_skill_without_a_usable_head_costs_itself_alone(world, text):
    skill(world.paths.home / ".agents" / "skills", "good")
    bad = world.write(world.paths.home / ".agents" / "skills" / "bad" / "SKILL.md", text)
    found = discover(world)
    assert [one.name for one in found.all()] == ["good"]
    assert [line.startswith(f"{bad}: skipped: ") for line in found.warnings] == [True]


@each(
    ("matter", "fault"),
    [
        ("name: PDF\ndescription: x", "the name 'PDF' is not 1 to 64 lowercase letters"),
        ("name: a--b\ndescription: x", "the name 'a--b' is not 1 to 64 lowercase letters"),
        (f"name: {'a' * 65}\ndescription: x", "lowercase letters"),
        ("name: other\ndescription: x", "the name 'other' is not that of its folder, 'pdf'"),
        (f"name: pdf\ndescription: {'d' * 1025}", "the description has 1,025 characters"),
        (f"name: pdf\ndescription: x\ncompatibility: {'c' * 501}", "`compatibility` must have 1 to 500 characters"),
        ("name: pdf\ndescription: x\nlicense: 5", "`license` must be a text"),
        ("name: pdf\ndescription: x\nallowed-tools: [Read]", "`allowed-tools` must be a text"),
        ("name: pdf\ndescription: x\nmetadata: {version: [1]}", "`metadata` must be a map of texts"),
    ],
)
def test_what_breaks_a_rule_of_the_format_is_named_and_the_skill_is_used(
    row_path: Path, environ: dict[str, str], matter: str, fault: str
):
    world = SettingsWorld(row_path, environ | {"HOME": str(row_path), "XDG_CONFIG_HOME": str(row_path / "c")})
    path = world.write(world.project / ".agents" / "skills" / "pdf" / "SKILL.md", f"---\n{matter}\n---\nDo it.\n")
    found = discover(world)
    (warning,) = found.warnings
    assert warning.startswith(f"{path}: ") and fault in warning
    assert len(found.all()) == 1


def test_without_claude_code_its_folders_are_left_alone(world):
    skill(world.paths.home / ".claude" / "skills", "claude")
    skill(world.paths.home / ".agents" / "skills", "agents")
    assert [one.name for one in discover(world, use_claude=False).all()] == ["agents"]


def test_a_repository_cannot_pass_off_a_foreign_file_as_a_skill(world, tmp_path):
    secret = skill(tmp_path / "elsewhere", "secret")
    link = world.project / ".claude" / "skills" / "x" / "SKILL.md"
    link.parent.mkdir(parents=True)
    link.symlink_to(secret)
    assert discover(world).all() == []


def test_a_repositorys_skill_with_programs_waits_for_trust(world):
    path = skill(world.project / ".opencode" / "skills", "tools")
    (path.parent / "run.sh").write_text("echo hi")
    assert discover(world).all() == []
    world.trust()
    assert [one.name for one in discover(world).all()] == ["tools"]


def test_the_text_is_read_when_it_is_needed(world):
    path = skill(world.paths.home / ".agents" / "skills", "pdf", body="one")
    (found,) = discover(world).all()
    path.write_text("---\nname: pdf\ndescription: d\n---\ntwo\n")
    assert found.read() == "two"


def test_at_most_ten_files_are_named(world):
    path = skill(world.paths.home / ".agents" / "skills", "big")
    for number in range(15):
        (path.parent / f"f{number:02}.txt").write_text("")
    (found,) = discover(world).all()
    assert [file.name for file in found.sample()] == [f"f{number:02}.txt" for number in range(10)]


@pytest.mark.parametrize("swapped", ["file", "folder"])
@pytest.mark.parametrize("place", ["home/.claude/skills", "project/.claude/skills", "project/.opencode/skills"])
def test_a_skill_that_became_a_link_since_it_was_found_is_not_read(world, tmp_path, place, swapped):
    path = skill(tmp_path / place, "pdf")
    secret = tmp_path / "secret" / "SKILL.md"
    secret.parent.mkdir()
    secret.write_text("CANARY")
    [found] = discover(world).all()
    assert found.read() == "Do it."
    path.unlink()
    if swapped == "file":
        path.symlink_to(secret)
    else:
        path.parent.rmdir()
        path.parent.symlink_to(secret.parent)
    with pytest.raises(ToolError, match="became a link"):
        found.read()


@pytest.mark.parametrize("target", [".env", ".git/secret", "prod.env", "../outside"])
def test_a_skill_of_a_project_that_is_a_link_to_secrets_is_left_out(world, target):
    secret = world.project / target
    secret.write_text("---\nname: pdf\ndescription: d\n---\nCANARY")
    link = world.project / ".claude" / "skills" / "x" / "SKILL.md"
    link.parent.mkdir(parents=True)
    link.symlink_to(secret)
    assert discover(world).all() == []


def test_a_skill_of_the_user_may_be_a_link(world, tmp_path):
    real = skill(tmp_path / "dotfiles", "pdf")
    (world.paths.home / ".claude").mkdir(parents=True)
    (world.paths.home / ".claude" / "skills").symlink_to(real.parent.parent)
    [found] = discover(world).all()
    assert found.read() == "Do it."
