"""Where links in a folder lead is known of a command that follows them, and not looked for by any other."""

import os
from pathlib import Path

import pytest

from opencode_tui.engine.permission.shell.filesystem import ShellFileSystem
from opencode_tui.engine.permission.shell.scan import Scan, scan
from tests.support.rows import each


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project on the disk, beside a home folder with a key."""
    (tmp_path / "home/.ssh").mkdir(parents=True)
    (tmp_path / "home/.ssh/id_rsa").write_text("PRIVATE", "utf-8")
    root = tmp_path / "proj"
    for folder in ("sub/deep", "src", "secrets"):
        (root / folder).mkdir(parents=True)
    for file in ("src/a.py", "secrets/key", ".env"):
        (root / file).write_text("x", "utf-8")
    return root


def link(root: Path, name: str, target: str | Path) -> None:
    """Make a link in the project, the only one of its name."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to(target)


def scanned(root: Path, command: str, *, files: ShellFileSystem | None = None) -> Scan:
    return scan(command, cwd=str(root), home=str(root.parent / "home"), project_root=str(root), filesystem=files)


def external(found: Scan) -> set[tuple[str, str]]:
    return {(one.path.rpartition("/home/")[2], one.mode) for one in found.external}


FOLLOWING = [
    "cp -rL sub out",
    "grep -R x sub",
    "grep -R x .",
    "rg -L x sub",
    "tar -chf o.tar sub",
    "tar chf o.tar sub",
    "zip -r o.zip sub",
    "diff -r sub src",
    "rsync -aL sub/ out",
    "find -L sub",
    "fd --follow x sub",
    "ag -f x sub",
]


@each("command", FOLLOWING)
def test_links_to_files_and_folders_outside_are_paths_outside(project: Path, command: str) -> None:
    link(project, "sub/deep/file", "../../../home/.ssh/id_rsa")
    link(project, "sub/folder", project.parent / "home/.ssh")
    assert {(".ssh/id_rsa", "r"), (".ssh", "r")} <= {
        (path, mode[0]) for path, mode in external(scanned(project, command))
    }


@each("command", ["gzip -rf sub", "chown -RL u sub", "chmod -RL a+r sub", "find -L sub -delete"])
def test_what_is_changed_through_links_is_known_as_changed(project: Path, command: str) -> None:
    link(project, "sub/folder", project.parent / "home/.ssh")
    link(project, "sub/hooks", "../.git/hooks")
    found = scanned(project, command)
    assert [mode for path, mode in external(found) if path == ".ssh" and "w" in mode]
    assert str(project / ".git/hooks") in found.sensitive


@each(
    "command",
    [
        "cp -r sub out",
        "cp -a sub out",
        "grep -r x .",
        "rg x",
        "tar -cf o.tar sub",
        "zip -ry o.zip sub",
        "zip -r --symlinks o.zip sub",
        "diff -r --no-dereference sub src",
        "diff sub/a src/a.py",
        "rsync -a sub/ out",
        "find sub -type f",
        "fd x sub",
        "chmod -R a+r sub",
        "git add sub",
        "ls -R sub",
        "rm -rf sub",
    ],
)
def test_commands_that_keep_links_do_not_look_for_them(project: Path, command: str) -> None:
    class Files(ShellFileSystem):
        def links_below(self, folder: str) -> list[str] | None:
            raise AssertionError(folder)

    link(project, "sub/folder", project.parent / "home/.ssh")
    assert external(scanned(project, command, files=Files())) == set()


@each("target", ["/usr/bin/env", "/usr/share", "../src/a.py", "../src", ".", "deep", "missing"])
def test_links_to_system_folders_and_inside_the_project_are_free(project: Path, target: str) -> None:
    link(project, "sub/link", target)
    for command in FOLLOWING:
        assert (command, external(scanned(project, command))) == (command, set())


def test_the_interpreter_of_a_virtual_environment_is_free_wherever_it_is(project: Path) -> None:
    (project / ".venv").mkdir()
    (project / ".venv/pyvenv.cfg").write_text("", "utf-8")
    link(project, ".venv/bin/python", project.parent / "home/.local/python3.12/bin/python3.12")
    link(project, ".venv/bin/python3", "python")
    assert external(scanned(project, "grep -R x .")) == set()
    link(project, ".venv/bin/python4", project.parent / "home/.ssh/id_rsa")
    assert external(scanned(project, "grep -R x .")) == {(".ssh/id_rsa", "r")}


def test_rules_for_reading_hold_for_what_links_inside_the_project_lead_to(project: Path) -> None:
    link(project, "sub/others", "../secrets")
    link(project, "sub/settings", "../.env")
    found = scanned(project, "cp -rL sub out")
    assert {str(project / "secrets/key"), str(project / ".env")} <= set(found.below)
    assert found.swept == [str(project / ".env")]
    assert str(project / "secrets/key") not in scanned(project, "cp -r sub out").below


def test_links_are_followed_further_where_a_link_leads_to(project: Path) -> None:
    link(project, "sub/others", "../secrets")
    link(project, "secrets/more", "../src")
    link(project, "src/out", project.parent / "home/.ssh")
    link(project, "src/round", "../sub")
    assert (".ssh", "r") in external(scanned(project, "cp -rL sub out"))


def test_a_link_hidden_among_dependencies_is_found(project: Path) -> None:
    link(project, "node_modules/.bin/x", project.parent / "home/.ssh/id_rsa")
    link(project, ".git/x", project.parent / "home/.ssh")
    assert external(scanned(project, "zip -r o.zip .")) == {(".ssh/id_rsa", "r"), (".ssh", "r")}


def test_in_a_folder_with_too_many_files_links_are_unknown(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # as many files as the real limit allows take seconds
    monkeypatch.setattr("opencode_tui.engine.permission.shell.filesystem.LINKED_LIMIT", 100)
    many = project / "many"
    many.mkdir()
    for number in range(101):
        os.mknod(many / str(number))
    assert [(one.steered, one.always) for one in scanned(project, "grep -R x many").members] == [(True, ())]
    assert [one.steered for one in scanned(project, "grep -r x many; grep -R x sub").members] == [False, False]
