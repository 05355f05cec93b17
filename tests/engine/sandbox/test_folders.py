"""The folders that a confined command may reach."""

import os
from pathlib import Path

import pytest

from opencode_tui.engine.project.repository import find_repository
from opencode_tui.engine.sandbox.caches import find_caches
from opencode_tui.engine.sandbox.folders import Surroundings, git_folder, harmless_files, toolchain_folders
from tests.support.world.repo import make_repo


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in (".ssh", ".config", ".local/share/opencode-tui", "other/bin", "project"):
        (home / name).mkdir(parents=True)
    return home


@pytest.fixture
def around(home: Path) -> Surroundings:
    return Surroundings(home, (home / ".local/share/opencode-tui", home / ".cache/opencode-tui"), home / "project")


def folder(path: Path, *programs: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name in programs:
        (path / name).write_text("#!/bin/sh\n")
    return path


def python(prefix: Path) -> Path:
    """Return the program of something that looks like an installation of Python."""
    folder(prefix / "lib/python3.12", "os.py")
    return folder(prefix / "bin", "python3.12") / "python3.12"


def find(around: Surroundings, *entries: Path) -> list[str]:
    """Return the folders below the home that a PATH makes readable."""
    environ = {"PATH": os.pathsep.join(map(str, entries))}
    found = toolchain_folders(environ, around)
    return sorted(str(path.relative_to(around.home)) for path in found if path.is_relative_to(around.home))


def test_the_prefix_of_a_folder_of_programs_is_readable(around: Surroundings) -> None:
    assert find(around, folder(around.home / "tools/node-20/bin", "node")) == ["tools/node-20"]


def test_a_folder_of_programs_in_the_home_does_not_open_the_home(around: Surroundings) -> None:
    assert find(around, folder(around.home / "bin", "x"), around.home) == ["bin"]


def test_local_programs_do_not_open_their_neighbors(around: Surroundings) -> None:
    folder(around.home / ".local/lib")
    folder(around.home / ".local/share/uv/tools")
    assert find(around, folder(around.home / ".local/bin", "x")) == [".local/bin", ".local/lib", ".local/share/uv"]


@pytest.mark.parametrize("name", [".ssh/bin", ".local/share/opencode-tui/bin", ".aws/cli/bin"])
def test_nothing_private_is_opened_by_path(around: Surroundings, name: str) -> None:
    assert find(around, folder(around.home / name, "x")) == []


def test_credentials_beside_programs_stay_closed(around: Surroundings) -> None:
    folder(around.home / ".cargo", "credentials.toml")
    assert find(around, folder(around.home / ".cargo/bin", "cargo")) == [".cargo/bin"]


def test_links_open_the_file_or_the_installation_that_they_lead_to(around: Surroundings) -> None:
    bin_folder = folder(around.home / "bin")
    folder(around.home / "other/bin", "script", "neighbor")
    (bin_folder / "script").symlink_to(around.home / "other/bin/script")
    (bin_folder / "python3").symlink_to(python(around.home / "pythons/3.12"))
    (bin_folder / "key").symlink_to(folder(around.home / ".ssh", "id_rsa") / "id_rsa")
    assert find(around, bin_folder) == ["bin", "other/bin/script", "pythons/3.12"]


def test_a_virtual_environment_of_the_project_opens_its_python(around: Surroundings) -> None:
    environment = folder(around.home / "project/.venv/bin")
    (environment / "python").symlink_to(python(around.home / "pythons/3.12"))
    assert find(around) == ["pythons/3.12"]


def test_a_link_of_the_project_opens_nothing_else(around: Surroundings) -> None:
    environment = folder(around.home / "project/.venv/bin")
    (environment / "python").symlink_to(folder(around.home / "other/bin", "secret") / "secret")
    (environment / "tool").symlink_to(python(around.home / "pythons/3.12"))
    assert find(around, environment) == ["project/.venv/bin"]


@pytest.mark.parametrize(
    ("text", "is_readable"),
    [
        ("[user]\n\tname = A\n\temail = a@b\n", True),
        ("[url \"https://user:token@host/\"]\n\tinsteadOf = x\n", False),
        ("[http]\n\textraheader = Authorization: x\n", False),
    ],
)  # fmt: skip
def test_git_settings_are_readable_without_credentials(around: Surroundings, text: str, is_readable: bool) -> None:
    (around.home / ".gitconfig").write_text(text)
    (around.home / ".git-credentials").write_text("https://a:b@c\n")
    assert harmless_files(around) == ((around.home / ".gitconfig",) if is_readable else ())


def test_files_that_git_settings_include_are_readable(around: Surroundings) -> None:
    (around.home / ".gitconfig").write_text(
        "[include]\n\tpath = ~/.gitconfig.local\n[core]\n\texcludesfile = ~/.ignore\n[x]\n\tpath = ~/.ssh/config\n"
    )
    for name in (".gitconfig.local", ".ignore", ".ssh/config"):
        (around.home / name).write_text("x\n")
    assert sorted(path.name for path in harmless_files(around)) == [".gitconfig", ".gitconfig.local", ".ignore"]


@pytest.mark.parametrize("name", ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"])
def test_settings_of_git_that_a_variable_names_are_readable_as_the_usual_ones(
    around: Surroundings, tmp_path: Path, name: str
) -> None:
    settings = folder(tmp_path / "elsewhere") / "alt.cfg"
    settings.write_text("[user]\n\tname = A\n[include]\n\tpath = more.cfg\n")
    (tmp_path / "elsewhere/more.cfg").write_text("[user]\n\temail = a@b\n")
    assert {one.name for one in harmless_files(around, {name: str(settings)})} == {"alt.cfg", "more.cfg"}
    (tmp_path / "link").symlink_to(settings)
    assert find_caches({name: str(tmp_path / "link")}, around, tmp_path / "own").environ[name] == str(settings)
    settings.write_text('[url "https://user:token@host/"]\n\tinsteadOf = x\n')
    assert harmless_files(around, {name: str(settings)}) == ()


@pytest.mark.parametrize("value", [os.devnull, "relative.cfg", "", "/no/such/file", "{home}/.ssh/id_rsa", "{home}"])
def test_a_variable_of_git_opens_nothing_else(around: Surroundings, value: str) -> None:
    folder(around.home / ".ssh")
    (around.home / ".ssh/id_rsa").write_text("x")
    assert harmless_files(around, {"GIT_CONFIG_GLOBAL": value.format(home=around.home)}) == ()


def test_settings_of_git_in_the_xdg_folder_are_readable(around: Surroundings, tmp_path: Path) -> None:
    settings = folder(tmp_path / "xdg/git") / "config"
    settings.write_text("[user]\n\tname = A\n")
    assert harmless_files(around, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}) == (settings,)


def test_the_users_caches_are_read_and_none_is_created_in_the_home(around: Surroundings, tmp_path: Path) -> None:
    for name in (".cache/pip", ".npm/_cacache", ".cargo/registry", ".cargo/bin"):
        folder(around.home / name)
    before = sorted(around.home.rglob("*"))
    caches = find_caches({}, around, tmp_path / "own")
    assert caches.write == (tmp_path / "own/tools",)
    assert sorted(path for path in caches.read if path.is_relative_to(around.home)) == [
        *(around.home / name for name in (".cache/pip", ".cargo/bin", ".cargo/registry", ".npm/_cacache")),
    ]
    assert caches.environ["PIP_CACHE_DIR"] == str(tmp_path / "own/tools/pip")
    assert caches.environ["GOCACHE"] == str(tmp_path / "own/tools/go-build")
    assert (Path(caches.environ["CARGO_HOME"]) / "bin").resolve() == around.home / ".cargo/bin"
    assert sorted(around.home.rglob("*")) == before


def test_a_cache_that_is_a_link_to_something_private_is_not_opened(around: Surroundings, tmp_path: Path) -> None:
    folder(around.home / ".cache")
    (around.home / ".cache/pip").symlink_to(around.home)
    caches = find_caches({}, around, tmp_path / "own")
    assert [one for one in (*caches.write, *caches.read) if one.is_relative_to(around.home)] == []


def test_the_git_folder_of_a_linked_worktree_belongs_to_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "main")
    repo.commit("begin")
    linked = repo.link(tmp_path / "linked").path
    assert git_folder(find_repository(linked), linked) == (repo.path / ".git",)
    assert git_folder(find_repository(repo.path), repo.path) == ()


def test_a_git_file_alone_opens_no_other_repository(tmp_path: Path) -> None:
    other = make_repo(tmp_path / "other")
    other.commit("begin")
    tree = other.link(tmp_path / "tree").path
    project = folder(tmp_path / "project")
    for target in (other.path / ".git", (tree / ".git").read_text().split()[1]):
        (project / ".git").write_text(f"gitdir: {target}\n")
        repository = find_repository(project)
        assert repository is not None
        assert git_folder(repository, project) == ()
