"""What the documentation shows as output is what the program prints, with names and times of an example."""

import json
import re
from pathlib import Path

import pytest

from opencode_tui.cli.commands import plugin as plugin_command
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.source.pages import blocks
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import Commands
from tests.support.world.plugins import servers, write_plugin
from tests.support.world.repo import make_repo


def shown(page: str, start: str) -> list[str]:
    """Return the lines of the only block of text of a page that starts so."""
    [found] = [one.text for one in blocks(page) if one.language == "text" and one.text.startswith(start)]
    return found.splitlines()


def test_what_a_plugin_brings(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plugin_command, "_is_at_terminal", lambda: True)
    repo = make_repo(tmp_path / "plugins")
    files = {
        "check!": "#!/bin/sh\n",
        "skills/summarize/SKILL.md": "---\nname: summarize\ndescription: Summarizes a report.\n---\nDo it.\n",
        "skills/summarize/scripts/count.py": "#!/usr/bin/env python3\n",
        "mcp.json": servers(
            db={"type": "stdio", "command": "npx", "args": ["--config", "db.json"]},
            api={"type": "streamable-http", "url": "https://reports.example/mcp", "headers": {"X-Tenant": "acme"}},
            old={"type": "sse", "url": "https://reports.example/sse"},
        ),
    }
    write_plugin(repo.path, files, name="reports", version="1.2.0", license="MIT")
    repo.commit("1.2.0")
    commands = Commands(tmp_path, environ, monkeypatch, capsys)
    done = commands.run("plugin", "install", f"{repo.path}@HEAD", stdin="n\n")
    [question] = re.findall(r"Trust and install this\? \[y/N\]", done.stderr)
    printed = done.stdout + question
    printed = re.sub(r"(?<=commit )[0-9a-f]+", "6f1c…", printed)
    printed = printed.replace(str(repo.path), "https://example.com/plugins.git")
    printed = printed.replace(environ["XDG_DATA_HOME"], "/home/you/.local/share")
    assert printed.splitlines() == shown("docs/plugins.md", "reports 1.2.0")


@pytest.mark.slow
def test_the_preview_of_an_undo(tmp_path: Path, environ: dict[str, str]) -> None:
    repo = make_repo(tmp_path / "project")
    repo.write("src/parser.py", "one\ntwo\nthree\n")
    repo.write("README.md", "# Parser\n")
    repo.commit("begin")
    with ModelServer() as model:
        reads = (Call("read", {"filePath": "src/parser.py"}), Call("read", {"filePath": "README.md"}))
        calls = (
            Call("write", {"filePath": "tests/test_last_row.py", "content": "x\n" * 17}),
            Call("edit", {"filePath": "src/parser.py", "oldString": "two", "newString": "a\nb\nc"}),
            Call("edit", {"filePath": "README.md", "oldString": "# Parser", "newString": "# Parser\n\nReads\nrows."}),
        )
        model.script(Answer(calls=reads), Answer(calls=calls), Answer(text="Done."))
        line = CommandLine(repo.path, environ, provider=model.config())
        assert line.turn("skip the last row").code == 0
    repo.write("README.md", "# Parser of ours\n")
    session = json.loads(line.run("session", "list", "--format", "json").stdout)[0]["id"]
    printed = line.run("session", "revert", session, "--dry-run").stdout
    printed = re.sub(r"\d\d:\d\d", "12:05", printed)
    command, *rest = shown("docs/undo.md", "$ opencode-tui session revert")
    assert command == "$ opencode-tui session revert ses_e0813a4f… --dry-run"
    assert printed.splitlines() == rest
