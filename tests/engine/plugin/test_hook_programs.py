"""Commands of the settings run outside of the sandbox, so PATH has no folder in which a confined command may write."""

import os
from pathlib import Path

from opencode_tui.config.settings.settings import StatusLineSettings
from opencode_tui.engine.plugin.command_hooks import run_status_command


async def test_a_command_of_the_settings_starts_no_program_of_the_project(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    project = tmp_path / "project"
    folder = project / ".venv/bin"
    folder.mkdir(parents=True)
    (project / ".git").mkdir()
    (folder / "git").write_text(f"#!/bin/sh\ntouch {project}/ran\n")
    (folder / "git").chmod(0o755)
    given = {**environ, "PATH": f"{folder}{os.pathsep}{environ['PATH']}"}
    settings = StatusLineSettings.model_validate({"command": "git --version"})
    assert (await run_status_command(settings, {}, folder=project, environ=given)).startswith("git version")
    assert not (project / "ran").exists()
