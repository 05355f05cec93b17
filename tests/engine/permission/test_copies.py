"""Claims about copies of a project: what rules and settings name in it holds in the worktrees of agents, batch tasks and forks."""

import os
import subprocess
from pathlib import Path

import pytest

from opencode_tui.engine.agent.explain import ExplainScope, explain
from opencode_tui.engine.permission.defaults import PermissionFolders, default_rules
from opencode_tui.engine.permission.ruleset import expand_home
from opencode_tui.engine.project.discover import Project, discover
from opencode_tui.engine.sandbox.folders import find_named
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.task_folders import record_task
from tests.support.rows import each
from tests.support.world.rules import rules

KINDS = ("main", "agent", "batch worktree", "batch clone", "fork", "agent of a fork")

SPELLINGS = (
    "secrets/*",
    "./secrets/*",
    "*/secrets/*",
    "**/secrets/**",
    "*secrets/*",
    "HOME/proj/secrets/*",
    "HOME/proj/secrets/**",
    "HOME/*/secrets/*",
    "HOME/proj/*/key.txt",
    "~/proj/secrets/*",
    "$HOME/proj/secrets/*",
    "secrets/key.txt",
    "HOME/proj/secrets/key.txt",
    "~/proj/secrets/key.txt",
    "*/key.txt",
    "./secrets/key.txt",
    "secrets",
    "secrets/",
    "./secrets/",
    "HOME/proj/secrets",
    "HOME/proj/secrets/",
    "~/proj/secrets/",
)
"""A rule about one file, in the ways that users write one; HOME is the folder above the project."""

HIDDEN = (
    "secrets",
    "secrets/",
    "./secrets",
    "secrets/key.txt",
    "**/key.txt",
    "HOME/proj/secrets",
    "HOME/proj/secrets/",
    "HOME/proj/secrets/key.txt",
    "HOME/proj/secrets/*",
    "HOME/proj/**/key.txt",
    "HOME/*/secrets",
    "HOME/**/secrets",
    "~/proj/secrets",
    "~/proj/secrets/",
    "~/proj/secrets/key.txt",
    "~/proj/sec*",
)

NOT_HIDDEN = ("HOME/other/secrets", "~/other/secrets", "HOME/proj2/secrets", "~/pro/secrets", "HOME/proj/secret")


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@x.org", *words], cwd=folder, check=True)


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Project]:
    """Return the project and its copies, as each is found when an engine starts there."""
    home = Path(os.path.realpath(tmp_path_factory.mktemp("home")))
    main = home / "proj"
    (main / "secrets").mkdir(parents=True)
    (main / "secrets/key.txt").write_text("key\n")
    git(main, "init", "-q", "-b", "main")
    git(main, "add", "-A")
    git(main, "commit", "-qm", "first")
    environ = {**os.environ, "HOME": str(home), **{f"XDG_{one}_HOME": str(home / one) for one in ("CACHE", "DATA")}}
    paths = find_paths(environ)
    fork = home / "proj-fork"
    git(main, "worktree", "add", "-q", "-b", "fork", str(fork))
    places = {"main": main, "fork": fork}
    for kind, origin in (("agent", main), ("batch worktree", main), ("batch clone", main), ("agent of a fork", fork)):
        name = kind.replace(" ", "-")
        session = "ses_1" if kind.startswith("agent") else ""
        places[kind] = record_task(paths, name, origin=origin, common_dir=main / ".git", session_id=session)
        if kind == "batch worktree":
            git(main, "worktree", "add", "-q", "--detach", str(places[kind]))
        else:
            git(home, "clone", "-q", str(origin), str(places[kind]))
    return {kind: discover(place, paths=paths, environ=environ) for kind, place in places.items()}


def home_of(projects: dict[str, Project]) -> Path:
    return projects["main"].worktree.parent


async def action(projects: dict[str, Project], kind: str, written: str, permission: str, subject: str) -> str:
    """Return what a rule of the user that denies a file decides about a call in a copy."""
    home, project = home_of(projects), projects[kind]
    pattern = expand_home(written.replace("HOME", str(home)) if not written.startswith("$") else written, home)
    given = [
        *default_rules(PermissionFolders(home=home, tool_output=Path("/data/out"))),
        *rules(f"read {pattern} deny", f"edit {pattern} deny"),
    ]
    scope = ExplainScope(
        rules=given,
        origins=[""] * len(given),
        grants=[],
        directory=project.directory,
        worktree=project.worktree,
        home=home,
        tier="bubblewrap",
        copy_of=project.origins,
    )
    return (await explain(permission, subject, scope)).action


@pytest.mark.parametrize("kind", KINDS)
async def test_a_rule_about_a_file_holds_in_each_copy(projects: dict[str, Project], kind: str) -> None:
    calls = (
        ("read", "secrets/key.txt"),
        ("read", "./src/../secrets/key.txt"),
        ("edit", "secrets/key.txt"),
        ("bash", "cat secrets/key.txt"),
        ("bash", "echo x > secrets/key.txt"),
        ("bash", "cd secrets && cat key.txt"),
        ("bash", "git show HEAD:secrets/key.txt"),
        ("bash", f"cat {projects[kind].worktree}/secrets/key.txt"),
    )
    found = {(written, call): await action(projects, kind, written, *call) for written in SPELLINGS for call in calls}
    assert [one for one, decision in found.items() if decision != "deny"] == []


@pytest.mark.parametrize("kind", KINDS)
async def test_a_rule_about_another_project_does_not(projects: dict[str, Project], kind: str) -> None:
    for written in (
        "HOME/other/secrets/*",
        "~/proj2/secrets/*",
        "HOME/proj-other/secrets/key.txt",
        "secret",
        "key.txt",
        "secrets/k/",
    ):
        assert await action(projects, kind, written, "read", "secrets/key.txt") == "allow"


@each("kind", [kind for kind in KINDS if kind != "main"])
def test_a_copy_knows_what_it_is_a_copy_of(projects: dict[str, Project], kind: str) -> None:
    origins = projects[kind].origins
    assert projects["main"].worktree in origins
    assert (projects["fork"].worktree in origins) == (kind == "agent of a fork")


@each("written", HIDDEN)
def test_what_settings_hide_is_hidden_in_each_copy(projects: dict[str, Project], written: str) -> None:
    home = home_of(projects)
    for kind in KINDS:
        project = projects[kind]
        found = find_named([written.replace("HOME", str(home))], home, project.worktree, project.origins)
        key = project.worktree / "secrets/key.txt"
        assert any(key == path or key.is_relative_to(path) for path in found), kind


@each("written", NOT_HIDDEN)
def test_what_settings_hide_elsewhere_is_not(projects: dict[str, Project], written: str) -> None:
    home = home_of(projects)
    for kind in KINDS:
        project = projects[kind]
        found = find_named([written.replace("HOME", str(home))], home, project.worktree, project.origins)
        assert [path for path in found if path.is_relative_to(project.worktree)] == []
