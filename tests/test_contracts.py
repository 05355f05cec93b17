"""Every contract of `lint-imports` rejects an import that it forbids, and no imports form a cycle."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.source.tree import read_source_tree

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[1]

FORBIDDEN = {
    "Imports point down": ("schema/ids.py", "opencode_tui.storage.paths"),
    "The first frame imports little": ("instant/line.py", "re"),
    "Nothing imports an extra": ("__main__.py", "opencode_tui.extras.dask"),
    "Inside the engine": ("engine/lazy.py", "opencode_tui.engine.tool.truncate"),
    "No UI library in the engine": ("bus/bus.py", "rich"),
    "The TUI imports client, schema and text": ("tui/options.py", "opencode_tui.config.auth"),
    "The face for editors imports client, schema and text": ("acp/errors.py", "opencode_tui.config.auth"),
    "Many tasks import client, schema and text": ("batch/journal.py", "opencode_tui.config.auth"),
    "The command line imports client, schema and text": ("cli/table.py", "opencode_tui.engine.engine"),
    "The state of the conversation imports no widget": ("tui/state/transcript.py", "textual"),
    "Texts import no UI library": ("text/cells.py", "click"),
    "litellm only in its child process": ("engine/provider/catalog.py", "litellm"),
    "PyJWT only for the ID token": ("engine/provider/chatgpt/sign_in.py", "jwt"),
    "Pillow only for pictures": ("tui/pictures/size.py", "PIL"),
    "OpenTelemetry only in the extra for it": ("engine/services/telemetry.py", "opentelemetry"),
    "Dask only in the pool for it": ("batch/pool.py", "distributed"),
    "The MCP SDK only in the modules for it": ("engine/mcp/servers.py", "mcp"),
    "Inside a session": ("engine/session/question.py", "opencode_tui.engine.session.loop"),
    "Inside the snapshots": ("engine/snapshot/entry.py", "opencode_tui.engine.snapshot.worktree"),
    "Inside the permissions": ("engine/permission/policy.py", "opencode_tui.engine.permission.service"),
    "Inside the tools": ("engine/tool/truncate.py", "opencode_tui.engine.tool.registry"),
    "Inside the screen": ("tui/keys/keymap.py", "opencode_tui.tui.app"),
    "Inside the schema": ("schema/record.py", "opencode_tui.schema.permission"),
}
"""A module for each contract, and an import that breaks it."""


def test_every_contract_fails_with_an_import_that_it_forbids(tmp_path: Path) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = [contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]]
    assert sorted(names) == sorted(FORBIDDEN)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "opencode_tui", tmp_path / "opencode_tui", ignore=shutil.ignore_patterns("__pycache__"))
    for module, forbidden in FORBIDDEN.values():
        with (tmp_path / "opencode_tui" / module).open("a") as file:
            file.write(f"\nimport {forbidden}\n")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    report = " ".join(done.stdout.split())  # long lines are wrapped
    assert [name for name in names if f"{name} BROKEN" not in report] == [], done.stderr
    edges = [f"{module.removesuffix('.py').replace('/', '.')} -> {name}" for module, name in FORBIDDEN.values()]
    assert [edge for edge in edges if f"opencode_tui.{edge} (l." not in report] == []


def test_no_imports_form_a_cycle() -> None:
    assert read_source_tree(ROOT).cycles() == []
