"""Which files of a project may be sent, and how the files of a pattern are found with bounded work."""

from pathlib import Path

import pytest

from opencode_tui.config.sources.project_file import PatternSearch, find_objection
from tests.support.world.settings import SettingsWorld


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def test_files_of_the_project_may_be_sent_and_others_not(tmp_path: Path) -> None:
    project = tmp_path / "project"
    make(project, "a.md", "docs/b.md", ".env", "x.env", ".git/config", ".env.example/a")
    make(tmp_path, "outside.md")
    (project / "in").symlink_to("docs/b.md")
    (project / "out").symlink_to("../outside.md")
    (project / "hidden").symlink_to(".env")
    (project / "prod.ENV").symlink_to("a.md")
    for name in ("a.md", "docs/b.md", "in", "missing.md"):
        assert find_objection(project / name, project) is None
    for name in ("out", "hidden", ".env", "x.env", ".git/config", "prod.ENV", "../outside.md", ".env.example/a"):
        assert find_objection(project / name, project)


@pytest.mark.parametrize("pattern", ["*/*/*/*/*/*/*/*/*.none", "l?/l?/l?/l?/l?/l?/*.none", "**/l*/**/l*/**/*.none"])
def test_links_in_a_circle_cost_little(tmp_path: Path, pattern: str) -> None:
    for number in range(9):
        (tmp_path / f"l{number}").symlink_to(".")
    search = PatternSearch(tmp_path, entries=1_000)
    search.find(tmp_path, pattern.split("/"))
    assert search.is_complete


@pytest.mark.parametrize("pattern", ["l*/**/*.md", "*/*/*/*.md", "lnk/**/*.md", "**/*/**/*.md", "lnk/*.md"])
def test_a_link_out_of_the_project_is_not_entered(tmp_path: Path, pattern: str) -> None:
    project = tmp_path / "project"
    make(tmp_path, *(f"outside/{number}/a.md" for number in range(50)))
    project.mkdir()
    (project / "lnk").symlink_to("../outside")
    search = PatternSearch(project, entries=20)
    found = search.find(project / "lnk" if pattern.startswith("lnk") else project, pattern.split("/"))
    assert search.is_complete
    assert [path for path in found if path.name.endswith(".md") and path.is_file()] == []


def test_a_search_ends_at_its_limit_with_the_upper_folders_done(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b/c/d/e.md", *(f"many/{number}/x.txt" for number in range(60)))
    search = PatternSearch(tmp_path, entries=40)
    assert search.find(tmp_path, ["**", "*.md"]) == [tmp_path / "a.md"]
    assert not search.is_complete
    assert search.find(tmp_path, ["a.md"]) == []


@pytest.mark.parametrize(
    "pattern", ["l*/a.md", "*.lnk", "*env", ".e*", "?nk/*.md", "[l]nk/a.md", "sub/*env", "*", "prod.env", "lnk/a.md"]
)
def test_a_pattern_that_matches_a_link_outside_or_secrets_needs_trust(world: SettingsWorld, pattern: str) -> None:
    make(world.root, "outside/a.md")
    make(world.project, ".env", "sub/x.env", "prod.env")
    (world.project / "lnk").symlink_to("../outside")
    (world.project / "a.lnk").symlink_to("../outside/a.md")
    world.repository({"instructions": [pattern]})
    loaded = world.load()
    assert [notice.key for notice in loaded.ignored] == ["instructions[0]"]
    assert loaded.effective == {}


@pytest.mark.parametrize("pattern", ["../secret.md", "x/../../secret.md", "../*.md"])
def test_dots_in_a_settings_folder_count_from_the_top_of_the_project(world: SettingsWorld, pattern: str) -> None:
    world.repository({"instructions": [pattern]}, ".opencode/opencode.json")
    assert [notice.key for notice in world.load().ignored] == ["instructions[0]"]


def test_a_rules_file_that_is_a_link_to_the_outside_is_a_warning(world: SettingsWorld) -> None:
    make(world.root, "outside/a.md")
    make(world.project, "sub/x", "docs/rules.md")
    (world.project / "AGENTS.md").symlink_to("../outside/a.md")
    (world.project / "CLAUDE.md").symlink_to("docs/rules.md")
    (world.project / "sub" / "AGENTS.md").symlink_to("../.git/config")
    warnings = [str(notice) for notice in world.load(world.project / "sub").warnings]
    assert warnings == [
        f"{world.project}/AGENTS.md: left out of requests, because it leads to {world.root}/outside/a.md, outside the project",
        f"{world.project}/sub/AGENTS.md: left out of requests, because it leads to {world.project}/.git/config,"
        " which may hold secrets",
    ]
