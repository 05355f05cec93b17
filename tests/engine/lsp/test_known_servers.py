"""Which language servers may start, and which of them inside the sandbox: what a confined command can write, and what runs it."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from opencode_tui.config.settings.settings import LspSettings
from opencode_tui.engine.lsp import project_folders
from opencode_tui.engine.lsp.known_servers import KNOWN, Found, ServerTable
from opencode_tui.engine.lsp.project_folders import find_folders
from opencode_tui.engine.lsp.server import LanguageServer
from opencode_tui.engine.project.programs import ProjectPrograms
from opencode_tui.programs import safe_environ
from tests.support.world.waiting import PATIENCE_S


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
    program(outside / "other")
    (outside / "mine").symlink_to(own)
    program(project / "tools/server.py")
    table = ServerTable(
        {
            "rust": LspSettings(command=["rust-analyzer", "--x"]),
            "absolute": LspSettings(command=[str(own)], extensions=["a"]),
            "relative": LspSettings(command=[".venv/bin/ty"], extensions=["a"]),
            "linked": LspSettings(command=[str(outside / "mine")], extensions=["a"]),
            "script": LspSettings(command=["ruff", "tools/server.py"], extensions=["a"]),
            "other": LspSettings(command=["other", "--x"], extensions=["a"]),
            "known": LspSettings(command=[str(outside / "ruff"), "server"], extensions=["a"]),
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
    assert started == {**expected, "ruff": is_sandboxed, "known": is_sandboxed, "other": False}


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
    assert (found.server.id, found.is_confined) == ("ruff", True)


def test_what_tools_the_model_gets_is_decided_without_a_trial_of_the_sandbox(tmp_path: Path) -> None:
    project, tried = tmp_path / "project", list[str]()
    project.mkdir()
    program(tmp_path / "bin/clangd")
    (project / "compile_flags.txt").write_text("")

    def try_sandbox() -> bool:
        tried.append("sandbox")
        return True

    table = ServerTable(
        None,
        ProjectPrograms(
            environ={"PATH": str(tmp_path / "bin")},
            directory=project,
            worktree=project,
            is_trusted=True,
            is_sandboxed=try_sandbox,
        ),
    )
    assert (table.can_navigate(), tried) == (True, [])
    [found] = table.servers_of(project / "a.c")
    assert (found.is_confined, tried) == (True, ["sandbox"])


def test_servers_that_run_programs_of_the_project_are_marked() -> None:
    marked = {one.id for one in KNOWN if one.runs_project_code}
    assert {"pylsp", "pyrefly", "basedpyright", "rust", "dart", "terraform", "typescript"} <= marked


@pytest.mark.parametrize(
    ("command", "may_start"),
    [
        (["basedpyright-langserver", "--stdio"], False),
        (["ABSOLUTE/basedpyright-langserver", "--stdio"], False),
        (["rust-analyzer"], False),
        (["npx", "typescript-language-server", "--stdio"], False),
        (["npx", "-y", "typescript-language-server@4", "--stdio"], False),
        (["uv", "run", "pylsp"], False),
        (["pyright-langserver", "--stdio"], True),
        (["npx", "pyright-langserver", "--stdio"], True),
        (["mine", "--of=basedpyright-langserver"], True),
    ],
)
def test_a_server_that_runs_programs_of_the_project_needs_trust_under_every_name(
    tmp_path: Path, command: list[str], *, may_start: bool
) -> None:
    project, outside = tmp_path / "project", tmp_path / "bin"
    project.mkdir()
    names = ("basedpyright-langserver", "pyright-langserver", "rust-analyzer", "npx", "uv", "mine")
    for name in names:
        program(outside / name)
    given = [word.replace("ABSOLUTE", str(outside)) for word in command]

    def find(name: str, *, is_trusted: bool) -> Found | str:
        programs = ProjectPrograms(
            environ={"PATH": str(outside)},
            directory=project,
            worktree=project,
            is_trusted=is_trusted,
            is_sandboxed=lambda: True,
        )
        table = ServerTable({name: LspSettings(command=given, extensions=["a"])}, programs)
        return table.find(next(one for one in table.servers if one.id == name))

    for name in ("mine", "ty"):  # a name of one's own, and that of a server which runs nothing
        untrusted, trusted = find(name, is_trusted=False), find(name, is_trusted=True)
        assert isinstance(trusted, Found)
        assert trusted.is_confined == (not may_start or command[0] == "pyright-langserver")
        assert isinstance(untrusted, Found) == may_start, untrusted
        assert may_start or "trust the folder" in str(untrusted)


def hostile_python(project: Path) -> Path:
    """Make a project that brings interpreters and modules of its own; return the file that they would write."""
    ran = project.parent / "ran.txt"
    for name in (".venv/bin/python", ".venv/bin/python3", "venv/bin/python"):
        program(project / name).write_text(f"#!/bin/sh\necho {name} >> '{ran}'\nexec '{sys.executable}' \"$@\"\n")
    for name in (".venv", "venv"):
        (project / name / "pyvenv.cfg").write_text("home = /usr/bin\n")
        (project / name / "lib/python3.11/site-packages").mkdir(parents=True)
    for name in ("json.py", "sitecustomize.py", "a.py"):
        (project / name).write_text(f"open({str(ran)!r}, 'a').write({name!r})\n")
    (project / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    return ran


async def test_no_installed_server_runs_a_program_of_a_project_without_trust(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    project = tmp_path / "project"
    ran = hostile_python(project)
    path = os.pathsep.join([str(Path(sys.executable).parent), environ["PATH"]])
    programs = ProjectPrograms(
        environ={**environ, "PATH": path},
        directory=project,
        worktree=project,
        is_trusted=False,
        is_sandboxed=lambda: True,
    )
    table = ServerTable(None, programs)
    found = [one for one in map(table.find, table.servers) if isinstance(one, Found) and ".py" in one.server.extensions]
    assert "ruff" in [one.server.id for one in found]
    for one in found:
        server = LanguageServer(
            one, project, environ=safe_environ(programs.environ, project), noticed=lambda path: None
        )
        await server.start()
        document = await server.open(project / "a.py")
        assert document is not None
        async with asyncio.timeout(PATIENCE_S):
            await server.diagnose(document)
        await server.close()
        assert not ran.exists(), (one.server.id, ran.read_text())


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
