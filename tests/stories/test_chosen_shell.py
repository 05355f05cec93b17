"""Commands run in the bash of the settings, in each tier; another shell or one of the project is not used."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.sandbox.tier import Tier, probe
from tests.support.world.engine import opened
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


COMMAND = json.dumps({"command": "echo shell=$BASH", "description": "x"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "project").path


async def shell_of(environ: dict[str, str], folder: Path, tier: Tier, shell: Path | str) -> tuple[str, list[str]]:
    """Return the shell that a command finds itself in, and the warnings about the setting."""
    if tier != "none" and not probe(tier, environ).works:
        pytest.skip(f"{tier} does not work here")
    sandbox = {"mode": "off"} if tier == "none" else {"tier": tier}
    settings: dict[str, Any] = {"permission": {"bash": "allow"}, "experimental": {"sandbox": sandbox}}
    async with opened(environ, folder, settings={**settings, "shell": str(shell)}) as world:
        session = await world.prompt(f"go <<tool bash {COMMAND}>>")
        output = (await world.calls(session))[-1].state.output
        warnings = [one for one in (await world.client.settings.notices()).warnings if "shell" in one]
    return output.partition("shell=")[2].strip(), warnings


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock", "none"])
async def test_the_bash_of_the_settings_runs_commands(
    environ: dict[str, str], folder: Path, tmp_path: Path, tier: Tier
) -> None:
    own = tmp_path / "own" / "bash"
    own.parent.mkdir()
    shutil.copy("/bin/bash", own)
    assert await shell_of(environ, folder, tier, own) == (str(own), [])


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ("/bin/sh", "commands run in bash"),
        ("fish", "commands run in bash"),
        ("/nowhere/bash", "not the absolute path of a program"),
        ("./bash", "not the absolute path of a program"),
    ],
)
async def test_another_shell_is_named_and_not_used(
    environ: dict[str, str], folder: Path, shell: str, words: str
) -> None:
    shutil.copy("/bin/bash", folder / "bash")
    used, warnings = await shell_of(environ, folder, "none", shell)
    assert used == shutil.which("bash") and len(warnings) == 1 and words in warnings[0]


async def test_a_bash_of_the_project_is_not_used(environ: dict[str, str], folder: Path) -> None:
    shutil.copy("/bin/bash", folder / "bash")
    used, _ = await shell_of(environ, folder, "none", folder / "bash")
    assert used == shutil.which("bash")
