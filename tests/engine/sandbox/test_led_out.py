"""Names of the user that lie in the project: a command may put a link there, and what that leads to stays closed."""

import os
from pathlib import Path

import pytest

from opencode_tui.engine.sandbox.folders import Surroundings, harmless_files, toolchain_folders
from opencode_tui.programs import follow
from tests.engine.sandbox.test_folders import folder, python
from tests.engine.sandbox.test_sandbox import World, world

__all__ = ["world"]

VARIABLES = (
    "VIRTUAL_ENV", "JAVA_HOME", "PYTHONPATH", "NODE_PATH", "LD_LIBRARY_PATH", "SSL_CERT_DIR", "PATH", "PIP_CACHE_DIR",
    "UV_CACHE_DIR", "GOCACHE", "GOMODCACHE", "GOPATH", "CARGO_HOME", "npm_config_cache", "GRADLE_USER_HOME", "CCACHE_DIR",
    "NUGET_PACKAGES", "PRE_COMMIT_HOME", "XDG_CACHE_HOME", "MAVEN_OPTS",
)  # fmt: skip
TOOLS = "true pip uv go cargo mvn npm gradle ccache pre-commit"


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    home = tmp_path / "home"
    (home / "project/.git").mkdir(parents=True)
    return Surroundings(home, (home / ".cache/opencode-tui",), home / "project")


def closed(world: World) -> str:
    """Make a file of the user and return its path."""
    for name in (
        "secret",
        "http/secret",
        "pkg/mod/cache/download/secret",
        "registry/cache/secret",
        "_cacache/content-v2/secret",
    ):
        folder(world.home / "notes" / os.path.dirname(name), "secret")
        (world.home / "notes" / name).write_text("CANARY\n")
    return str(world.home / "notes/secret")


@pytest.mark.slow
@pytest.mark.parametrize("variable", VARIABLES)
async def test_a_variable_that_names_a_folder_of_the_project_opens_nothing_outside(world: World, variable: str) -> None:
    secret = closed(world)
    named = world.project / "env"
    named.symlink_to(world.home / "notes")
    value = f"-Dmaven.repo.local={named}" if variable == "MAVEN_OPTS" else str(named)
    environ = {**world.environ, variable: f"{value}:{world.environ['PATH']}" if variable == "PATH" else value}
    output = await world.run(f"cat {secret}; grep -rs CANARY ~/notes $XDG_CACHE_HOME env; {TOOLS}", environ=environ)
    assert "cat: " in output
    assert "CANARY" not in output


async def test_a_cache_of_the_user_in_the_project_is_used_as_it_is(world: World) -> None:
    (world.project / "caches/pip/http").mkdir(parents=True)
    environ = {**world.environ, "PIP_CACHE_DIR": str(world.project / "caches/pip")}
    assert await world.run("echo $PIP_CACHE_DIR; true pip", environ=environ) == f"{world.project}/caches/pip\n"


@pytest.mark.slow
@pytest.mark.parametrize("named", ["env", "{0}/env", "e?v", "./env/", "data/link"])
@pytest.mark.parametrize("setting", ["readable", "writable"])
async def test_a_setting_that_names_a_link_of_the_project_opens_nothing_outside(
    world: World, setting: str, named: str
) -> None:
    secret = closed(world)
    (world.project / "env").symlink_to(world.home / "notes")
    (world.project / "data").mkdir()
    (world.project / "data/link").symlink_to(world.home / "notes")
    world.settings[setting] = [named.format(world.project)]
    output = await world.run(f"cat {secret}; echo x > {secret}-2; true")
    assert "CANARY" not in output
    assert not Path(f"{secret}-2").exists()
    assert [line for line in world.messages if "has no effect" in line and str(world.home / "notes") in line] != []


async def test_a_link_in_a_writable_folder_does_not_open_another_place(world: World) -> None:
    secret = closed(world)
    (world.home / "data").mkdir()
    (world.home / "data/link").symlink_to(world.home / "notes")
    world.settings["writable"] = ["~/data", "~/data/*"]
    assert "CANARY" not in await world.run(f"cat {secret}; echo x > ~/data/x")
    assert (world.home / "data/x").exists()


async def test_a_folder_of_the_project_that_a_setting_names_is_open_where_the_project_is_not(world: World) -> None:
    (world.project / "out").mkdir()
    world.settings["writable"] = ["out"]
    await world.run("echo x > out/x; echo x > x", read_only=True)
    assert (world.project / "out/x").exists()
    assert not (world.project / "x").exists()


async def test_a_folder_of_a_skill_that_becomes_a_link_opens_nothing(world: World) -> None:
    secret = closed(world)
    (world.project / ".claude/skills").mkdir(parents=True)
    (world.project / ".claude/skills/x").symlink_to(world.home / "notes")
    world.readable = [world.project / ".claude/skills/x"]
    assert "CANARY" not in await world.run(f"cat {secret}")


def test_of_what_the_project_leads_to_only_a_python_is_open(around: Surroundings) -> None:
    project, home = around.project, around.home
    folder(home / "envs/mine/bin", "python")
    (home / "envs/mine/pyvenv.cfg").touch()
    folder(home / "notes/bin", "secret")
    python(home / "pythons/3.12")
    (project / ".venv").symlink_to(home / "envs/mine")
    (project / "notes").symlink_to(home / "notes")
    (project / "python").symlink_to(home / "pythons/3.12")
    folder(home / ".local/bin")
    folder(project / "bin")
    (home / ".local/bin/tool").symlink_to(project / "bin/tool")
    (project / "bin/tool").symlink_to(home / "notes/bin/secret")
    entries = (
        project / ".venv/bin",
        project / "notes/bin",
        project / "python/bin",
        project / "bin",
        home / ".local/bin",
    )
    environ = {
        "PATH": ":".join(map(str, entries)),
        "JAVA_HOME": str(project / "notes"),
        "VIRTUAL_ENV": str(project / ".venv"),
    }
    found = [str(path.relative_to(home)) for path in toolchain_folders(environ, around) if path.is_relative_to(home)]
    assert sorted(found) == [".local/bin", "envs/mine", "project/bin", "pythons/3.12"]


def test_settings_of_git_that_lie_in_the_project_open_no_file_outside(around: Surroundings) -> None:
    folder(around.home / "notes", "secret")
    (around.project / "gitconfig").symlink_to(around.home / "notes/secret")
    (around.home / ".gitconfig").write_text("[include]\npath = project/gitconfig\n")
    assert harmless_files(around) == (around.home / ".gitconfig",)


def test_where_a_path_leads_and_whether_a_command_may_have_led_it_there(around: Surroundings) -> None:
    project, home = around.project, around.home
    (home / "notes").mkdir()
    (project / "inside").mkdir()
    for name, target in (("out", home / "notes"), ("in", project / "inside"), ("up", Path(".."))):
        (project / name).symlink_to(target)
    (home / "link").symlink_to(project / "out")
    (home / "mine").symlink_to(home / "notes")
    expected = {
        project / "inside": (project / "inside", False),
        project / "in": (project / "inside", False),
        project / "out": (home / "notes", True),
        project / "up/notes": (home / "notes", True),
        project / "in/../../notes": (home / "notes", True),
        home / "link": (home / "notes", True),
        home / "mine": (home / "notes", False),
        home / "notes": (home / "notes", False),
    }
    found = {path: follow(path, project, {"HOME": str(home)}) for path in expected}
    assert {path: (one.real, one.is_led_out) for path, one in found.items()} == expected
    assert not follow(project / "out", project, {"HOME": str(home)}, [home / "notes"]).is_led_out
    assert follow(home / "mine/x", project, {"HOME": str(home)}, [home / "mine"]).is_led_out
