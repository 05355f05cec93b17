"""Which language servers may start, and which of them inside the sandbox: what a confined command can write, and what runs it."""

from pathlib import Path

import pytest

from opencode_tui.config.settings.settings import LspSettings
from opencode_tui.engine.lsp import project_folders
from opencode_tui.engine.lsp.known_servers import KNOWN, Found, ServerTable
from opencode_tui.engine.lsp.project_folders import find_folders
from opencode_tui.engine.project.programs import ProjectPrograms


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("is_trusted", "is_sandboxed"), [(True, False), (True, True), (False, False), (False, True)])
def test_a_program_that_a_confined_command_can_write_starts_inside_the_sandbox_and_only_with_trust(
    tmp_path: Path, *, is_trusted: bool, is_sandboxed: bool
) -> None:
    project, outside = tmp_path / "project", tmp_path / "bin"
    own = program(project / ".venv/bin/ty")
    program(outside / "rust-analyzer")
    program(outside / "ruff")
    (outside / "mine").symlink_to(own)
    program(project / "tools/server.py")
    table = ServerTable(
        {
            "rust": LspSettings(command=["rust-analyzer", "--x"]),
            "absolute": LspSettings(command=[str(own)], extensions=["a"]),
            "relative": LspSettings(command=[".venv/bin/ty"], extensions=["a"]),
            "linked": LspSettings(command=[str(outside / "mine")], extensions=["a"]),
            "script": LspSettings(command=["ruff", "tools/server.py"], extensions=["a"]),
        },
        ProjectPrograms(
            environ={"PATH": f"{own.parent}:{outside}"},
            directory=project,
            worktree=project,
            is_trusted=is_trusted,
            is_sandboxed=lambda: is_sandboxed,
        ),
    )
    found = {one.id: table.find(one) for one in table.servers}
    started = {name: one.is_confined for name, one in found.items() if isinstance(one, Found)}
    expected = (
        dict.fromkeys(("absolute", "relative", "linked", "script", "ty", "rust"), is_sandboxed) if is_trusted else {}
    )
    assert started == {**expected, "ruff": False}


def test_a_word_of_a_known_command_is_no_file_of_the_project(tmp_path: Path) -> None:
    program(tmp_path / "bin/ruff")
    project = tmp_path / "project"
    (project / "server").mkdir(parents=True)
    table = ServerTable(
        None,
        ProjectPrograms(
            environ={"PATH": str(tmp_path / "bin")},
            directory=project,
            worktree=project,
            is_trusted=False,
            is_sandboxed=lambda: True,
        ),
    )
    [found] = [one for one in map(table.find, table.servers) if isinstance(one, Found)]
    assert (found.server.id, found.is_confined) == ("ruff", False)


def test_servers_that_run_programs_of_the_project_are_marked() -> None:
    marked = {one.id for one in KNOWN if one.runs_project_code}
    assert {"pylsp", "pyrefly", "rust", "dart", "terraform", "typescript"} <= marked


@pytest.mark.parametrize(
    ("files", "fitting"),
    [
        ({}, []),
        ({"pyproject.toml": ""}, ["ty", "basedpyright", "pyright", "pyrefly", "pylsp", "ruff"]),
        ({"package.json": "{}"}, ["typescript-go", "typescript"]),
        ({"package.json": '{"devDependencies": {"vue": "3"}}'}, ["typescript-go", "typescript", "vue"]),
        ({"package.json": '{"devDependencies": {"svelte": "5"}}'}, ["typescript-go", "typescript", "svelte"]),
        ({"tsconfig.json": "{}", "deno.json": "{}"}, ["deno", "typescript-go", "typescript"]),
        ({"CMakeLists.txt": ""}, ["clangd"]),
        ({"go.mod": ""}, ["gopls"]),
        ({"Cargo.toml": ""}, ["rust"]),
        ({"src/Cargo.toml": ""}, ["rust"]),
        ({"packages/a/b/src/Cargo.toml": "", "node_modules/go.mod": "", ".x/go.mod": ""}, ["rust"]),
        ({"a/made/go.mod": "", "a/.gitignore": "made/", "b/go.mod": "", ".gitignore": "b"}, []),
    ],
)
def test_the_servers_that_fit_a_project_are_known_by_its_files(
    tmp_path: Path, files: dict[str, str], fitting: list[str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    table = ServerTable(
        None,
        ProjectPrograms(
            environ={"PATH": ""}, directory=tmp_path, worktree=tmp_path, is_trusted=True, is_sandboxed=lambda: True
        ),
    )
    assert [one.id for one in table.fitting()] == fitting
    assert all(one.advice in str(table.find(one)) and one.advice for one in table.fitting())


def test_folders_beyond_the_limit_are_named_and_links_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("project/a/deep", "project/b", "elsewhere/inner"):
        (tmp_path / name).mkdir(parents=True)
    project = tmp_path / "project"
    (project / "link").symlink_to(tmp_path / "elsewhere")
    every = find_folders(project, project)
    assert [one.relative_to(project).as_posix() for one in every.folders] == [".", "a", "b", "a/deep"]
    assert every.describe_left_out() == ""
    monkeypatch.setattr(project_folders, "MOST_FOLDERS", 3)
    few = find_folders(project, project)
    assert few.folders == every.folders[:3] and few.describe_left_out().startswith("a/deep and what follows was not")
