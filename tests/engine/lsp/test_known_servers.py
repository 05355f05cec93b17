"""Which language servers may start: outside the sandbox, so nothing that a confined command can write."""

from pathlib import Path

import pytest

from opencode_tui.config.settings.settings import LspSettings
from opencode_tui.engine.lsp.known_servers import KNOWN, Found, ServerTable


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("is_trusted", "is_sandboxed"), [(True, False), (True, True), (False, False), (False, True)])
def test_a_program_that_a_confined_command_can_write_does_not_start(
    tmp_path: Path, *, is_trusted: bool, is_sandboxed: bool
) -> None:
    project, outside = tmp_path / "project", tmp_path / "bin"
    own = program(project / ".venv/bin/ty")
    program(outside / "rust-analyzer")
    program(outside / "ruff")
    (outside / "mine").symlink_to(own)
    table = ServerTable(
        {
            "rust": LspSettings(command=["rust-analyzer", "--x"]),
            "absolute": LspSettings(command=[str(own)], extensions=["a"]),
            "relative": LspSettings(command=[".venv/bin/ty"], extensions=["a"]),
            "linked": LspSettings(command=[str(outside / "mine")], extensions=["a"]),
        },
        environ={"PATH": f"{own.parent}:{outside}"},
        directory=project,
        worktree=project,
        is_trusted=is_trusted,
        is_sandboxed=is_sandboxed,
    )
    found = {one.id: isinstance(table.find(one), Found) for one in table.servers}
    may_run = is_trusted and not is_sandboxed
    assert [found[name] for name in ("ty", "rust", "absolute", "relative", "linked")] == [may_run] * 5
    assert found["ruff"]


def test_servers_that_run_programs_of_the_project_are_marked() -> None:
    marked = {one.id for one in KNOWN if one.runs_project_code}
    assert {"pylsp", "pyrefly", "rust", "dart", "terraform", "typescript"} <= marked
