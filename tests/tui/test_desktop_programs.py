"""Editors, viewers and programs of the clipboard are never those of the project, even where its folders come first on PATH."""

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from opencode_tui.schema.error import OpencodeError
from opencode_tui.tui.external_editor import edit_file, open_file
from opencode_tui.tui.prompt import desktop

NAMES = ("vim", "code", "wl-paste", "xclip", "xdg-open", "sh", "env", "python3")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project whose programs come first on PATH, and leave a file behind."""
    project = tmp_path / "project"
    folder = project / "node_modules/.bin"
    folder.mkdir(parents=True)
    (project / ".git").mkdir()
    for name in NAMES:
        (folder / name).write_text(f"#!/bin/sh\n: > {project}/ran-{name}\n")
        (folder / name).chmod(0o755)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", os.pathsep.join((str(folder), ".", "node_modules/.bin", "/usr/bin", "/bin")))
    monkeypatch.delenv("VISUAL", raising=False)
    return project


def ran(project: Path) -> list[str]:
    return [path.name for path in project.glob("ran-*")]


@pytest.mark.parametrize(
    "editor", ["vim-of-nobody", "code", "./node_modules/.bin/vim", "PROJECT/node_modules/.bin/vim"]
)
async def test_an_editor_of_the_project_is_not_started(
    project: Path, monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    monkeypatch.setenv("EDITOR", editor.replace("PROJECT", str(project)))
    app = cast("Any", SimpleNamespace(app=SimpleNamespace(suspend=nullcontext)))
    with pytest.raises(OpencodeError, match="cannot be started"):
        edit_file(app, project / "a.txt")
    with pytest.raises(OpencodeError, match="cannot be started"):
        await open_file(app, project / "a.txt", 3)
    assert ran(project) == []


def test_an_editor_gets_no_folders_of_the_project_on_path(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a script does not start the project's interpreter."""
    editor = tmp_path / "bin/editor"
    editor.parent.mkdir()
    editor.write_text("#!/usr/bin/env sh\nprintf %s $PATH > $1\n")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    edit_file(cast("Any", SimpleNamespace(app=SimpleNamespace(suspend=nullcontext))), project / "a.txt")
    assert (project / "a.txt").read_text() == "/usr/bin:/bin"
    assert ran(project) == []


async def test_programs_of_the_desktop_are_not_those_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{project}/node_modules/.bin{os.pathsep}.")
    await desktop.read_text()
    await desktop.read_image()
    with pytest.raises(OpencodeError, match="no image viewer"):
        desktop.view_image(b"x", "image/png")
    assert ran(project) == []
